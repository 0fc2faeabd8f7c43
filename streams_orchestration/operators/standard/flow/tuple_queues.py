"""Queues of tuples that wait until they may pass, with the window marks between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.event_time.times import least_time
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.rescaling import Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks


class TupleQueue:
    """A queue of tuples and window marks in order of arrival. A mark leaves with the last tuple before it."""

    def __init__(self, schema: pa.Schema, notes: Mapping[str, Any] | None = None) -> None:
        """Create an empty queue; `notes` as in `TupleLog`."""
        self.log = TupleLog(schema, notes)
        self._marks: list[int] = []
        """For each mark, the number of the first tuple after it."""

    def __len__(self) -> int:
        return len(self.log)

    def clear(self) -> None:
        """Remove all tuples and marks."""
        self.log.clear()
        self._marks = []

    def append(self, tuples: pa.RecordBatch, **notes: np.ndarray) -> np.ndarray:
        """Append tuples, and return their places in the log."""
        return self.log.append(tuples, **notes)

    def mark(self) -> None:
        """Append a window mark."""
        self._marks.append(self.log.next)

    def release(self, leaving: np.ndarray) -> tuple[pa.RecordBatch, list[int]]:
        """Remove tuples, and the marks that no waiting tuple precedes.

        Args:
            leaving: the places of the tuples in the log, in the order in which they leave.

        Returns:
            The tuples in this order, and for each mark the number of them that leave before it.
        """
        tuples, numbers = self.log.take(leaving), self.log.numbers[leaving]
        self.log.remove(leaving)
        waiting = self.log.places()
        first = int(self.log.numbers[waiting[0]]) if len(waiting) else self.log.next
        due = [mark for mark in self._marks if mark <= first]
        self._marks = self._marks[len(due) :]
        if not due:
            return tuples, []
        last = [np.flatnonzero(numbers < mark)[-1:] + 1 for mark in due]
        return tuples, [int(ends[0]) if len(ends) else 0 for ends in last]

    def dump(self) -> State:
        """Return the waiting tuples and marks, for a checkpoint."""
        return {"waiting": self.log, "marks": list(self._marks)}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned."""
        self.log, self._marks = state["waiting"], list(state["marks"])
        # the last tuple before a mark may have left before others, and its number must not be used again
        self.log.next = max([self.log.next, *self._marks])


def divided_queues(states: Sequence[State], route: Route) -> list[dict[str, Any]]:
    """Divide the queues of several replicas, as `dump` returned them, among new replicas.

    Each tuple goes to the channel of its key; without a key, the queues of whole replicas go to the channels in turn.
    Every mark was received by all replicas. So the last marks of all replicas are the same mark, and likewise the marks
    before. Each new replica gets all marks.
    """
    behind = [_marks_behind(state["waiting"], state["marks"]) for state in states]
    depth = max(len(state["marks"]) for state in states)
    divided: list[dict[str, Any]] = []
    for number in range(route.width):
        log, marks = TupleLog(states[0]["waiting"].schema), list[int]()
        for level in range(depth, -1, -1):
            for replica, (state, own) in enumerate(zip(states, behind, strict=True)):
                log.append(_part(state["waiting"], own == level, route, number, replica))
            marks += [log.next] if level else []
        divided.append({"waiting": log, "marks": marks})
    return divided


def _marks_behind(log: TupleLog, marks: list[int]) -> np.ndarray:
    """Return the number of marks after each tuple."""
    return len(marks) - np.searchsorted(np.array(marks, np.int64), log.numbers[log.places()], side="right")


def _part(log: TupleLog, chosen: np.ndarray, route: Route, channel: int, replica: int) -> pa.RecordBatch:
    """Return the chosen tuples of a replica that go to a new channel; without a key, whole replicas take turns."""
    tuples = log.take(log.places()[chosen])
    if route.attributes() is None:
        return tuples if replica % route.width == channel else tuples.slice(0, 0)
    return tuples.take(pa.array(np.flatnonzero(route.channels(tuples) == channel)))


class WaitingOperator(Operator):
    """Base class of operators that queue the tuples and window marks of input port 0 until they may pass."""

    stateful = True
    indivisible = "is the waiting tuples of one channel, in their order"
    passes_marks = False

    def setup(self) -> None:
        """Prepare an empty queue."""
        self.waiting = TupleQueue(self.context.inputs[0])

    def release(self, count: int) -> None:
        """Submit the first `count` waiting tuples, and the marks that no waiting tuple precedes."""
        self.send(self.waiting.log.places()[:count])

    def send(self, leaving: np.ndarray, watermarks: Watermarks | None = None) -> None:
        """Submit waiting tuples, and the marks that no waiting tuple precedes.

        Args:
            leaving: the places of the tuples in the log, in the order in which they leave.
            watermarks: the watermarks among them.
        """
        tuples, ends = self.waiting.release(leaving)
        batch, begin, first = TupleBatch(tuples), 0, 0
        for end in ends:
            # a watermark directly behind a window marker's tuples comes behind the marker, as it does behind results
            last = 0 if watermarks is None else int(np.searchsorted(watermarks.places, end))
            marks = None if watermarks is None else watermarks.part(first, last, begin)
            if end > begin or marks is not None:
                self.submit(batch.slice(begin, end - begin).with_watermarks(marks))
            self.punctuate(Punctuation.WINDOW)
            begin, first = end, last
        marks = None if watermarks is None else watermarks.part(first, len(watermarks), begin)
        if begin < len(batch) or begin == 0 or marks is not None:
            self.submit(batch.slice(begin).with_watermarks(marks))

    def held(self) -> int | None:
        """Return the least event time in ticks of a waiting tuple; None without any, or outside of event time."""
        log = self.waiting.log
        return least_time(log.take(log.places()), self.context.event_time)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker of input port 0 after the tuples; submit it if no tuple waits."""
        if port == 0 and mark is Punctuation.WINDOW:
            self.waiting.mark()
            self.release(0)

    def checkpoint(self) -> State:
        """Return the waiting tuples and marks."""
        return self.waiting.dump()

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and marks."""
        self.waiting.load(state)
