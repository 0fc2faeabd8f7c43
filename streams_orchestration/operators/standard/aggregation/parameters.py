"""The parameters of Aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.operators.event_time.clause import (
    CalendarWindow,
    EventTimeOrder,
    IntervalWindow,
    SessionWindow,
    parse_event_time_window,
)
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.inputs.key_columns import KeyColumns
from streams_orchestration.operators.standard.aggregation.streams_functions import Functions
from streams_orchestration.operators.windows.clause import BY_CLOCK, TimeSource, Window, check_clock, parse_window

PaneWindow = IntervalWindow | SessionWindow | CalendarWindow
"""A window of event time whose panes a watermark completes."""


def aggregate_window(text: str) -> Window | PaneWindow:
    """Parse the window of an Aggregate.

    Raises:
        ValueError: the text is not a window, or is the clause `eventTime` of a Sort.
    """
    window = parse_event_time_window(text)
    if isinstance(window, EventTimeOrder):
        message = f"{text!r} is a window of Sort; an Aggregate needs a window with panes, such as timeInterval"
        raise ValueError(message)
    return parse_window(text) if window is None else window


class AggregateParameters(ExpressionParameters):
    """The parameters of `Aggregate`."""

    window: str = Field(examples=["tumbling, punct()"], description="Window clause, such as tumbling, punct().")
    group_by: list[ExpressionText] = Field(
        default_factory=list, alias="groupBy", description="Attributes whose values form a group."
    )
    partition_by: list[ExpressionText] = Field(
        default_factory=list, alias="partitionBy", description="Attributes whose values each have their own window."
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an output function such as Average(e). Other attributes come from groupBy "
            "and partitionBy."
        ),
    )
    time_attribute: str | None = Field(
        default=None, alias="timeAttribute", description="Timestamp attribute by which time(...) windows are ordered."
    )
    by: TimeSource = Field(default="tuples", description=BY_CLOCK)
    functions: Functions = Field(
        default="spark",
        description=(
            "System whose output functions are used. streams: results have the type of the argument, integers wrap "
            "around, means of integers are truncated, counts are int, and of several tuples with the extreme value "
            "the first one is taken."
        ),
    )
    take_last: bool = Field(
        default=False,
        alias="takeLast",
        description="Take each attribute without a function from the last tuple of the group, by its name.",
    )
    aggregate_incomplete_windows: bool | None = Field(
        default=None,
        alias="aggregateIncompleteWindows",
        description=(
            "Tumbling windows: also submit windows that the end of the stream cuts off; false by default. Sliding "
            "windows: also submit a window that was never full before; true by default."
        ),
    )
    at_end: Literal["submit", "drop"] = Field(
        default="submit",
        alias="atEnd",
        description="drop: at the end of the stream, drop punct() windows that no marker has closed.",
    )
    aggregate_evicted_partitions: bool = Field(
        default=False,
        alias="aggregateEvictedPartitions",
        description="Also submit tumbling windows of partitions that are evicted.",
    )

    refinement: Literal["accumulating", "discarding", "retracting"] = Field(
        default="accumulating",
        description=(
            "Content of a further firing of a pane: all its tuples, only the tuples since the last firing, or all its "
            "tuples after retractions of the earlier results."
        ),
    )

    def _faults(self) -> Iterator[str]:
        window = aggregate_window(self.window)
        if window.partitioned != bool(self.partition_by):
            yield "partitionBy and a window that is 'partitioned' require each other; give both or neither"
        if not isinstance(window, Window):
            yield from self._faults_of_event_time()
            return
        check_clock(self.by, self.time_attribute, [window])
        if self.refinement != "accumulating":
            yield (
                f"refinement: {self.refinement} is for windows of event time, which fire more than once; leave it out"
            )
        if self.at_end == "drop" and self.aggregate_incomplete_windows and window.tumbling:
            yield "aggregateIncompleteWindows: true submits windows at the end, but atEnd: drop drops them"
        if self.aggregate_evicted_partitions and not (window.tumbling and window.partitions):
            yield (
                "aggregateEvictedPartitions is for tumbling windows whose partitions are evicted, as in 'tumbling, "
                "count(10), partitioned, partitionCount(1000)'"
            )

    def keyed(self, columns: KeyColumns) -> AggregateParameters:
        """Add columns for key expressions of groups and partitions; return the parameters with names in their place.

        If values of `groupBy` may equal no key, as NaN in SPL, `groupBy` gets a further column that tells them apart.

        Raises:
            FaultyExpressionError: an expression is faulty, and errors are not being gathered.
        """
        named = columns.named(self, {"group_by": 0, "partition_by": 0})
        apart = columns.tell_apart(0, "groupBy")
        return named.model_copy(update={"group_by": [*named.group_by, *apart]}) if apart else named

    @property
    def window_attributes(self) -> list[str]:
        """The attributes that a window's policies use, such as `timeAttribute`; none for event time."""
        window = aggregate_window(self.window)
        if not isinstance(window, Window):
            return []
        attributes = (self.time_attribute, window.eviction.attribute, window.trigger.attribute)
        return [each for each in attributes if each is not None]

    @property
    def full_only(self) -> bool:
        """True if sliding windows are submitted only once they have been full."""
        return self.aggregate_incomplete_windows is False

    def _faults_of_event_time(self) -> Iterator[str]:
        if self.time_attribute is not None:
            yield (
                "timeAttribute cannot be combined with a window of event time; the annotation eventTime names the "
                "attribute"
            )
        for name, given in (
            ("by: clock", self.by == "clock"),
            ("aggregateIncompleteWindows", self.aggregate_incomplete_windows),
            ("aggregateEvictedPartitions", self.aggregate_evicted_partitions),
            ("atEnd: drop", self.at_end == "drop"),
        ):
            if given:
                yield (
                    f"{name} cannot be combined with a window of event time, whose panes all fire at the stream's end"
                )
