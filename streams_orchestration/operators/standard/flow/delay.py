"""Delay: holds tuples back for a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.event_time.moments import Moments, between_idle, held_back, shifted
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.inputs.event_time import EventTimeInput, least_watermark
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.standard.flow.tuple_queues import TupleQueue, WaitingOperator, divided_queues
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import Policy
from streams_orchestration.operators.windows.deltas import comparable

_TIME = "time"


class DelayParameters(Parameters):
    """The parameters of `Delay`."""

    delay: float = Field(ge=0, allow_inf_nan=False, description="Seconds by which a tuple is held back.")
    by: Literal["tuples", "watermark", "clock"] = Field(
        default="tuples",
        description=(
            "Clock of the delay: the largest timeAttribute so far (tuples), the watermark of event time, or the clock "
            "of the machine, from the arrival of a tuple on."
        ),
    )
    time_attribute: str | None = Field(
        default=None,
        alias="timeAttribute",
        description="Timestamp attribute with the time of a tuple; needed unless by is watermark.",
    )

    def _faults(self) -> Iterator[str]:
        if self.by == "watermark" and self.time_attribute is not None:
            yield (
                "timeAttribute cannot be combined with by: watermark; leave it out, since the annotation eventTime "
                "names the attribute"
            )
        if self.by == "clock" and self.time_attribute is not None:
            yield (
                "timeAttribute cannot be combined with by: clock, which counts from the arrival of a tuple; leave it "
                "out"
            )
        if self.by == "tuples" and self.time_attribute is None:
            yield "the parameter timeAttribute is missing; only by: watermark and by: clock do not need it"

    def policy(self, context: OperatorContext) -> Policy:
        """Return the delay in the attribute's unit. Raise ValueError if the attribute does not fit."""
        return Policy("time", self.delay).resolved(context.inputs[0], self.time_attribute, "delay")


class Delay(WaitingOperator, ClockOperator):
    """Submits a tuple once another tuple has arrived that is `delay` seconds later by `timeAttribute`.

    The order of tuples and window markers is kept. The largest time so far is the current time, so a late tuple waits
    only for those before it. Tuples that still wait at the end are submitted.

    With `by: watermark`, a tuple is submitted once the watermark is `delay` seconds beyond its event time, in the order
    of these times. The watermark of the output does not pass the tuples that wait, so none is late because it waited. A
    window marker follows the last tuple that arrived before it.

    With `by: clock`, a tuple is submitted `delay` seconds after the time of the batch in which it arrived, also if no
    other tuple comes. After a reset, replayed tuples wait for the full delay again.

    Delay of the SPL standard toolkit 1.4 (IBM Streams 4.3) uses the clock, has no `timeAttribute`, and empties its
    buffer before a cut.
    """

    Parameters = DelayParameters
    clock_by_choice = True
    naming_parameters = NamingParameters(inputs=("time_attribute",))
    free_parameters = frozenset(("delay",))

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Refuse a division, since waiting tuples belong to their channel; `by: watermark` allows any division."""
        return Sharding(anyhow=True) if parameters.by == "watermark" else super().sharding(context, parameters)

    @classmethod
    def check(cls, context: OperatorContext, parameters: DelayParameters) -> None:
        """Raise ValueError if the attribute is missing or is not a timestamp."""
        if parameters.by == "tuples":
            parameters.policy(context)

    def setup(self) -> None:
        """Prepare an empty queue of waiting tuples."""
        self.waiting = TupleQueue(self.context.inputs[0], {_TIME: np.int64})
        self.timed: EventTimeInput | None = None
        """The event time for `by: watermark`; None otherwise."""
        if self.parameters.by == "watermark":
            self.timed = EventTimeInput(self, "by: watermark")
            self.delay = self.timed.ticks("delay", self.parameters.delay)
            self.keeps_places = True
            return
        self.arrivals: list[list[float]] = []
        """The unix time and the number of waiting tuples of each batch, in order of arrival; for `by: clock`."""
        self.by_clock = self.parameters.by == "clock"
        if self.by_clock:
            return
        self.policy = self.parameters.policy(self.context)
        self.now: int | None = None
        """The largest time so far, in the unit of the attribute; None before the first tuple."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Queue the tuples, and submit the waiting tuples that have waited long enough.

        With `by: watermark`, tuples without a time are dropped and counted if the annotation `eventTime` ignores them.
        """
        if self.timed is not None:
            self._wait(batch, self.timed)
            return
        if self.by_clock and len(batch):
            self.waiting.append(batch.arrow, **{_TIME: np.zeros(len(batch), np.int64)})
            self.arrivals.append([self.context.now, len(batch)])
            self.on_time()
        if self.by_clock:
            return
        times = self.policy.values(batch.arrow)
        if not len(times):
            return
        self.waiting.append(batch.arrow, **{_TIME: times})
        self.now = max(int(times.max()), self.now) if self.now is not None else int(times.max())
        log = self.waiting.log
        reached = np.maximum.accumulate(log.notes[_TIME][log.places()])
        waited = self.now - comparable(np.append(reached, self.now))[:-1]
        self.release(int(np.count_nonzero(waited >= self.policy.size)))

    def on_time(self) -> None:
        """Submit the tuples that have waited long enough by the clock."""
        due = 0
        while self.arrivals and self.arrivals[0][0] + self.parameters.delay <= self.context.now:
            due += int(self.arrivals.pop(0)[1])
        if due:
            self.release(due)

    def wake(self) -> float | None:
        """Return the unix time at which the first waiting tuple is due by the clock; None without such tuples."""
        return self.arrivals[0][0] + self.parameters.delay if self.arrivals else None

    def _wait(self, batch: TupleBatch, timed: EventTimeInput) -> None:
        """Queue the tuples of a batch, and submit the waiting tuples that the watermarks release (EV61).

        Tuples without a time are dropped, or refused as `process` says.
        Where the input becomes idle, submit the watermark that says so, or the least time of a waiting tuple.
        """
        for part, idle in between_idle(batch):
            times, missing = timed.times(part)
            with_time = part if missing is None else part.filter(~missing)
            times = times if missing is None else times[~missing]
            moments = timed.moments(with_time)
            timed.advance(moments)
            came = self.waiting.append(with_time.arrow, **{_TIME: times})
            places = self.waiting.log.places()
            held = self._least_at_marks(moments, places, came)
            due = moments.passed(self._bounds(places))
            places = places[due]
            bounds = self._bounds(places)
            new = np.searchsorted(places, came[0]) if len(came) else len(places)
            at = moments.passing(bounds)
            at[new:] = moments.leaving(shifted(times, self.delay - 1))[places[new:] - (came[0] if len(came) else 0)]
            # a tuple that is due when it arrives leaves at once, behind the ones before it
            order = np.lexsort((np.where(at % 2, bounds, 0), at))
            placed = moments.placed(at[order])
            self.send(places[order], None if placed is None else held_back(placed, held))
            if idle:
                least = self.held()
                rests = timed.resting(keeps=least is not None)
                rests = rests if least is None else held_back(rests, np.array([least]))
                self.submit(TupleBatch.bearing(rests, self.context.inputs[0]))

    def _least_at_marks(self, moments: Moments, places: np.ndarray, came: np.ndarray) -> np.ndarray:
        """Return the least time of a tuple that still waits after each watermark of a batch, or `END` (EV62)."""
        if moments.watermarks is None:
            return np.zeros(0, np.int64)
        arrived = np.full(len(places), -1)
        if len(came):
            new = places >= came[0]
            arrived[new] = moments.arrivals[places[new] - came[0]]
        times = self.waiting.log.notes[_TIME][places]
        order = np.argsort(times, kind="stable")
        gone = moments.passing(shifted(times[order], self.delay - 1))
        return moments.least_kept(times[order], arrived[order], gone)

    def held(self) -> int | None:
        """Return the least event time of a waiting tuple in ticks; None if none waits."""
        if self.timed is None:
            return super().held()
        times = self.waiting.log.notes[_TIME][self.waiting.log.places()]
        return int(times.min()) if len(times) else None

    def _bounds(self, places: np.ndarray) -> np.ndarray:
        """Return the greatest watermark at which each waiting tuple still waits."""
        return shifted(self.waiting.log.notes[_TIME][places], self.delay - 1)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker with the waiting tuples. At the end of the stream, submit all tuples that still wait.

        The operator is then in its initial state. In event time nothing is done at the end, since the greatest
        watermark, which comes before it, has submitted all tuples.
        """
        super().on_punctuation(port, mark)
        if self.timed is not None:  # the greatest watermark comes in front of the final mark
            return
        if mark is Punctuation.FINAL:
            self.release(len(self.waiting))
            self.waiting.clear()
            self.arrivals, self.now = [], None

    def checkpoint(self) -> State:
        """Return the waiting tuples, with the largest time, the watermark or the times of their arrival."""
        if self.timed is not None:
            own: State = self.timed.dump()
        else:
            own = {"arrivals": [list(each) for each in self.arrivals]} if self.by_clock else {"now": self.now}
        return {**super().checkpoint(), **own}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned."""
        super().restore(state)
        log = self.waiting.log
        tuples = log.take(np.arange(log.size))
        if self.timed is not None:
            self.timed.load(state)
            log.notes = {_TIME: times_of(tuples, self.timed.role).copy()}
            return
        if self.by_clock:
            self.arrivals = [list(each) for each in state["arrivals"]]
            log.notes = {_TIME: np.zeros(log.size, np.int64)}
            return
        self.now = state["now"]
        log.notes = {_TIME: self.policy.values(tuples).copy()}

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the tuples that wait for the watermark by their channels.

        Every channel gets the window markers and the least watermark. If all states are empty, so are the new ones.
        """
        states = [state for state in states if state]
        if not states:
            return [{}] * route.width
        return [{**part, **least_watermark(states)} for part in divided_queues(states, route)]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the tuples that wait for the watermark; none with another `by`."""
        if self.timed is None or not state:
            return []
        log: TupleLog = state["waiting"]
        return [PortKeys(0, log.take(log.places()))]
