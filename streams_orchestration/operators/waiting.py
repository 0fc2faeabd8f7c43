"""Queues of tuples that wait until they may pass, with the window marks between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.event_time.times import least_time
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog


class Waiting:
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

    def append(self, tuples: pa.RecordBatch, **notes: np.ndarray) -> None:
        """Append tuples."""
        self.log.append(tuples, **notes)

    def mark(self) -> None:
        """Append a window mark."""
        self._marks.append(self.log.next)

    def release(self, count: int) -> Iterator[pa.RecordBatch | Punctuation]:
        """Remove and yield the first `count` tuples, and the marks that no waiting tuple precedes, in order."""
        places = self.log.places()
        leaving = places[:count]
        tuples, numbers = self.log.take(leaving), self.log.numbers[leaving]
        first = int(self.log.numbers[places[count]]) if count < len(places) else self.log.next
        due = [mark for mark in self._marks if mark <= first]
        self._marks = self._marks[len(due) :]
        self.log.remove(leaving)
        begin = 0
        for end in np.searchsorted(numbers, due).tolist():
            if end > begin:
                yield tuples.slice(begin, end - begin)
            yield Punctuation.WINDOW
            begin = end
        if begin < len(leaving):
            yield tuples.slice(begin)

    def dump(self) -> State:
        """Return the waiting tuples and marks, for a checkpoint."""
        return {"waiting": self.log, "marks": list(self._marks)}

    def load(self, state: State) -> None:
        """Restore what `dump` returned."""
        self.log, self._marks = state["waiting"], list(state["marks"])


class WaitingOperator(Operator):
    """Base class of operators that queue the tuples and window marks of input port 0 until they may pass."""

    stateful = True
    passes_marks = False

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: object) -> Sharding:
        """Return a refusal, since waiting tuples belong to their channel."""
        return Sharding(refusal="is tuples that wait in one channel, in their order")

    def setup(self) -> None:
        """Start without waiting tuples."""
        self.waiting = Waiting(self.context.inputs[0])

    def reset_to_initial_state(self) -> None:
        """Remove all waiting tuples."""
        self.waiting.clear()

    def release(self, count: int) -> None:
        """Submit the first `count` waiting tuples, and the marks that no waiting tuple precedes."""
        for item in self.waiting.release(count):
            if isinstance(item, Punctuation):
                self.punctuate(item)
            else:
                self.submit(TupleBatch(item))

    def held(self) -> int | None:
        """Return the least event time of a waiting tuple."""
        log = self.waiting.log
        return least_time(log.take(log.places()), self.context.event_time)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Queue a window marker of input port 0 after the tuples."""
        if port == 0 and mark is Punctuation.WINDOW:
            self.waiting.mark()
            self.release(0)

    def checkpoint(self) -> State:
        """Return the waiting tuples and marks."""
        return self.waiting.dump()

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and marks."""
        self.waiting.load(state)
