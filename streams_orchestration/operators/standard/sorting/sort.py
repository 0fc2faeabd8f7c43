"""Sort: sorts the tuples of a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import unknown_attribute
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import evaluate, parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.inputs.event_time import LATE_PORT, check_late_port
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, check_failure_port, own_outputs
from streams_orchestration.operators.inputs.key_columns import (
    KeyColumns,
    attributes_in,
    has_expressions,
)
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.event_time_groups import keeps_panes
from streams_orchestration.operators.standard.sorting.sort_by_arrival import WindowOrder
from streams_orchestration.operators.standard.sorting.sort_by_pane import PaneOrder
from streams_orchestration.operators.standard.sorting.sort_by_time import TimeOrder
from streams_orchestration.operators.standard.sorting.sort_parameters import Order, SortParameters
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import ARRIVAL, Window, parse_window


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
    clock_by_choice = True
    naming_parameters = NamingParameters(
        inputs=("partition_by", "window_attributes"), expressions=("sort_by", "output")
    )
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
    def check(cls, context: OperatorContext, parameters: SortParameters) -> None:
        """Raise ValueError if the window, a key, an attribute, an expression or an output port does not fit."""
        columns = KeyColumns(context, by_clock=parameters.by == "clock")
        parameters = columns.named(parameters, {"partition_by": 0})
        cls._compile(columns.context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: SortParameters) -> tuple[Window | None, list[Any], Assignments]:
        """Return the window, the sort keys and the output; no window for event time or for panes of a window.

        Report attributes of `partitionBy` that do not exist, and a port for late tuples that none can reach.
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
        """Compile window and expressions, add columns for keys, and begin without tuples."""
        self.columns = KeyColumns(self.context, by_clock=self.parameters.by == "clock")
        self.parameters = self.columns.named(self.parameters, {"partition_by": 0})
        self.context.inputs = self.columns.inputs
        window, self.keys, self.assignments = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [*self.keys, *self.assignments.expressions])
        order: Order | list[Order] = self.parameters.order
        orders = order if isinstance(order, list) else [order] * len(self.keys)
        self.orders = [(str(position), each) for position, each in enumerate(orders)]
        self.waiting: WindowOrder | TimeOrder | PaneOrder
        """The tuples that wait: in windows, or in event-time order or in panes of event time."""
        if panes := self.parameters.panes:
            self.waiting = PaneOrder(self, panes, self.parameters.partition_by, self._ranks)
        elif window is None:
            divides = len(own_outputs(self.context, self.parameters)) > LATE_PORT
            self.waiting = TimeOrder(self, self._ranks if self.keys else None, divides=divides)
            self.keeps_places = True
        else:
            self.waiting = WindowOrder(self, window, self.parameters.partition_by, self._ranks, self._submit)

    def on_time(self) -> None:
        """Close and submit all windows if the clock has reached their time."""
        if isinstance(self.waiting, WindowOrder):
            self.waiting.on_time()

    def wake(self) -> float | None:
        """Return the next unix time at which the clock closes windows; None before the first batch, or for never."""
        return self.waiting.ticks.wake if isinstance(self.waiting, WindowOrder) else None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add the tuples to their windows, submit the tuples that are due, and set failed tuples aside.

        Raises DataError for a missing key, compared value or event time, and with `onError: fail` for any expression.
        """
        passed_tuples = self.failure_filter(self.columns.extended(port, batch))
        # a tuple without a value fails here: if it waited, the application would never continue
        for expression in self.failure_filter.expressions:
            passed_tuples.value(expression)
        match self.waiting:
            case TimeOrder() as timed:
                timed.process(passed_tuples.batch, lambda passed: self.submit(self.assignments.of(Evaluated(passed))))
            case PaneOrder() as panes:
                panes.add(passed_tuples.batch)
            case windows:
                windows.add(passed_tuples.arrow)

    def _submit(self, tuples: pa.RecordBatch) -> None:
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

    def held(self) -> int | None:
        """Return the least event time of a waiting tuple in ticks; None if none waits."""
        return self.waiting.held()

    def on_watermark(self, watermark: int) -> None:
        """Submit the panes that fire, each in order and followed by a marker."""
        if isinstance(self.waiting, PaneOrder):
            self.waiting.reach(watermark, self._submit_pane)

    def _submit_pane(self, tuples: pa.RecordBatch) -> None:
        self._submit(tuples)
        self.punctuate(Punctuation.WINDOW)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close `punct` windows at a marker. At the end, submit waiting tuples unless `atEnd` drops them, and clear.

        Windows of event time have submitted their tuples by then: the greatest watermark comes before the final mark.
        """
        if isinstance(self.waiting, WindowOrder):
            self.waiting.on_mark(mark)

    def checkpoint(self) -> State:
        """Return the waiting tuples, the open windows, and the next time of the clock; in event time, the watermark."""
        return self.waiting.checkpoint()

    def restore(self, state: State) -> None:
        """Restore the waiting tuples and the open windows; see `TimeOrder.restore` and `PaneOrder.restore`."""
        self.waiting.restore(state)

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the waiting tuples by their channels. Only windows of event time can be divided."""
        return self.waiting.rescale([state for state in states if state], route)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the waiting tuples, or their partitions in panes; none for windows by order of arrival."""
        return self.waiting.keys_of(state)
