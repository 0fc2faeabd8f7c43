"""The windows of an Aggregate by order of arrival or by the clock, and the groups in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.keys.comparison import canonical, distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.firing_sender import FiringSender
from streams_orchestration.operators.standard.aggregation.group_results import GroupResults
from streams_orchestration.operators.standard.aggregation.number_measure import Measure, WindowCount
from streams_orchestration.operators.standard.aggregation.value_measures import Reached
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import PortKeys, Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import ARRIVAL, Window
from streams_orchestration.operators.windows.clock import earliest, nanoseconds
from streams_orchestration.operators.windows.partition_eviction import Evicted, PartitionEviction, number_keys
from streams_orchestration.operators.windows.ranges import groups_of, whole_windows
from streams_orchestration.operators.windows.rescaling import WindowShape
from streams_orchestration.operators.windows.sliding import Firings, SlidingWindows
from streams_orchestration.operators.windows.tumbling import TumblingWindows

ROWS_AT_ONCE = 1_000_000
"""The number of rows of overlapping sliding windows that are processed together."""


class WindowGroups:
    """The open windows of one Aggregate: running values of tumbling windows, and tuples of sliding ones."""

    def __init__(
        self,
        operator: Operator,
        window: Window,
        keys: pa.Schema,
        partition: pa.Schema,
        measures: Mapping[str, Measure],
        results: GroupResults,
    ) -> None:
        """Start with no windows.

        Args:
            operator: the Aggregate, which submits the results.
            window: the windows.
            keys: the attributes of a group's key, beginning with the attributes of its partition.
            partition: the attributes of a partition.
            measures: the function of each output attribute.
            results: converts groups to tuples.
        """
        self._operator, self._parameters, self._results = operator, operator.parameters, results
        self._sender = FiringSender(operator, placed=False)
        self.window, self.keys, self.partition, self.measures = window, keys, partition, measures
        source, eviction, trigger = operator.context.inputs[0], window.eviction, window.trigger
        self.ticks = trigger.ticks
        """The times at which the clock closes or triggers windows."""
        types, policy = partition.types, window.partitions
        self.eviction = None if policy is None else PartitionEviction(policy, window, types)
        if self.eviction is not None:
            types = [pa.int64()]
        self.tumbling = TumblingWindows(eviction, types, eviction.value_type(source))
        full_only = self._parameters.full_only
        self.sliding = SlidingWindows(eviction, trigger, source, types, self._current_partitions, full_only=full_only)
        running = {f"count {name}": pa.int64() for name in measures}
        running |= {f"value {name}": measure.state_type for name, measure in measures.items()}
        self.groups = KeyedState(key_schema([pa.int64(), *keys.types]), pa.schema(running))
        """Maps (window number, key) to the running values of the measures, for tumbling windows."""

    @property
    def wake(self) -> float | None:
        """The next unix time at which the clock closes or triggers windows; None for never or before a batch."""
        return self.ticks.wake

    def on_time(self) -> None:
        """Close or trigger windows by the clock, submit their results, and evict old tuples; only with `by: clock`."""
        if self._parameters.by != "clock":
            return
        now = self._operator.context.now
        if (reached := self.ticks.reached(now)) is not None:
            self._tick(nanoseconds(reached))
        self._expire(nanoseconds(now))

    def _tick(self, time: int) -> None:
        if self.window.tumbling:
            self._close_all(self._aged(time))
            return
        self.sliding.note_renumbered()
        if self.eviction is not None and len(given_up := self.eviction.expire(time)):
            self.sliding.give_up(number_keys(given_up))
        self._expire(time)
        if self.sliding.fires_empty:
            self._operator.punctuate(Punctuation.WINDOW)
            return
        self._summarise(self.sliding.fire())
        self._set_failed_aside()

    def _aged(self, time: int) -> np.ndarray:
        """Evict partitions that are too old by the clock; return the windows to submit, none unless configured so."""
        if self.eviction is None or self._parameters.by != "clock":
            return np.zeros(0, np.int64)
        lost = self.tumbling.give_up(number_keys(self.eviction.expire(time)))
        return self._with_evicted(lost[:0], lost[:0], lost, np.zeros(len(lost)))[0]

    def _expire(self, time: int) -> None:
        """Evict the tuples that are too old at a time in nanoseconds, from windows that the clock orders."""
        if self.window.eviction.attribute != ARRIVAL:
            return
        if self.sliding.expire(time - self.window.eviction.size) and self.eviction is not None:
            self.eviction.emptied()
            self.eviction.recall(self.sliding.held())

    def process(self, tuples: Evaluated) -> None:
        """Add tuples to windows, and submit those that are due.

        Raises:
            DataError: a key or a compared value is missing, or lists of a group differ in size; or with `onError: fail`
                a group has no value.
        """
        source = tuples.arrow
        keys, codes = self._partitions(source)
        evicted: list[Evicted] = []
        if self.eviction is not None:
            self.sliding.note_renumbered()
            keys, codes, evicted = self.eviction.arrive(keys, codes, source)
        given_up = number_keys(np.array([each.number for each in evicted], np.int64))
        if self.window.tumbling:
            windows, closed, at = self.tumbling.assign(keys, codes, source)
            self._add(windows, tuples)
            if evicted:
                lost = self.tumbling.give_up(given_up)
                closed, at = self._with_evicted(closed, at, lost, np.array([each.at for each in evicted]))
            self._emit(closed, at)
            return
        self._summarise(self.sliding.insert(keys, codes, source))
        if evicted:
            self.sliding.give_up(given_up)

    def _with_evicted(
        self, closed: np.ndarray, at: np.ndarray, windows: np.ndarray, when: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the closed windows with the evicted ones, unless these are to be dropped, and where to submit each."""
        held = windows >= 0
        if not self._parameters.aggregate_evicted_partitions:
            self.groups.delete_rows(self._groups_of(windows[held])[0])
            return closed, at
        at = np.r_[at, when[held]]
        order = np.argsort(at, kind="stable")
        return np.r_[closed, windows[held]][order], at[order]

    def _summarise(self, firings: Firings) -> None:
        """Submit a tuple for each group of each triggered sliding window, and markers; keep failed groups for later."""
        tuples, count = firings.tuples, len(firings.starts)
        if self.keys.names == self.partition.names:
            groups, grouped = whole_windows(firings.starts, firings.ends), tuples
        else:
            codes = distinct([tuples.column(name) for name in self.keys.names], tuples.num_rows)[1]
            groups = groups_of(codes, firings.starts, firings.ends, ROWS_AT_ONCE)
            grouped = tuples.take(pa.array(groups.order))
        rows = pa.array(groups.rows)
        keys = {name: canonical(tuples.column(name).take(rows)) for name in self.keys.names}
        whole = Evaluated(TupleBatch(grouped))
        reached = {name: each.over(whole, groups.starts, groups.ends) for name, each in self.measures.items()}
        self._count_windows(reached, groups.windows)
        result, there = self._results.tuples(keys, reached, firings.at[groups.windows])
        self._send(result, np.bincount(groups.windows[there], minlength=count))

    def _send(self, result: TupleBatch, sizes: np.ndarray) -> None:
        """Submit the tuples of windows, whose numbers of tuples are given, and a marker after each window."""
        self._sender.send(result, sizes, np.zeros(len(sizes), np.int64))

    def _partitions(self, source: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        """Return the distinct partitions of tuples, and for each tuple the index of its partition."""
        columns = [source.column(name) for name in self.partition.names]
        heads, codes = distinct(columns, source.num_rows)
        return key_batch(columns, heads), codes

    def _current_partitions(self, source: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        """Return the result of `_partitions` for tuples already in windows, using the keys that the windows store."""
        keys, codes = self._partitions(source)
        return (keys, codes) if self.eviction is None else (number_keys(self.eviction.numbers_of(keys)), codes)

    def _add(self, windows: np.ndarray, tuples: Evaluated) -> None:
        """Add tuples to the groups of their windows. Raises DataError for a missing value, or unequal lists."""
        columns = [pa.array(windows), *(tuples.arrow.column(name) for name in self.keys.names)]
        heads, codes = distinct(columns, len(windows))
        rows = self.groups.rows_of(key_batch(columns, heads))[codes]
        for name, measure in self.measures.items():
            measure.add(*self._running(name), rows, tuples)

    def _running(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        return self.groups.column(f"count {name}"), self.groups.column(f"value {name}")

    def _groups_of(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the groups in these windows, window by window, and the number of groups per window."""
        rows, order = self.groups.rows(), np.argsort(windows)
        numbers = self.groups.key_column("0")[rows]
        mine = np.isin(numbers, windows)
        ranks = order[np.searchsorted(windows, numbers[mine], sorter=order)]
        return rows[mine][np.argsort(ranks, kind="stable")], np.bincount(ranks, minlength=len(windows))

    def _emit(self, closed: np.ndarray, at: np.ndarray, *, mark: bool = True) -> None:
        """Submit and remove the groups of windows, a marker after each window if `mark`; keep failed groups for later.

        `at` has the position of the tuple that closed each window. Without windows nothing is submitted.
        """
        if not len(closed):
            return
        done, sizes = self._groups_of(closed)
        parts = self.groups.index.keys(done).columns[1:] if self.keys.names else []
        keys = {name: part.combine_chunks() for name, part in zip(self.keys.names, parts, strict=True)}
        reached = {
            name: measure.result(*(column[done] for column in self._running(name)))
            for name, measure in self.measures.items()
        }
        self._count_windows(reached, np.repeat(np.arange(len(sizes)), sizes))
        result, there = self._results.tuples(keys, reached, np.repeat(at, sizes))
        if mark:
            windows = np.repeat(np.arange(len(sizes)), sizes)[there]
            self._send(result, np.bincount(windows, minlength=len(sizes)))
        else:
            self._operator.submit(result)
        if len(done) == len(self.groups):
            self.groups.clear()
        else:
            self.groups.delete_rows(done)

    def _count_windows(self, reached: dict[str, Reached], windows: np.ndarray) -> None:
        """Replace the values of functions that count windows: each group gets the count of its window."""
        for name, measure in self.measures.items():
            if isinstance(measure, WindowCount):
                reached[name] = measure.of_windows(reached[name], windows)

    def on_mark(self, mark: Punctuation) -> None:
        """Close `punct` windows at a mark. At the final mark, submit windows without markers, and forget all.

        These are tumbling ones with `aggregateIncompleteWindows`, and `punct` ones unless `atEnd` is `drop`.
        """
        punctuated = self.window.eviction.kind == "punct"
        if mark is Punctuation.WINDOW and punctuated:
            self._close_all(self._aged(nanoseconds(self._operator.context.now)))
        elif mark is Punctuation.FINAL:
            incomplete = self.window.tumbling and bool(self._parameters.aggregate_incomplete_windows)
            if incomplete or (punctuated and self._parameters.at_end == "submit"):
                self._end_windows(self.tumbling.close(), mark=False)
            self.tumbling.clear()
            self.sliding.clear()
            self.groups.clear()
            if self.eviction is not None:
                self.eviction.clear()
            self.ticks.end()

    def _close_all(self, evicted: Sequence[int] | np.ndarray = ()) -> None:
        """Close all open windows, and submit the evicted and the closed ones, or only a marker if there are none."""
        closed = np.r_[np.array(evicted, np.int64), self.tumbling.close()]
        if self.eviction is not None:
            self.eviction.emptied()
        self._end_windows(closed)
        if not len(closed):
            self._operator.punctuate(Punctuation.WINDOW)

    def _end_windows(self, closed: np.ndarray, *, mark: bool = True) -> None:
        """Submit the groups of windows that a mark or the clock closed, and set failed groups aside."""
        self._emit(closed, np.zeros(len(closed)), mark=mark)
        self._set_failed_aside()

    def _set_failed_aside(self) -> None:
        """Set aside the groups that failed. There are no failed tuples to set aside here."""
        self._results.set_aside(pa.RecordBatch.from_pylist([], schema=self._operator.context.inputs[0]), {})

    def checkpoint(self) -> State:
        """Return windows with groups or tuples, partitions, and the next time of the clock."""
        windows = {"groups": self.groups, **self.tumbling.dump()} if self.window.tumbling else self.sliding.dump()
        evicting = {} if self.eviction is None else self.eviction.dump()
        return windows | self.ticks.dump() | evicting

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned."""
        self.ticks.load(state)
        if self.eviction is not None:
            self.eviction.load(state)
        if self.window.tumbling:
            self.groups = state["groups"]
            self.tumbling.load(state)
        else:
            self.sliding.load(state)
        if self.eviction is not None:
            self.eviction.recall((self.tumbling if self.window.tumbling else self.sliding).held())

    def rescale(self, states: Sequence[State], route: Route) -> list[State]:
        """Divide the states, at least one, among new replicas: partitions, or groups of windows that marks close.

        Raises:
            RescaleError: two states have the same key.
        """
        return [each | earliest(states) for each in self._shape().divide(states, route)]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys; none without state or partitions, or if a mark or the clock closes all windows."""
        keys = self._shape().partition_keys(state) if state else None
        return () if keys is None else (PortKeys(0, keys),)

    def _shape(self) -> WindowShape:
        return WindowShape(
            tuple(self.partition.names),
            tuple(self.keys.names),
            self.window.tumbling,
            marked=self.window.eviction.closes_all,
            given_up=self.eviction is not None,
            merges={name: measure.merge for name, measure in self.measures.items()},
        )
