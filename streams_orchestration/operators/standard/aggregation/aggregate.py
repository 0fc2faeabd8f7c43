"""Aggregate: summarises the tuples of windows by groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter
from streams_orchestration.operators.inputs.key_columns import KeyColumns, has_expressions
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.aggregate_columns import compile_aggregate
from streams_orchestration.operators.standard.aggregation.event_time_groups import (
    EventTimeGroups,
    GroupsOfPanes,
    keeps_panes,
    needed_role,
)
from streams_orchestration.operators.standard.aggregation.group_results import GroupResults
from streams_orchestration.operators.standard.aggregation.parameters import AggregateParameters, aggregate_window
from streams_orchestration.operators.standard.aggregation.window_groups import WindowGroups
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding, names_in
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import Window


class Aggregate(ClockOperator):
    """Submits a tuple for each group, in order of appearance, then a marker, when a window closes or is triggered.

    The state holds the running values of tumbling windows and of panes, and the tuples of sliding windows. Values are
    added in order of arrival, so a replay with other batch boundaries gives bit-identical results. Only with `by:
    clock`, the time of a batch closes or triggers windows of a time; a window without tuples gives a marker then.

    The application stops with a DataError if lists of a group differ in size, or a key, a compared value or an event
    time is missing, and with `onError: fail` if any tuple or group has no value.
    """

    Parameters = AggregateParameters
    clock_by_choice = True
    naming_parameters = NamingParameters(
        inputs=("group_by", "partition_by", "window_attributes"), expressions=("output",)
    )
    stateful = True
    free_parameters = frozenset(("aggregate_incomplete_windows", "aggregate_evicted_partitions", "at_end", "on_error"))

    @classmethod
    def state_attributes(cls, parameters: AggregateParameters) -> Collection[str] | None:
        """Return the attributes that tumbling windows or panes use; None for sliding windows, `takeLast`, and SPL.

        Raises:
            ExpressionError: an output function is not an expression.
        """
        window = aggregate_window(parameters.window)
        keys = (*parameters.group_by, *parameters.partition_by)
        if any(isinstance(each, SplText) for each in (*parameters.output.values(), *keys)):
            return None
        if parameters.take_last or (isinstance(window, Window) and not window.tumbling):
            return None
        attributes = [*keys, *parameters.window_attributes]
        return names_in(*map(name_token, attributes), *parameters.output.values())

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: AggregateParameters) -> Sharding:
        """Return whether and by which keys the state can be divided among channels.

        Partitions are divided by their keys, unless these are expressions, or windows count or give up partitions
        within a channel. Windows that punctuation or the clock closes, and windows of event time without partitions,
        can be divided in any way. Any other window without partitions cannot be divided.
        """
        window, keys = aggregate_window(parameters.window), tuple(parameters.partition_by)
        if has_expressions(keys):
            return Sharding(refusal="is windows partitioned by expressions; by attributes, they could be divided")
        if not isinstance(window, Window):
            return Sharding(keys=(keys,)) if keys else Sharding(anyhow=True)
        eviction = (window.by_clock() if parameters.by == "clock" else window).eviction
        given_up = "" if window.partitions is None else window.partitions.kind
        if given_up in ("partitionCount", "tupleCount") or (given_up and eviction.closes_all):
            return Sharding(
                refusal=f"is partitions of one channel, which {given_up}(...) counts or evicts within the channel"
            )
        if eviction.closes_all:
            return Sharding(anyhow=True)
        if not keys:
            return Sharding(
                refusal="is one window over all tuples of a channel; windows of partitions could be divided"
            )
        return Sharding(keys=(keys,))

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
    def check(cls, context: OperatorContext, parameters: AggregateParameters) -> None:
        """Raise ValueError if the window, a key, an attribute, a function or an output port does not fit."""
        columns = KeyColumns(context, by_clock=parameters.by == "clock")
        parameters = parameters.keyed(columns)
        compile_aggregate(columns.context, parameters)

    def setup(self) -> None:
        """Compile window and functions, and add columns for keys."""
        self.columns = KeyColumns(self.context, by_clock=self.parameters.by == "clock")
        self.parameters = self.parameters.keyed(self.columns)
        self.context.inputs = self.columns.inputs
        compiled = compile_aggregate(self.context, self.parameters)
        self.failure_filter = FailureFilter(
            self, [each for one in compiled.measures.values() for each in one.expressions]
        )
        partition = self.parameters.partition_by
        names = list(dict.fromkeys([*partition, *self.parameters.group_by]))
        keys = pa.schema([self.context.inputs[0].field(name) for name in names])
        window = compiled.window
        self.results = results = GroupResults(self, self.failure_filter, compiled.columns)
        self.groups: WindowGroups | EventTimeGroups
        if isinstance(window, Window):
            self.heeds_marks = window.eviction.kind == "punct"
            partitions = pa.schema([keys.field(name) for name in partition])
            self.groups = WindowGroups(self, window, keys, partitions, compiled.measures, results)
            return
        role = needed_role(self.context, self.parameters.window)
        panes = GroupsOfPanes(
            window, self.parameters.refinement, keys, partition, compiled.measures, compiled.functions
        )
        self.groups = EventTimeGroups(self, role, panes, results)
        self.keeps_places = True
        self.heeds_marks = False

    def on_time(self) -> None:
        """Close or trigger windows by the clock, submit their results, and evict old tuples; only with `by: clock`."""
        self.groups.on_time()

    def wake(self) -> float | None:
        """Return the next unix time at which the clock closes or triggers windows; None for never or before a batch."""
        return self.groups.wake

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add tuples to windows, submit those that are due, set failed tuples aside; see the class for DataErrors."""
        batch = self.columns.extended(port, batch)
        tuples, failures = self.failure_filter.split(batch) if len(batch) else (Evaluated(batch), {})
        self.groups.process(tuples)
        self.results.set_aside(batch.arrow, failures)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close `punct` windows at a mark. At the final mark, submit windows without markers, and forget all.

        These are tumbling ones with `aggregateIncompleteWindows`, and `punct` ones unless `atEnd` is `drop`.
        """
        self.groups.on_mark(mark)

    def checkpoint(self) -> State:
        """Return windows with groups or tuples, partitions, the next time of the clock, and the count of `columns`."""
        return {**self.groups.checkpoint(), **self.columns.dump()}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned. Raises StateError if its ticks are of another event time."""
        self.columns.load(state)
        self.groups.restore(state)

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the states among new replicas: partitions with windows, or groups of windows that marks close."""
        states = [state for state in states if state]
        if not states:
            return [{}] * route.width
        return [{**each, **KeyColumns.latest(states)} for each in self.groups.rescale(states, route)]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys; none without state or partitions, or if a mark or the clock closes all windows."""
        return self.groups.keys_of(state)
