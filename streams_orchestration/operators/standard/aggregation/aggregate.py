"""Aggregate: summarises the tuples of windows by groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter
from streams_orchestration.operators.inputs.key_columns import KeyColumns, expressions_of, names_of
from streams_orchestration.operators.keys.comparison import canonical, distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.aggregate_columns import compile_aggregate
from streams_orchestration.operators.standard.aggregation.event_time_groups import (
    EventTimeGroups,
    GroupsOfPanes,
    keeps_panes,
    needed_role,
)
from streams_orchestration.operators.standard.aggregation.group_results import GroupResults
from streams_orchestration.operators.standard.aggregation.number_measure import WindowCount
from streams_orchestration.operators.standard.aggregation.parameters import AggregateParameters, aggregate_window
from streams_orchestration.operators.standard.aggregation.value_measures import Reached
from streams_orchestration.operators.standard.aggregation.window_results import submit_windows
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import ARRIVAL, Window
from streams_orchestration.operators.windows.clock import Ticks, earliest, nanoseconds
from streams_orchestration.operators.windows.partition_eviction import Evicted, PartitionEviction, number_keys
from streams_orchestration.operators.windows.ranges import groups_of, whole_windows
from streams_orchestration.operators.windows.rescaling import WindowShape
from streams_orchestration.operators.windows.sliding import Firings, SlidingWindows
from streams_orchestration.operators.windows.tumbling import TumblingWindows

ROWS_AT_ONCE = 1_000_000
"""The number of rows of overlapping sliding windows that are processed together."""


class Aggregate(ClockOperator):
    """Submits a tuple for each group, in order of appearance, then a marker, when a window closes or is triggered.

    The state holds the running values of tumbling windows and of panes, and the tuples of sliding windows. Values are
    added in order of arrival, so a replay with other batch boundaries gives bit-identical results. Only with `by:
    clock`, the time of a batch closes or triggers windows of a time; a window without tuples gives a marker then.

    The application stops with a DataError if lists of a group differ in size, or a key, a compared value or an event
    time is missing, and with `onError: fail` if any tuple or group has no value.
    """

    Parameters = AggregateParameters
    stateful = True
    free_parameters = frozenset(("aggregate_incomplete_windows", "aggregate_evicted_partitions", "at_end", "on_error"))

    @classmethod
    def state_attributes(cls, parameters: AggregateParameters) -> Collection[str] | None:
        """Return the attributes that the state depends on, None for all; see `AggregateParameters.state_attributes`."""
        return parameters.state_attributes()

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: AggregateParameters) -> Sharding:
        """Return the keys by which the state can be divided, or a refusal; see `AggregateParameters.sharding`."""
        return parameters.sharding()

    @classmethod
    def keeps_state(cls, before: AggregateParameters, after: AggregateParameters) -> bool:
        """Return True if only `free_parameters` differ, not `full_only` of sliding windows; see also `keeps_panes`."""
        one, other = aggregate_window(before.window), aggregate_window(after.window)
        if isinstance(one, Window) or isinstance(other, Window):
            same = super().keeps_state(before, after)
            return same and (isinstance(one, Window) and (one.tumbling or before.full_only == after.full_only))
        free = {*cls.free_parameters, "window", "refinement"}
        same = before.model_dump(exclude=free) == after.model_dump(exclude=free)
        return same and keeps_panes(one, before.refinement, other, after.refinement)

    @classmethod
    def mentions(cls, parameters: AggregateParameters) -> Mentions:
        """Return the attributes that groups, windows and functions name, and the output attributes of the functions."""
        found, keys = Mentions.of(output=parameters.output), (parameters.group_by, parameters.partition_by)
        return found._replace(
            inputs=[*names_of(*keys), *parameters.window_attributes()],
            expressions=[*found.expressions, *expressions_of(*keys)],
        )

    @classmethod
    def goes_by_clock(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True for `by: clock`."""
        return parameters.get("by") == "clock"

    @classmethod
    def check(cls, context: OperatorContext, parameters: AggregateParameters) -> None:
        """Raise ValueError if the window, a key, an attribute, a function or an output port does not fit."""
        columns = KeyColumns(context, by_clock=parameters.by == "clock")
        parameters = parameters.keyed(columns)
        compile_aggregate(columns.context, parameters)

    def setup(self) -> None:
        """Compile window and functions, add columns for keys. For ValueErrors see `check` and `EventTimeGroups`."""
        self.columns = KeyColumns(self.context, by_clock=self.parameters.by == "clock")
        self.parameters = self.parameters.keyed(self.columns)
        self.context.inputs = self.columns.inputs
        compiled = compile_aggregate(self.context, self.parameters)
        self.measures = compiled.measures
        self.failure_filter = FailureFilter(self, [each for one in self.measures.values() for each in one.expressions])
        self.results = GroupResults(self, self.failure_filter, compiled.columns)
        partition = self.parameters.partition_by
        names = list(dict.fromkeys([*partition, *self.parameters.group_by]))
        self.keys = pa.schema([self.context.inputs[0].field(name) for name in names])
        self.partition = pa.schema([self.keys.field(name) for name in partition])
        self.ticks = Ticks()
        """The times at which the clock closes or triggers windows."""
        self.timed: EventTimeGroups | None = None
        """The panes of a window of event time; None for other windows."""
        window = compiled.window
        if not isinstance(window, Window):
            role = needed_role(self.context, self.parameters.window)
            groups = GroupsOfPanes(
                window, self.parameters.refinement, self.keys, partition, self.measures, compiled.functions
            )
            self.timed = EventTimeGroups(self, role, groups, self.results)
            self.keeps_places = True
            self.heeds_marks = False
            return
        self.window = window
        self.heeds_marks = window.eviction.kind == "punct"
        source, eviction, trigger = self.context.inputs[0], self.window.eviction, self.window.trigger
        self.ticks = trigger.ticks
        types, policy = self.partition.types, self.window.partitions
        self.eviction = None if policy is None else PartitionEviction(policy, self.window, types)
        if self.eviction is not None:
            types = [pa.int64()]
        self.tumbling = TumblingWindows(eviction, types, eviction.value_type(source))
        full_only = self.parameters.full_only
        self.sliding = SlidingWindows(eviction, trigger, source, types, self._current_partitions, full_only=full_only)
        running = {f"count {name}": pa.int64() for name in self.measures}
        running |= {f"value {name}": measure.state_type for name, measure in self.measures.items()}
        self.groups = KeyedState(key_schema([pa.int64(), *self.keys.types]), pa.schema(running))
        """Maps (window number, key) to the running values of the measures, for tumbling windows."""

    def reset_to_initial_state(self) -> None:
        """Empty all windows, and forget their partitions, the watermark and the times of the clock."""
        if self.timed is not None:
            self.timed.clear()
            return
        self.tumbling.clear()
        self.sliding.clear()
        self.groups.clear()
        if self.eviction is not None:
            self.eviction.clear()
        self.ticks.clear()

    def on_time(self) -> None:
        """Close or trigger windows by the clock, submit their results, and evict old tuples; only with `by: clock`."""
        if self.timed is not None or self.parameters.by != "clock":
            return
        if (reached := self.ticks.reached(self.context.now)) is not None:
            self._tick(nanoseconds(reached))
        self._expire(nanoseconds(self.context.now))

    def wake(self) -> float | None:
        """Return the next unix time at which the clock closes or triggers windows; None for never or before a batch."""
        return self.ticks.wake

    def _tick(self, time: int) -> None:
        if self.window.tumbling:
            self._close_all(self._aged(time))
            return
        self.sliding.note_renumbered()
        if self.eviction is not None and len(given_up := self.eviction.expire(time)):
            self.sliding.give_up(number_keys(given_up))
        self._expire(time)
        if self.sliding.fires_empty:
            self.punctuate(Punctuation.WINDOW)
            return
        self._summarise(self.sliding.fire())
        self._set_failed_aside()

    def _aged(self, time: int) -> np.ndarray:
        """Evict partitions that are too old by the clock; return the windows to submit, none unless configured so."""
        if self.eviction is None or self.parameters.by != "clock":
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

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add tuples to windows, submit those that are due, set failed tuples aside; see the class for DataErrors."""
        batch = self.columns.extended(port, batch)
        tuples, failures = self.failure_filter.split(batch) if len(batch) else (Evaluated(batch), {})
        take_in = self._take_in if self.timed is None else self.timed.process
        take_in(tuples)
        self.results.set_aside(batch.arrow, failures)

    def _take_in(self, tuples: Evaluated) -> None:
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
        if not self.parameters.aggregate_evicted_partitions:
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
        result, there = self.results.tuples(keys, reached, firings.at[groups.windows])
        submit_windows(self, result, np.bincount(groups.windows[there], minlength=count))

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
        result, there = self.results.tuples(keys, reached, np.repeat(at, sizes))
        if mark:
            windows = np.repeat(np.arange(len(sizes)), sizes)[there]
            submit_windows(self, result, np.bincount(windows, minlength=len(sizes)))
        else:
            self.submit(result)
        if len(done) == len(self.groups):
            self.groups.clear()
        else:
            self.groups.delete_rows(done)

    def _count_windows(self, reached: dict[str, Reached], windows: np.ndarray) -> None:
        """Replace the values of functions that count windows: each group gets the count of its window."""
        for name, measure in self.measures.items():
            if isinstance(measure, WindowCount):
                reached[name] = measure.of_windows(reached[name], windows)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close `punct` windows at a mark. At the final mark, submit windows without markers, and forget all.

        These are tumbling ones with `aggregateIncompleteWindows`, and `punct` ones unless `atEnd` is `drop`.
        """
        if self.timed is not None:  # the greatest watermark comes in front of the final mark
            if mark is Punctuation.FINAL:
                self.reset_to_initial_state()
            return
        punctuated = self.window.eviction.kind == "punct"
        if mark is Punctuation.WINDOW and punctuated:
            self._close_all(self._aged(nanoseconds(self.context.now)))
        elif mark is Punctuation.FINAL:
            incomplete = self.window.tumbling and bool(self.parameters.aggregate_incomplete_windows)
            if incomplete or (punctuated and self.parameters.at_end == "submit"):
                self._end_windows(self.tumbling.close(), mark=False)
            self.reset_to_initial_state()
            self.ticks.end()

    def _close_all(self, evicted: Sequence[int] | np.ndarray = ()) -> None:
        """Close all open windows, and submit the evicted and the closed ones, or only a marker if there are none."""
        closed = np.r_[np.array(evicted, np.int64), self.tumbling.close()]
        if self.eviction is not None:
            self.eviction.emptied()
        self._end_windows(closed)
        if not len(closed):
            self.punctuate(Punctuation.WINDOW)

    def _end_windows(self, closed: np.ndarray, *, mark: bool = True) -> None:
        """Submit the groups of windows that a mark or the clock closed, and set failed groups aside."""
        self._emit(closed, np.zeros(len(closed)), mark=mark)
        self._set_failed_aside()

    def _set_failed_aside(self) -> None:
        """Set aside the groups that failed. There are no failed tuples to set aside here."""
        self.results.set_aside(pa.RecordBatch.from_pylist([], schema=self.context.inputs[0]), {})

    def checkpoint(self) -> State:
        """Return windows with groups or tuples, partitions, the next time of the clock, and the count of `columns`."""
        if self.timed is not None:
            return {**self.timed.checkpoint(), **self.columns.dump()}
        windows = {"groups": self.groups, **self.tumbling.dump()} if self.window.tumbling else self.sliding.dump()
        evicting = {} if self.eviction is None else self.eviction.dump()
        return windows | self.ticks.dump() | self.columns.dump() | evicting

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned. Raises StateError if its ticks are of another event time."""
        self.columns.load(state)
        if self.timed is not None:
            self.timed.restore(state)
            return
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

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the states among new replicas: partitions with windows, or groups of windows that marks close."""
        states = [state for state in states if state]
        if self.timed is not None:
            return [{**each, **KeyColumns.latest(states)} for each in self.timed.rescale(states, route)]
        if not states:
            return [{}] * route.width
        return [each | earliest(states) | KeyColumns.latest(states) for each in self._shape().divide(states, route)]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys; none without state or partitions, or if a mark or the clock closes all windows."""
        if self.timed is not None:
            keys = self.timed.groups.partition_keys(state) if state else None
        else:
            keys = self._shape().partition_keys(state) if state else None
        return () if keys is None else (PortKeys(0, keys),)

    def _shape(self) -> WindowShape:
        return WindowShape(
            tuple(self.partition.names), tuple(self.keys.names), self.window.tumbling,
            marked=self.window.eviction.closes_all, given_up=self.eviction is not None,
            merges={name: measure.merge for name, measure in self.measures.items()},
        )  # fmt: skip
