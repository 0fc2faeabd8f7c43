"""Switch: passes tuples while it is closed, and holds them while it is open."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.expressions.evaluation import Condition, parse_condition
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.standard.flow.tuple_queues import WaitingOperator
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch


class SwitchParameters(ExpressionParameters):
    """The parameters of `Switch`."""

    status: Condition = Field(
        description="A condition over input port 1. True closes the switch; anything else opens it."
    )
    initial_status: bool = Field(
        default=False, alias="initialStatus", description="The switch is closed at the beginning."
    )


class Switch(WaitingOperator):
    """Passes the tuples of input port 0 while the switch is closed; while it is open they wait in order.

    Each tuple of input port 1, the control port, closes or opens the switch. Waiting tuples are in the operator's
    state. Tuples that still wait at the end are dropped and counted.

    Parameters and semantics follow Switch of the SPL standard toolkit 1.4 (IBM Streams 4.3), which blocks the sender
    instead.
    """

    Parameters = SwitchParameters
    control_ports = (1,)
    free_parameters = frozenset(("status", "initial_status", "on_error"))

    @classmethod
    def mentions(cls, parameters: SwitchParameters) -> Mentions | None:
        """Return None if the status is an expression, since the control stream's schema is known only in `check`."""
        return None if parameters.status not in ("true", "false") else Mentions()

    @classmethod
    def check(cls, context: OperatorContext, parameters: SwitchParameters) -> None:
        """Raise ValueError if the condition does not fit the control stream, or the failure port does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: SwitchParameters) -> Any:
        check_failure_port(context, parameters, *context.inputs)
        return parse_condition(parameters.status, context.inputs[1], "status", context.zone)

    def setup(self) -> None:
        """Compile the condition, and begin with the initial status."""
        super().setup()
        self.status = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [self.status])
        self.passing = FailureFilter(self, [], passes_on=True)
        self.closed: bool = self.parameters.initial_status

    def process(self, port: int, batch: TupleBatch) -> None:
        """Pass or queue tuples; or set the switch by control tuples, and submit the waiting tuples when it closes.

        Failed tuples are set aside.
        """
        if port == 1:
            statuses = pc.fill_null(self.failure_filter(batch).value(self.status), fill_value=False).to_pylist()
            if any(statuses):  # a switch that is closed only for a moment also passes the waiting tuples
                self.release(len(self.waiting))
            self.closed = statuses[-1] if statuses else self.closed
        elif self.closed:
            self.submit(self.passing(batch).batch)
        else:
            self.waiting.append(self.passing(batch).arrow)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker of input port 0 with the tuples.

        When the control stream ends, drop and count the waiting tuples, and return to the initial status.
        """
        super().on_punctuation(port, mark)
        if port == 1 and mark is Punctuation.FINAL:
            self.context.metrics.dropped.add(len(self.waiting))
            self.waiting.clear()
            self.closed = self.parameters.initial_status

    def checkpoint(self) -> State:
        """Return the waiting tuples and the switch's status."""
        return {**super().checkpoint(), "closed": self.closed}

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and the switch's status."""
        super().restore(state)
        self.closed = state["closed"]
