"""The tuples that wait in windows of a Sort by order of arrival or by the clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.event_time.times import least_time
from streams_orchestration.operators.keys.comparison import distinct, key_batch
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.sorting.sort_by_time import Ranks
from streams_orchestration.operators.states.rescaling import PortKeys, Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.windows.clause import Window
from streams_orchestration.operators.windows.clock import nanoseconds
from streams_orchestration.operators.windows.partition_eviction import PartitionEviction, number_keys
from streams_orchestration.operators.windows.tumbling import TumblingWindows

_WINDOW = "@window"
"""The column of a waiting tuple with the number of its tumbling window, or of its partition if partitions are evicted.

No attribute can have this name.
"""


class WindowOrder:
    """The tuples of open windows. A tumbling window is submitted in order when it closes."""

    def __init__(
        self,
        operator: Operator,
        window: Window,
        partition: Sequence[str],
        ranks: Ranks,
        send: Callable[[pa.RecordBatch], None],
    ) -> None:
        """Start with no tuples.

        Args:
            operator: the Sort.
            window: its window.
            partition: the attributes of a partition; empty if there is only one.
            ranks: ranks the tuples of a window.
            send: submits tuples of the input stream.
        """
        self._operator, self.window, self._partition = operator, window, list(partition)
        self._ranks, self._send = ranks, send
        self.ticks = window.eviction.ticks
        """The times at which the clock closes windows."""
        source = operator.context.inputs[0]
        types = [source.field(name).type for name in partition]
        self.eviction = None if window.partitions is None else PartitionEviction(window.partitions, window, types)
        if self.eviction is not None:
            types = [pa.int64()]
        self.tumbling = TumblingWindows(window.eviction, types, window.eviction.value_type(source))
        self.waiting = TupleLog(pa.schema([*source, pa.field(_WINDOW, pa.int64())]))

    def on_time(self) -> None:
        """Close and submit all windows if the clock has reached their time."""
        if self.ticks.reached(self._operator.context.now) is not None:
            self._close_all()

    def _close_all(self) -> None:
        """Submit all windows, or only a marker without any; by the clock, first evict partitions that are too old."""
        if self.eviction is not None:
            if self._operator.parameters.by == "clock":
                self._give_up(self.eviction.expire(nanoseconds(self._operator.context.now)))
            self.eviction.emptied()
        closed = self.tumbling.close()
        self._close(closed)
        if not len(closed):
            self._operator.punctuate(Punctuation.WINDOW)

    def add(self, tuples: pa.RecordBatch) -> None:
        """Add tuples to their windows, and submit the tuples that are due.

        Raises:
            DataError: a key or a compared value is missing.
        """
        if not self.window.tumbling:
            self._slide(tuples, int(self.window.eviction.size))
            return
        keys, codes, evicted = self._partitions(tuples)
        assigned = self.tumbling.assign(keys, codes, tuples)
        self._wait(tuples, assigned.windows)
        self._close(assigned.closed)
        self._give_up(evicted)

    def _partitions(self, tuples: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray, np.ndarray]:
        """Return the distinct partitions of tuples, the index of each tuple's partition, and the evicted partitions.

        If partitions are evicted, numbers are their keys.
        """
        columns = [tuples.column(name) for name in self._partition]
        heads, codes = distinct(columns, tuples.num_rows)
        keys = key_batch(columns, heads)
        if self.eviction is None:
            return keys, codes, np.zeros(0, np.int64)
        keys, codes, evicted = self.eviction.arrive(keys, codes, tuples)
        return keys, codes, np.array([each.number for each in evicted], np.int64)

    def _give_up(self, evicted: np.ndarray) -> None:
        """Drop the waiting tuples of evicted partitions, given by number, as IBM Streams does."""
        if not len(evicted):
            return
        if self.window.tumbling:
            evicted = self.tumbling.give_up(number_keys(evicted))
        places = self.waiting.places()
        numbers = self.waiting.take(places, [_WINDOW]).column(0).to_numpy()
        self.waiting.remove(places[np.isin(numbers, evicted[evicted >= 0])])

    def _wait(self, tuples: pa.RecordBatch, windows: np.ndarray) -> None:
        self.waiting.append(tuples.append_column(self.waiting.schema.field(_WINDOW), pa.array(windows, pa.int64())))

    def _close(self, windows: np.ndarray, *, mark: bool = True) -> None:
        """Submit and remove windows, each sorted and followed by a marker if `mark`."""
        if not len(windows):
            return
        places = self.waiting.places()
        tuples = self.waiting.take(places)
        numbers = tuples.column(_WINDOW).to_numpy()
        for window in windows.tolist():
            inside = np.flatnonzero(numbers == window)
            self._submit(tuples.take(pa.array(inside)), sort=True)
            if mark:
                self._operator.punctuate(Punctuation.WINDOW)
        self.waiting.remove(places[np.isin(numbers, windows)])

    def _submit(self, tuples: pa.RecordBatch, *, sort: bool) -> None:
        if sort:
            tuples = tuples.take(pa.array(np.argsort(self._ranks(tuples))))
        self._send(tuples)

    def _slide(self, tuples: pa.RecordBatch, size: int) -> None:
        """Add tuples to sliding windows, and submit the first tuple in order for each one added to a full window."""
        places = self.waiting.places()
        waiting = self.waiting.take(places)
        held = waiting.drop_columns([_WINDOW])
        together = pa.concat_batches([held, tuples])
        ranks = self._ranks(together)
        evicted = np.zeros(0, np.int64)
        if self.eviction is None:
            columns = [together.column(name) for name in self._partition]
            codes = distinct(columns, together.num_rows)[1]
        else:
            keys, places_of_keys, evicted = self._partitions(tuples)
            came = keys.column(0).to_numpy()[places_of_keys]
            codes = np.r_[waiting.column(_WINDOW).to_numpy(), came]
        windows: dict[int, list[tuple[int, int]]] = {}
        out: list[int] = []
        for position, (code, rank) in enumerate(zip(codes.tolist(), ranks.tolist(), strict=True)):
            window = windows.setdefault(code, [])
            # as in all sliding windows of Streams, a tuple leaves before the new one enters
            if len(window) == size:
                out.append(heapq.heappop(window)[1])
            heapq.heappush(window, (rank, position))
        leaving = np.array(out, np.int64)
        self.waiting.remove(places[leaving[leaving < len(places)]])
        stays = np.ones(together.num_rows, bool)
        stays[leaving] = False
        stays[: len(places)] = False
        new = together.filter(pa.array(stays))
        self._wait(new, codes[stays])
        self._submit(together.take(pa.array(leaving)), sort=False)
        self._give_up(evicted)

    def held(self) -> int | None:
        """Return the least event time of a waiting tuple in ticks; None if none waits."""
        return least_time(self.waiting.take(self.waiting.places()), self._operator.context.event_time)

    def on_mark(self, mark: Punctuation) -> None:
        """Close `punct` windows at a marker. At the end, submit waiting tuples unless `atEnd` drops them, and clear."""
        if mark is Punctuation.FINAL:
            if self.window.tumbling:
                if self._operator.parameters.at_end == "submit":
                    self._close(self.tumbling.close(), mark=False)
            else:
                self._submit(self.waiting.take(self.waiting.places()), sort=True)
            self.tumbling.clear()
            self.waiting.clear()
            if self.eviction is not None:
                self.eviction.clear()
            self.ticks.end()
        elif self.window.eviction.kind == "punct":
            self._close_all()

    def checkpoint(self) -> State:
        """Return the waiting tuples, the open windows, and the next time of the clock."""
        windows = self.tumbling.dump() if self.window.tumbling else {}
        evicting = {} if self.eviction is None else self.eviction.dump()
        return {"waiting": self.waiting, **windows, **evicting, **self.ticks.dump()}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned."""
        self.waiting = state["waiting"]
        if self.window.tumbling:
            self.tumbling.load(state)
        self.ticks.load(state)
        if self.eviction is not None:
            self.eviction.load(state)
            numbers = self.waiting.take(self.waiting.places(), [_WINDOW]).column(0).to_pylist()
            self.eviction.recall(self.tumbling.held() if self.window.tumbling else ((each, 0) for each in numbers))

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Raise AssertionError, since windows cannot be divided."""
        message = "windows cannot be divided"
        raise AssertionError(message)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return nothing: a channel holds its windows, whatever their partitions."""
        return ()
