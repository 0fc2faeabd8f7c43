"""Functor: filters tuples and computes new attributes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.faults import reported
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluation import Condition, parse_condition
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText, program_of
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, check_failure_port, own_outputs
from streams_orchestration.operators.logic.operator import LogicOperator, LogicParameters, check_policy
from streams_orchestration.operators.logic.program import LogicProgram
from streams_orchestration.operators.tuples.batch import TupleBatch


class FunctorParameters(LogicParameters):
    """The parameters of `Functor`."""

    filter: Condition | None = Field(
        default=None, description="A condition. Tuples for which it is not true are dropped."
    )
    output: dict[str, ExpressionText] | list[dict[str, ExpressionText]] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an expression; other attributes keep their values. A list has one map for "
            "each output port."
        ),
    )


class Functor(LogicOperator):
    """Submits a tuple with the attributes of the output stream, which are computed or copied by name.

    Every output port gets one tuple for each tuple that passes the filter.
    """

    keeps_places = True
    Parameters = FunctorParameters
    naming_parameters = NamingParameters(expressions=("filter", "output"))
    pure = True
    free_parameters = frozenset(("filter", "output", "spl", "on_error"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: FunctorParameters) -> None:
        """Raise ValueError if an expression, an attribute or a port does not fit, or the logic has mistakes."""
        if parameters.spl is not None:
            FunctorLogic(context, parameters)
        else:
            cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: FunctorParameters) -> tuple[Any, list[Assignments]]:
        check_failure_port(context, parameters, context.inputs[0])
        source, targets = context.inputs[0], own_outputs(context, parameters)
        ports = len(targets)
        text, zone = parameters.filter, context.zone
        condition = None if text is None else parse_condition(text, source, "filter", zone)
        outputs = _outputs(parameters, ports)
        assignments: list[Assignments] = []
        for port, (output, target) in enumerate(zip(outputs, targets, strict=True)):
            with reported(f"output port {port}: " if ports > 1 else ""):
                required = context.required_at(port)
                assignments.append(Assignments(output, source, target or source, zone, required))
        return condition, assignments

    def setup(self) -> None:
        """Compile the expressions, or the logic that computes them and run its initialisers."""
        self.program = None if self.parameters.spl is None else FunctorLogic(self.context, self.parameters)
        if self.program is not None:
            self.use(self.program.logic)
            return
        condition, self.ports = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [each for port in self.ports for each in port.expressions], condition)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Filter the tuples, then compute and submit the tuples of every output port; set failed tuples aside."""
        if self.program is not None:
            for output, tuples in enumerate(self.program.outputs(batch)):
                self.submit(tuples, output)
            return
        tuples = self.failure_filter(batch)
        for output, assignments in enumerate(self.ports):
            self.submit(assignments.of(tuples), output)


def _outputs(parameters: FunctorParameters, ports: int) -> list[dict[str, str]]:
    """Return the assignments of each output port; they are empty if the parameter `output` is not given."""
    if not parameters.output:
        return [{}] * ports
    written = parameters.output if isinstance(parameters.output, list) else [parameters.output]
    if len(written) != ports:
        message = f"output: a list with a mapping for each of the {ports} output ports is expected"
        raise ValueError(message)
    return written


class FunctorLogic:
    """The logic of a Functor with its filter and its assignments, which may read the variables of the logic."""

    def __init__(self, context: OperatorContext, parameters: FunctorParameters) -> None:
        """Compile the logic.

        Raises:
            ValueError: something does not fit; the message names the parameter.
        """
        assert parameters.spl is not None
        check_policy(parameters)
        source = context.inputs[0]
        self.targets = [target or source for target in own_outputs(context, parameters)]
        given = _outputs(parameters, len(self.targets))
        self.filtered = parameters.filter is not None
        expressions: list[tuple[SplText, str, int | None]] = []
        if parameters.filter is not None:
            expressions.append((program_of(parameters.filter, "filter"), "filter", None))
        self.places: list[dict[str, int]] = []
        for target, assignments in zip(self.targets, given, strict=True):
            places: dict[str, int] = {}
            for name in target.names:
                if name in assignments:
                    places[name] = len(expressions)
                    guard = 0 if self.filtered else None
                    expressions.append((program_of(assignments[name], f"output.{name}"), f"output.{name}", guard))
                elif name not in source.names:
                    message = f"output: {name} has no value; give it an expression"
                    raise ValueError(message)
            self.places.append(places)
        self.logic = LogicProgram(context, parameters.spl, {0: expressions})

    def outputs(self, batch: TupleBatch) -> list[TupleBatch]:
        """Run the logic, and return for every output port the tuples that pass the filter.

        Raises:
            TupleError: the logic has no value for a tuple.
            DataError: a value does not fit its attribute.
        """
        _, values = self.logic.tuples(0, batch)
        if self.filtered:
            batch = batch.filter(values[0])
            values = [values[0], *(each.filter(values[0]) for each in values[1:])]
        return [
            TupleBatch.from_columns(
                {name: values[places[name]] if name in places else batch.arrow.column(name) for name in target.names},
                target,
            )
            for target, places in zip(self.targets, self.places, strict=True)
        ]
