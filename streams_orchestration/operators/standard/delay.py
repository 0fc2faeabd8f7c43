"""Delay: holds tuples back for a time."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.libraries import np
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.waiting import Waiting, WaitingOperator
from streams_orchestration.operators.windows.clause import Policy
from streams_orchestration.operators.windows.deltas import comparable

_TIME = "time"


class DelayParameters(Parameters):
    """The parameters of `Delay`."""

    delay: float = Field(ge=0, description="Seconds of timeAttribute by which a tuple is held back.")
    time_attribute: str = Field(alias="timeAttribute", description="Timestamp attribute with the time of a tuple.")

    def policy(self, context: OperatorContext) -> Policy:
        """Return the delay in the attribute's unit. Raise ValueError if the attribute does not fit."""
        return Policy("time", self.delay).resolved(context.inputs[0], self.time_attribute, "delay")


class Delay(WaitingOperator):
    """Submits a tuple once another tuple has arrived that is `delay` seconds later by `timeAttribute`.

    The order of tuples and window markers is kept. The largest time so far is the current time, so a late tuple waits
    only for those before it. Tuples that still wait at the end are submitted.

    Delay of the SPL standard toolkit 1.4 (IBM Streams 4.3) uses the clock, has no `timeAttribute`, and empties its
    buffer before a cut. Here the attribute gives the time, so a replay gives the same result.
    """

    Parameters = DelayParameters
    unsupported = REFUSED["Delay"]
    free_parameters = frozenset(("delay",))

    @classmethod
    def mentions(cls, parameters: DelayParameters) -> Mentions:
        """Return the time attribute."""
        return Mentions(inputs=(parameters.time_attribute,))

    @classmethod
    def check(cls, context: OperatorContext, parameters: DelayParameters) -> None:
        """Raise ValueError if the attribute is missing or is not a timestamp."""
        parameters.policy(context)

    def setup(self) -> None:
        """Start without waiting tuples."""
        self.policy = self.parameters.policy(self.context)
        self.waiting = Waiting(self.context.inputs[0], {_TIME: np.int64})
        self.now: int | None = None
        """The largest time so far, in microseconds."""

    def reset_to_initial_state(self) -> None:
        """Drop all waiting tuples."""
        super().reset_to_initial_state()
        self.now = None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add the tuples to the waiting ones, and submit those that have waited long enough."""
        times = self.policy.values(batch.arrow)
        if not len(times):
            return
        self.waiting.append(batch.arrow, **{_TIME: times})
        self.now = max(int(times.max()), self.now) if self.now is not None else int(times.max())
        log = self.waiting.log
        reached = np.maximum.accumulate(log.notes[_TIME][log.places()])
        waited = self.now - comparable(np.append(reached, self.now))[:-1]
        self.release(int(np.count_nonzero(waited >= self.policy.size)))

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker with the waiting tuples. At the end, submit all of them."""
        super().on_punctuation(port, mark)
        if mark is Punctuation.FINAL:
            self.release(len(self.waiting))
            self.reset_to_initial_state()

    def checkpoint(self) -> State:
        """Return the waiting tuples and the largest time."""
        return {**super().checkpoint(), "now": self.now}

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and the largest time."""
        super().restore(state)
        self.now, log = state["now"], self.waiting.log
        log.notes = {_TIME: self.policy.values(log.take(np.arange(log.size))).copy()}
