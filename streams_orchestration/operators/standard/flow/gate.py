"""Gate: passes only as many tuples as are acknowledged."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.flow.tuple_queues import WaitingOperator
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch


class GateParameters(ExpressionParameters):
    """The parameters of `Gate`."""

    max_unacked_tuple_count: int = Field(
        gt=0,
        alias="maxUnackedTupleCount",
        examples=[1],
        description="Largest number of tuples that may have passed without being acknowledged.",
    )
    num_tuples_to_ack: ExpressionText | int = Field(
        default=1,
        alias="numTuplesToAck",
        description="An expression over input port 1: the number of tuples that one of its tuples acknowledges.",
    )
    at_end: Literal["submit", "drop"] = Field(
        default="submit",
        alias="atEnd",
        description="Tuples that still wait when acknowledgements end: submit or drop them.",
    )


class Gate(WaitingOperator):
    """Passes a tuple while fewer than `maxUnackedTupleCount` earlier tuples are unacknowledged.

    A tuple of input port 1, the control port, acknowledges `numTuplesToAck` tuples. A surplus of acknowledgements lets
    later tuples pass. Other tuples wait in order in the operator's state. Tuples that still wait at the end are
    submitted, since nothing can acknowledge later tuples, or dropped with `atEnd: drop`. An operator behind Gate may
    acknowledge, also in the same PE.

    Parameters and semantics follow Gate of the SPL standard toolkit 1.4 (IBM Streams 4.3): its page and its generated
    code, whose count of unacknowledged tuples goes below 0. There a tuple is held by blocking its sender, and waiting
    tuples are lost when Gate stops.
    """

    Parameters = GateParameters
    control_ports = (1,)
    free_parameters = frozenset(("max_unacked_tuple_count", "num_tuples_to_ack", "on_error", "at_end"))

    @classmethod
    def mentions(cls, parameters: GateParameters) -> Mentions | None:
        """Return None if there is an expression, since the control stream's schema is known only in `check`."""
        return None if isinstance(parameters.num_tuples_to_ack, str) else Mentions()

    @classmethod
    def check(cls, context: OperatorContext, parameters: GateParameters) -> None:
        """Raise ValueError if the expression does not fit the control stream, or the failure port does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: GateParameters) -> Any:
        control = context.inputs[1]
        check_failure_port(context, parameters, *context.inputs)
        count = parse_expression(str(parameters.num_tuples_to_ack), control, "numTuplesToAck", context.zone)
        if not pa.types.is_integer(kind := count.arrow_type):
            message = f"{parameters.num_tuples_to_ack!r} is {type_name(kind)}, but an integer is expected"
            count.refuse(message)
        return count

    def setup(self) -> None:
        """Compile the expression, and begin with no tuple passed."""
        super().setup()
        self.count = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [self.count])
        self.passing = FailureFilter(self, [], passes_on=True)
        self.unacked = 0
        """The number of passed tuples minus the number of acknowledgements; may be negative."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Queue tuples, or count acknowledgements; then submit the tuples that may pass. Set failed tuples aside."""
        if port == 0:
            self.waiting.append(self.passing(batch).arrow)
            acknowledged = [0]
        else:
            acknowledged = self.failure_filter(batch).value(self.count).to_pylist()
        passing = 0
        for count in acknowledged:
            if count is None or count < 0:
                message = f"numTuplesToAck is {'null' if count is None else count}, but 0 or more is expected"
                raise DataError(message)
            self.unacked -= count
            room = min(self.parameters.max_unacked_tuple_count - self.unacked, len(self.waiting) - passing)
            self.unacked, passing = self.unacked + max(0, room), passing + max(0, room)
        self.release(passing)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker of input port 0 with the tuples.

        When acknowledgements end, submit all waiting tuples, or drop and count them with `atEnd: drop`.
        """
        super().on_punctuation(port, mark)
        if port == 1 and mark is Punctuation.FINAL:
            if self.parameters.at_end == "submit":
                self.release(len(self.waiting))
            else:
                self.context.metrics.dropped.add(len(self.waiting))
            self.waiting.clear()
            self.unacked = 0

    def checkpoint(self) -> State:
        """Return the waiting tuples and the number of unacknowledged ones."""
        return {**super().checkpoint(), "unacked": self.unacked}

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and the count."""
        super().restore(state)
        self.unacked = state["unacked"]
