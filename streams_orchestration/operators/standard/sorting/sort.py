"""Sort: sorts the tuples of a window."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import unknown_attribute
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.event_time.times import least_time
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import evaluate, parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.inputs.event_time import LATE_PORT, check_late_port
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, check_failure_port, own_outputs
from streams_orchestration.operators.inputs.key_columns import (
    KeyColumns,
    attributes_in,
    expressions_of,
    has_expressions,
    names_of,
)
from streams_orchestration.operators.keys.comparison import distinct, key_batch
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.event_time_groups import keeps_panes
from streams_orchestration.operators.standard.sorting.sort_by_pane import PaneOrder
from streams_orchestration.operators.standard.sorting.sort_by_time import TimeOrder
from streams_orchestration.operators.standard.sorting.sort_parameters import Order, SortParameters
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import ARRIVAL, Window, parse_window
from streams_orchestration.operators.windows.clock import Ticks, nanoseconds
from streams_orchestration.operators.windows.partition_eviction import PartitionEviction, number_keys
from streams_orchestration.operators.windows.tumbling import TumblingWindows

_WINDOW = "@window"
"""The column of a waiting tuple with the number of its tumbling window, or of its partition if partitions are evicted.

No attribute can have this name.
"""


class Sort(ClockOperator):
    """Sorts windows. A tumbling window is submitted in order when it closes, followed by a window marker.

    With `by: clock`, the clock closes the windows of all partitions; without tuples there is a marker alone then.

    When a tuple arrives at a full sliding window, the first tuple in sort order is submitted. At the end of the stream
    all waiting tuples are submitted. Equal tuples keep their order of arrival; nulls are last.

    With a window of event time, such as timeInterval, the tuples of each firing of a pane are submitted in order,
    followed by a window marker. No watermark passes the tuples of panes that are not complete.

    With the window `eventTime`, tuples are submitted in order of event time once the watermark has passed them; tuples
    of one time are in the order of `sortBy`. A tuple behind the watermark goes to output port 1 if that is connected.
    """

    Parameters = SortParameters
    stateful = True
    free_parameters = frozenset(("on_error", "at_end", "output"))

    @classmethod
    def keeps_state(cls, before: SortParameters, after: SortParameters) -> bool:
        """Return True if tuples are sorted by event time before and after, or if only `free_parameters` differ.

        Panes with the same `partitionBy` stay valid as `keeps_panes` says, whatever else differs.
        """
        if before.by_time and after.by_time:
            return True
        if (old := before.panes) and (new := after.panes):
            return before.partition_by == after.partition_by and keeps_panes(old, "accumulating", new, "accumulating")
        return super().keeps_state(before, after)

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: SortParameters) -> Sharding:
        """Return a refusal, except for windows of event time whose partitions, if any, are by attributes alone."""
        if parameters.panes and has_expressions(parameters.partition_by):
            return Sharding(refusal="is windows partitioned by expressions; by attributes, they could be divided")
        if parameters.panes and parameters.partition_by:
            return Sharding(keys=(tuple(parameters.partition_by),))
        if parameters.by_time or parameters.panes:
            return Sharding(anyhow=True)
        return Sharding(refusal="is tuples that wait in the windows of one channel")

    @classmethod
    def mentions(cls, parameters: SortParameters) -> Mentions:
        """Return the attributes of the expressions, the partitions and the window."""
        expressions = [*parameters.sort_by, *expressions_of(parameters.partition_by)]
        outputs = Mentions.of(output=parameters.output)
        expressions += outputs.expressions
        if parameters.by_time:
            return outputs._replace(expressions=expressions)
        attributes: tuple[str | None, ...] = ()
        if not parameters.panes:
            attributes = (parameters.time_attribute, parse_window(parameters.window).eviction.attribute)
        inputs = [*names_of(parameters.partition_by), *(each for each in attributes if each is not None)]
        return outputs._replace(inputs=inputs, expressions=expressions)

    @classmethod
    def goes_by_clock(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True for `by: clock`."""
        return parameters.get("by") == "clock"

    @classmethod
    def check(cls, context: OperatorContext, parameters: SortParameters) -> None:
        """Raise ValueError if the window, a key, an attribute, an expression or an output port does not fit."""
        columns = KeyColumns(context, by_clock=parameters.by == "clock")
        parameters = columns.named(parameters, {"partition_by": 0})
        cls._compile(columns.context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: SortParameters) -> tuple[Window | None, list[Any], Assignments]:
        """Return the window, the sort keys and the output; no window for event time or for panes of a window.

        Report attributes of `partitionBy` that do not exist, and a port for late tuples that none can reach.

        Raises:
            ValueError: the window, an attribute or a port does not fit, or a value of `sortBy` cannot be ordered.
        """
        source, by_time = context.inputs[0], parameters.by_time
        check_failure_port(context, parameters, source)
        unless = None if by_time or parameters.panes else "only a window of event time finds late tuples"
        check_late_port(context, LATE_PORT, len(own_outputs(context, parameters)), unless)
        for name in parameters.partition_by:
            if name not in source.names:
                report(unknown_attribute("partitionBy", name, source.names))
        keys = [parse_expression(text, source, "sortBy", context.zone).ordered() for text in parameters.sort_by]
        for text, key in zip(parameters.sort_by, keys, strict=True):
            kind = key.arrow_type
            if pa.types.is_nested(kind):
                message = f"{text} is {type_name(kind)}, which cannot be ordered"
                key.refuse(message)
        assignments = Assignments(
            parameters.output, source, context.outputs[0] or attributes_in(source), context.zone, context.required_at()
        )
        if by_time or parameters.panes:
            return None, keys, assignments
        window = parse_window(parameters.window)
        if parameters.by == "clock":
            return window.by_clock().resolved(source, ARRIVAL), keys, assignments
        return window.resolved(source, parameters.time_attribute), keys, assignments

    def setup(self) -> None:
        """Compile window and expressions, add columns for keys, and begin without tuples.

        Raises:
            ValueError: the window, a key, an attribute or an expression does not fit; or with event time the operator
                is in no event-time graph (SO0806), or the stream lacks the event-time attribute.
        """
        self.columns = KeyColumns(self.context, by_clock=self.parameters.by == "clock")
        self.parameters = self.columns.named(self.parameters, {"partition_by": 0})
        self.context.inputs = self.columns.inputs
        window, self.keys, self.assignments = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [*self.keys, *self.assignments.expressions])
        order: Order | list[Order] = self.parameters.order
        orders = order if isinstance(order, list) else [order] * len(self.keys)
        self.ticks = Ticks()
        """The times at which the clock closes windows."""
        self.orders = [(str(position), each) for position, each in enumerate(orders)]
        self.timed: TimeOrder | None = None
        """The tuples that wait to be sorted by event time; None if windows are sorted."""
        self.panes: PaneOrder | None = None
        """The tuples that wait in panes of event time; None for other windows."""
        if panes := self.parameters.panes:
            self.panes = PaneOrder(self, panes, self.parameters.partition_by, self._ranks)
            return
        if window is None:
            divides = len(own_outputs(self.context, self.parameters)) > LATE_PORT
            self.timed = TimeOrder(self, self._ranks if self.keys else None, divides=divides)
            self.keeps_places = True
            return
        self.window = window
        self.ticks = window.eviction.ticks
        source, eviction = self.context.inputs[0], window.eviction
        types = [source.field(name).type for name in self.parameters.partition_by]
        policy = window.partitions
        self.eviction = None if policy is None else PartitionEviction(policy, window, types)
        if self.eviction is not None:
            types = [pa.int64()]
        self.tumbling = TumblingWindows(eviction, types, eviction.value_type(source))
        self.waiting = TupleLog(pa.schema([*source, pa.field(_WINDOW, pa.int64())]))

    def reset_to_initial_state(self) -> None:
        """Drop all waiting tuples, and forget windows, watermark and the times of the clock."""
        if (timely := self.timed or self.panes) is not None:
            timely.clear()
            return
        self.tumbling.clear()
        self.waiting.clear()
        self.ticks.clear()
        if self.eviction is not None:
            self.eviction.clear()

    def on_time(self) -> None:
        """Close and submit all windows if the clock has reached their time."""
        if self.ticks.reached(self.context.now) is not None:
            self._close_all()

    def wake(self) -> float | None:
        """Return the next unix time at which the clock closes windows; None before the first batch, or for never."""
        return self.ticks.wake

    def _close_all(self) -> None:
        """Submit all windows, or only a marker without any; by the clock, first evict partitions that are too old."""
        if self.eviction is not None:
            if self.parameters.by == "clock":
                self._give_up(self.eviction.expire(nanoseconds(self.context.now)))
            self.eviction.emptied()
        closed = self.tumbling.close()
        self._close(closed)
        if not len(closed):
            self.punctuate(Punctuation.WINDOW)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add the tuples to their windows, submit the tuples that are due, and set failed tuples aside.

        Raises DataError for a missing key, compared value or event time, and with `onError: fail` for any expression.
        """
        passed_tuples = self.failure_filter(self.columns.extended(port, batch))
        # a tuple without a value fails here: if it waited, the application would never continue
        for expression in self.failure_filter.expressions:
            passed_tuples.value(expression)
        if self.timed is not None:
            self.timed.process(passed_tuples.batch, lambda passed: self.submit(self.assignments.of(Evaluated(passed))))
            return
        if self.panes is not None:
            self.panes.add(passed_tuples.batch)
            return
        tuples = passed_tuples.arrow
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
        columns = [tuples.column(name) for name in self.parameters.partition_by]
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
                self.punctuate(Punctuation.WINDOW)
        self.waiting.remove(places[np.isin(numbers, windows)])

    def _submit(self, tuples: pa.RecordBatch, *, sort: bool) -> None:
        if sort:
            tuples = tuples.take(self._sorted(tuples))
        self.submit(self.assignments.apply(tuples.select(self.context.inputs[0].names)))

    def _sorted(self, tuples: pa.RecordBatch) -> pa.Array:
        """Return the positions of the tuples in sort order."""
        columns = {str(position): evaluate(key, tuples) for position, key in enumerate(self.keys)}
        return pc.sort_indices(pa.table(columns), sort_keys=self.orders)

    def _ranks(self, tuples: pa.RecordBatch) -> np.ndarray:
        """Return the position of each tuple in sort order."""
        ranks = np.empty(tuples.num_rows, np.int64)
        ranks[self._sorted(tuples).to_numpy()] = np.arange(tuples.num_rows)
        return ranks

    def _slide(self, tuples: pa.RecordBatch, size: int) -> None:
        """Add tuples to sliding windows, and submit the first tuple in order for each one added to a full window."""
        places = self.waiting.places()
        waiting = self.waiting.take(places)
        held = waiting.select(self.context.inputs[0].names)
        together = pa.concat_batches([held, tuples])
        ranks = self._ranks(together)
        evicted = np.zeros(0, np.int64)
        if self.eviction is None:
            columns = [together.column(name) for name in self.parameters.partition_by]
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
        if self.timed is not None:
            return self.timed.least_time()
        if self.panes is not None:
            return self.panes.held()
        return least_time(self.waiting.take(self.waiting.places()), self.context.event_time)

    def on_watermark(self, watermark: int) -> None:
        """Submit the panes that fire, each in order and followed by a marker."""
        if self.panes is not None:
            self.panes.reach(watermark, self._submit_pane)

    def _submit_pane(self, tuples: pa.RecordBatch) -> None:
        self._submit(tuples, sort=False)
        self.punctuate(Punctuation.WINDOW)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close `punct` windows at a marker. At the end, submit waiting tuples unless `atEnd` drops them, and clear."""
        if self.timed is not None or self.panes is not None:  # the greatest watermark comes in front of the final mark
            return
        if mark is Punctuation.FINAL:
            if self.window.tumbling:
                if self.parameters.at_end == "submit":
                    self._close(self.tumbling.close(), mark=False)
            else:
                self._submit(self.waiting.take(self.waiting.places()), sort=True)
            self.reset_to_initial_state()
            self.ticks.end()
        elif self.window.eviction.kind == "punct":
            self._close_all()

    def checkpoint(self) -> State:
        """Return the waiting tuples, the open windows, and the next time of the clock; in event time, the watermark."""
        if (timely := self.timed or self.panes) is not None:
            return timely.checkpoint()
        windows = self.tumbling.dump() if self.window.tumbling else {}
        evicting = {} if self.eviction is None else self.eviction.dump()
        return {"waiting": self.waiting, **windows, **evicting, **self.ticks.dump()}

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and the open windows; see `TimeOrder.restore` and `PaneOrder.restore`."""
        if (timely := self.timed or self.panes) is not None:
            timely.restore(state)
            return
        self.waiting = state["waiting"]
        if self.window.tumbling:
            self.tumbling.load(state)
        self.ticks.load(state)
        if self.eviction is not None:
            self.eviction.load(state)
            numbers = self.waiting.take(self.waiting.places(), [_WINDOW]).column(0).to_pylist()
            self.eviction.recall(self.tumbling.held() if self.window.tumbling else ((each, 0) for each in numbers))

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the waiting tuples by their channels. Only windows of event time can be divided."""
        timely = self.timed or self.panes
        assert timely is not None, "windows cannot be divided"
        return timely.rescale([state for state in states if state], route)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the waiting tuples, or their partitions in panes; none for windows by order of arrival."""
        timely = self.timed or self.panes
        return [] if timely is None else timely.keys_of(state)
