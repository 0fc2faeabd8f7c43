"""Filter: passes the tuples for which a condition is true."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import Condition, parse_condition
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import program_of
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, check_failure_port, own_outputs, truth
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.logic.operator import LogicOperator, LogicParameters, check_policy
from streams_orchestration.operators.logic.program import LogicProgram
from streams_orchestration.operators.tuples.batch import TupleBatch


class FilterParameters(LogicParameters):
    """The parameters of `Filter`."""

    filter: Condition | None = Field(
        default=None, description="A condition for tuples to pass. If omitted, every tuple passes."
    )


class Filter(LogicOperator):
    """Passes a tuple to output port 0 if `filter` is true, otherwise to port 1 if that is connected."""

    keeps_places = True
    Parameters = FilterParameters
    naming_parameters = NamingParameters(expressions=("filter",))
    pure = True
    free_parameters = frozenset(("filter", "spl", "on_error"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: FilterParameters) -> None:
        """Raise ValueError if the condition or the port for failed tuples does not fit, or the logic has mistakes."""
        if parameters.spl is not None:
            cls._logic(context, parameters)
            return
        check_failure_port(context, parameters, context.inputs[0])
        if parameters.filter is not None:
            parse_condition(parameters.filter, context.inputs[0], "filter", context.zone)

    @staticmethod
    def _logic(context: OperatorContext, parameters: FilterParameters) -> LogicProgram:
        """Compile the logic with the condition, which may read the variables of the logic."""
        assert parameters.spl is not None
        check_policy(parameters)
        text = parameters.filter
        return LogicProgram(
            context,
            parameters.spl,
            {0: [] if text is None else [(program_of(text, "filter"), "filter", None)]},
        )

    def setup(self) -> None:
        """Parse the condition, or compile the logic with it and run its initialisers."""
        text = self.parameters.filter
        self.divides = len(own_outputs(self.context, self.parameters)) > 1
        if self.parameters.spl is not None:
            self.use(self._logic(self.context, self.parameters))
            return
        source, zone = self.context.inputs[0], self.context.zone
        self.condition: Any = None if text is None else parse_condition(text, source, "filter", zone)
        self.failure_filter = FailureFilter(self, [] if self.condition is None else [self.condition])

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit each tuple to port 0 if the condition is true, otherwise to port 1 if that is connected.

        Null counts as false. Failed tuples are set aside.
        """
        if self.logic is not None:
            self._run(self.logic, batch)
            return
        if self.condition is None:
            self.failure_filter.distribute(batch, [np.ones(len(batch), bool)], (Evaluated(batch), {}))
            return
        tuples, failures = self.failure_filter.split(batch)
        mask = truth(tuples.value(self.condition))
        self.failure_filter.distribute(batch, [mask, pc.invert(mask)] if self.divides else [mask], (tuples, failures))

    def _run(self, logic: LogicProgram, batch: TupleBatch) -> None:
        """Run the logic for tuples, and submit those that meet the condition to port 0; all without a condition.

        The others are submitted to port 1, or dropped if that port does not exist.
        """
        _, values = logic.tuples(0, batch)
        if not values:
            self.submit(batch.selected(self.context.outputs[0]), 0)
            return
        self.submit(batch.filter(values[0]).selected(self.context.outputs[0]), 0)
        if self.divides:
            self.submit(batch.filter(pc.invert(values[0])).selected(self.context.outputs[1]), 1)
