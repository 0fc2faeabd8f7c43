"""The parameters of Sort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.operators.event_time.clause import EventTimeOrder, parse_event_time_window
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.standard.aggregation.parameters import PaneWindow
from streams_orchestration.operators.windows.clause import BY_CLOCK, TimeSource, check_clock, parse_window

Order = Literal["ascending", "descending"]


class SortParameters(ExpressionParameters):
    """The parameters of `Sort`."""

    window: str = Field(
        default="tumbling, punct()",
        description=(
            "Window clause. A sliding window must be a count. Panes of event time are sorted when they fire. eventTime "
            "submits tuples in order of event time once the watermark has passed them."
        ),
    )
    sort_by: list[ExpressionText] = Field(
        default_factory=list,
        alias="sortBy",
        description="List of expressions in order of precedence; needed unless the window is eventTime.",
    )
    order: Order | list[Order] = Field(
        default="ascending", description="ascending or descending, for all sort keys or for each."
    )
    partition_by: list[ExpressionText] = Field(
        default_factory=list, alias="partitionBy", description="Attributes whose values each have their own window."
    )
    time_attribute: str | None = Field(
        default=None, alias="timeAttribute", description="Timestamp attribute by which time(...) windows are ordered."
    )
    by: TimeSource = Field(default="tuples", description=BY_CLOCK)
    output: dict[str, ExpressionText] = Field(
        default_factory=dict, description="Maps an attribute to an expression. Other attributes keep their values."
    )
    at_end: Literal["submit", "drop"] = Field(
        default="submit",
        alias="atEnd",
        description=(
            "Tumbling windows that are open when the stream ends: submit or drop them. Sliding windows are submitted."
        ),
    )

    def _faults(self) -> Iterator[str]:
        if isinstance(self.order, list) and len(self.order) != len(self.sort_by):
            yield (
                f"order: {len(self.order)} entries for {len(self.sort_by)} expressions; write one entry for all, or "
                "one for each"
            )
        if self.by_time:
            yield from self._faults_of_event_time()
            return
        if not self.sort_by:
            yield "the parameter sortBy is missing; only the window eventTime does not need it"
        if panes := self.panes:
            yield from self._faults_of_panes(panes)
            return
        window = parse_window(self.window)
        if not window.tumbling and window.eviction.kind != "count":
            yield "window: a sliding window of Sort must be a count: sliding, count(100)"
        check_clock(self.by, self.time_attribute, [window])
        if bool(self.partition_by) != window.partitioned:
            yield "window: partitioned and partitionBy require each other; give both or neither"

    @property
    def by_time(self) -> bool:
        """True if tuples are sorted by event time, False if windows are sorted."""
        return isinstance(parse_event_time_window(self.window), EventTimeOrder)

    @property
    def panes(self) -> PaneWindow | None:
        """The window if its panes are completed by a watermark; None for other windows."""
        window = parse_event_time_window(self.window)
        return None if isinstance(window, EventTimeOrder) else window

    @property
    def window_attributes(self) -> list[str]:
        """The attributes that a window's policies use, such as `timeAttribute`; none for event time."""
        if self.by_time or self.panes:
            return []
        attributes = (self.time_attribute, parse_window(self.window).eviction.attribute)
        return [each for each in attributes if each is not None]

    def _faults_of_panes(self, panes: PaneWindow) -> Iterator[str]:
        if bool(self.partition_by) != panes.partitioned:
            yield "window: partitioned and partitionBy require each other; give both or neither"
        for name, given, reason in (
            ("timeAttribute", self.time_attribute, "whose attribute eventTime names"),
            ("by: clock", self.by == "clock", "whose panes the watermark completes"),
            ("atEnd: drop", self.at_end == "drop", "whose panes all fire at the stream's end"),
        ):
            if given:
                yield f"{name} cannot be combined with a window of event time, {reason}"

    def _faults_of_event_time(self) -> Iterator[str]:
        for name, given in (
            ("partitionBy", self.partition_by),
            ("timeAttribute", self.time_attribute),
            ("by: clock", self.by == "clock"),
        ):
            if given:
                yield (
                    f"{name} cannot be combined with the window eventTime, which sorts the whole stream by event time"
                )
        if "order" in self.model_fields_set and not self.sort_by:
            yield "order needs sortBy; without it, tuples are in ascending order of event time"
