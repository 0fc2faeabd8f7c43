"""Sort with the window `eventTime`: tuples in order of event time, once the watermark has passed them (EV58)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.moments import Moments, between_idle
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.inputs.event_time import LATE_PORT, EventTimeInput, least_watermark, submit_late
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.rescaling import PortKeys, Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.rescaling import divided_logs

Ranks = Callable[["pa.RecordBatch"], "np.ndarray"]
"""A function that returns the rank of each tuple in the order of `sortBy`."""


class TimeOrder:
    """The tuples that wait for the watermark to pass them."""

    def __init__(
        self, operator: Operator, ranks: Ranks | None, *, divides: bool, parameter: str = "window: eventTime"
    ) -> None:
        """Start with no tuples.

        Args:
            operator: the operator.
            ranks: ranks tuples with equal times; None leaves them in order of arrival.
            divides: True if there is an output port for late tuples.
            parameter: the parameter that needs event time, with its value.

        Raises:
            ValueError: the stream has no event time.
        """
        self._operator = operator
        self._ranks = ranks
        self._divides = divides
        self.input = EventTimeInput(operator, parameter)
        self.waiting = TupleLog(operator.context.inputs[0], {"time": np.int64})

    def process(self, batch: TupleBatch, send: Callable[[TupleBatch], None]) -> None:
        """Add tuples, and send the tuples that the batch's watermarks have passed, followed by the watermarks.

        Late tuples, and tuples without a time, are counted; they are submitted if they have a port, else dropped. Where
        the input becomes idle, send that on.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54).
        """
        for part, idle in between_idle(batch):
            self._take_in(part, send, divided=part is not batch)
            if idle:
                rests = TupleBatch.bearing(self.input.resting(keeps=len(self.waiting) > 0), self.waiting.schema)
                send(rests)
                if self._divides:
                    submit_late(self._operator, rests, LATE_PORT)

    def _take_in(self, batch: TupleBatch, send: Callable[[TupleBatch], None], *, divided: bool) -> None:
        moments = self.input.moments(batch)
        times, late = self.input.judge(batch, moments)
        if self._divides and (late.any() or divided):
            submit_late(self._operator, batch.filter(late), LATE_PORT)
        if late.any():
            batch, times = batch.filter(~late), times[~late]
        self.input.advance(moments)
        self.waiting.append(batch.arrow, time=times)
        if moments.watermarks is not None:
            send(self._passed(moments))

    def _passed(self, moments: Moments) -> TupleBatch:
        """Remove the tuples that the watermark has passed, and return them in order."""
        places = self.waiting.places()
        times: np.ndarray = self.waiting.notes["time"][places]
        due = moments.passed(times)
        places, times = places[due], times[due]
        tuples = self.waiting.take(places)
        by_time = np.argsort(times, kind="stable") if self._ranks is None else np.lexsort((self._ranks(tuples), times))
        self.waiting.remove(places)
        watermarks = moments.placed(moments.passing(times[by_time]))
        return TupleBatch(tuples.take(pa.array(by_time)), watermarks=watermarks)

    def held(self) -> int | None:
        """Return the least time of a waiting tuple in ticks; None without any."""
        times = self.waiting.notes["time"][self.waiting.places()]
        return int(times.min()) if len(times) else None

    def checkpoint(self) -> State:
        """Return the waiting tuples and the watermark."""
        return {"waiting": self.waiting, **self.input.dump()}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned.

        Raises:
            StateError: it counts the ticks of another attribute.
        """
        self.input.load(state)
        self.waiting = state["waiting"]
        tuples = self.waiting.take(np.arange(self.waiting.size))
        self.waiting.notes = {"time": times_of(tuples, self.input.role).copy()}

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the waiting tuples by their channels.

        If no attribute decides the channel, replica i goes to channel i modulo width. All get the least watermark.
        """
        if not states:
            return [{}] * route.width
        logs = divided_logs([state["waiting"] for state in states], route)
        return [{"waiting": log, **least_watermark(states)} for log in logs]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the waiting tuples; none if the state is empty."""
        log: TupleLog | None = state.get("waiting")
        return [] if log is None else [PortKeys(0, log.take(log.places()))]
