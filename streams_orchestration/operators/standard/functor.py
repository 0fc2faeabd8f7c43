"""Functor: filters tuples and computes new attributes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.assignments import Assignments
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext
from streams_orchestration.operators.expressions import Condition, parse_condition
from streams_orchestration.operators.failed_tuples import ExpressionParameters, Sieve, check_failure_port, own_outputs
from streams_orchestration.operators.faults import reported
from streams_orchestration.operators.mentions import Mentions


class FunctorParameters(ExpressionParameters):
    """The parameters of `Functor`."""

    filter: Condition | None = Field(
        default=None, description="A condition. Tuples for which it is not true are dropped."
    )
    output: dict[str, str] | list[dict[str, str]] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an expression; other attributes keep their values. A list has one map for "
            "each output port."
        ),
    )


class Functor(Operator):
    """Submits a tuple with the attributes of the output stream, which are computed or copied by name.

    Every output port gets one tuple for each tuple that passes the filter.
    """

    places_watermarks = True
    Parameters = FunctorParameters
    pure = True

    @classmethod
    def mentions(cls, parameters: FunctorParameters) -> Mentions:
        """Return the attributes that expressions use and compute."""
        return Mentions.of(parameters.filter, output=parameters.output)

    @classmethod
    def check(cls, context: OperatorContext, parameters: FunctorParameters) -> None:
        """Raise ValueError if an expression or an attribute does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: FunctorParameters) -> tuple[Any, list[Assignments]]:
        check_failure_port(context, parameters, context.inputs[0])
        source, targets = context.inputs[0], own_outputs(context, parameters)
        ports = len(targets)
        text, zone = parameters.filter, context.zone
        condition = None if text is None else parse_condition(text, source, "filter", zone)
        written = parameters.output if isinstance(parameters.output, list) else [parameters.output]
        if parameters.output and len(written) != ports:
            message = f"output: a list with a mapping for each of the {ports} output ports is wanted"
            raise ValueError(message)
        outputs = written if parameters.output else [{}] * ports
        assignments: list[Assignments] = []
        for port, (output, target) in enumerate(zip(outputs, targets, strict=True)):
            with reported(f"output port {port}: " if ports > 1 else ""):
                required = context.required_at(port)
                assignments.append(Assignments(output, source, target or source, zone, required))
        return condition, assignments

    def setup(self) -> None:
        """Parse the expressions."""
        condition, self.ports = self._compile(self.context, self.parameters)
        self.sieve = Sieve(self, [each for port in self.ports for each in port.expressions], condition)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Filter the tuples, then compute and submit the tuples of every output port."""
        tuples = self.sieve(batch)
        for output, assignments in enumerate(self.ports):
            self.submit(assignments.of(tuples), output)
