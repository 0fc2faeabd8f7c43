"""The parameters of Join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.evaluation import Condition
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.inputs.key_columns import KeyColumns
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.windows.clause import (
    ARRIVAL,
    BY_CLOCK,
    TimeSource,
    Window,
    check_clock,
    parse_window,
)

SIDES = ("LHS", "RHS")
Bound = Annotated[float, Field(allow_inf_nan=False)]
"""A number of seconds."""


class JoinParameters(ExpressionParameters):
    """The parameters of `Join`."""

    window: str | list[str] | None = Field(
        default=None,
        description="Sliding window clause for both streams, or a list with one for each; needed without within. "
        "count(0) makes the join one-sided.",
    )
    within: list[Bound] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description=(
            "Least and greatest difference in seconds of event time: the time of a tuple of port 1 minus the time of "
            "its partner. It replaces window."
        ),
    )
    discard_age: float = Field(
        default=0.0,
        ge=0,
        alias="discardAge",
        allow_inf_nan=False,
        description="Seconds before the watermark from which on a tuple is dropped; needs within.",
    )
    equality_lhs: list[ExpressionText] = Field(
        default_factory=list,
        alias="equalityLHS",
        description="Attributes of port 0 that are compared with the attributes in equalityRHS.",
    )
    equality_rhs: list[ExpressionText] = Field(
        default_factory=list,
        alias="equalityRHS",
        description="Attributes of port 1 that are compared with the attributes in equalityLHS.",
    )
    match: Condition | None = Field(default=None, description="A further condition that a pair must meet.")
    algorithm: Literal["inner", "leftOuter", "rightOuter", "outer"] = Field(
        default="inner",
        description=(
            "outer: a tuple that never matched is submitted when it leaves its window. `absent` says which values the "
            "other side gets. With further output ports it is sent unjoined, to port 1 (left) or the last port (right)."
        ),
    )
    partition_by_lhs: list[ExpressionText] = Field(
        default_factory=list,
        alias="partitionByLHS",
        description="Attributes of port 0 whose values each have their own window; needs partitioned windows.",
    )
    partition_by_rhs: list[ExpressionText] = Field(
        default_factory=list,
        alias="partitionByRHS",
        description="Attributes of port 1 whose values each have their own window; needs partitioned windows.",
    )
    absent: Literal["nulls", "defaults"] = Field(
        default="nulls",
        description=(
            "Attributes of the side that is missing in an outer join: null, or 0, false, empty or the start of 1970."
        ),
    )
    default_tuple_lhs: dict[str, Any] = Field(
        default_factory=dict,
        alias="defaultTupleLHS",
        description="Maps attributes of port 0 to constant expressions, in place of absent.",
    )
    default_tuple_rhs: dict[str, Any] = Field(
        default_factory=dict,
        alias="defaultTupleRHS",
        description="Maps attributes of port 1 to constant expressions, in place of absent.",
    )
    window_markers: bool = Field(
        default=False,
        alias="windowMarkers",
        description="Submit a window marker to port 0 after the results there of each tuple that has any.",
    )
    at_end: Literal["submit", "drop"] = Field(
        default="submit",
        alias="atEnd",
        description="Tuples of an outer side that have not matched when both streams end: submit or drop them.",
    )
    by: TimeSource = Field(default="tuples", description=BY_CLOCK)
    output: dict[str, ExpressionText] = Field(
        default_factory=dict, description="Maps an attribute to an expression. Other attributes keep their values."
    )
    time_attribute: str | None = Field(
        default=None,
        alias="timeAttribute",
        description="Timestamp attribute of both streams by which time(...) windows are ordered.",
    )

    def _faults(self) -> Iterator[str]:
        if len(self.equality_lhs) != len(self.equality_rhs):
            yield "equalityLHS and equalityRHS must have the same number of attributes"
        if self.window is not None and self.within is not None:
            yield "window and within exclude each other; give one of them"
        if self.within is not None:
            yield from self._faults_of_event_time(self.within)
            return
        if self.window is None:
            yield "the parameter window is missing; give window, or within for event time"
            return
        if "discard_age" in self.model_fields_set:
            yield "discardAge needs the parameter within"
        clauses = [self.window] * 2 if isinstance(self.window, str) else self.window
        windows = [parse_window(clause, least=0) for clause in clauses]
        if len(windows) != 2:
            yield "a window for each of the two streams is expected"
        triggered = any(
            clause.count("(") > 1 + (window.partitions is not None)
            for clause, window in zip(clauses, windows, strict=True)
        )
        if triggered or any(window.tumbling for window in windows):
            yield "Join needs sliding windows without a trigger, as in 'sliding, count(100)'"
        check_clock(self.by, self.time_attribute, windows)
        for side, window, names in zip(SIDES, windows, self.partitions, strict=True):
            if window.partitioned != bool(names):
                yield (f"partitionBy{side} and a window that is 'partitioned' require each other; give both or neither")

    def keyed(self, columns: KeyColumns) -> JoinParameters:
        """Add columns for the key expressions of both sides, and return the parameters with names in their place.

        Raises:
            FaultyExpressionError: an expression is faulty, and errors are not being gathered.
        """
        return columns.named(self, {"equality_lhs": 0, "equality_rhs": 1, "partition_by_lhs": 0, "partition_by_rhs": 1})

    @property
    def partitions(self) -> tuple[list[str], list[str]]:
        """The attributes of each stream whose values divide it into partitions with their own windows."""
        return self.partition_by_lhs, self.partition_by_rhs

    @property
    def outer(self) -> tuple[bool, bool]:
        """True for each side whose unmatched tuples are submitted."""
        return self.algorithm in ("leftOuter", "outer"), self.algorithm in ("rightOuter", "outer")

    def alone(self, side: int) -> int:
        """Return the output port for unmatched tuples of a side, for a join with ports for them."""
        return 2 if side == 1 and self.algorithm == "outer" else 1

    def _faults_of_event_time(self, within: list[float]) -> Iterator[str]:
        if within[0] > within[1]:
            yield f"within: {within[0]:g} is above {within[1]:g}; the least difference comes first"
        for side, names in zip(SIDES, self.partitions, strict=True):
            if names:
                yield f"partitionBy{side} cannot be combined with within, which has no windows; use equality{side}"
        if self.window_markers or self.at_end != "submit":
            yield f"{'windowMarkers' if self.window_markers else 'atEnd'} is for window, not for within"
        if self.time_attribute is not None or self.by == "clock":
            given = "by: clock" if self.time_attribute is None else "timeAttribute"
            yield f"{given} cannot be combined with within; the annotation eventTime names the attribute"

    def check_equality(self, schemas: Sequence[pa.Schema]) -> None:
        """Check that the streams have the compared attributes, with equal types in pairs.

        Raises:
            UnknownAttributeError: a stream does not have one of its attributes.
            ValueError: two attributes that are compared have different types.
        """
        for side, names, schema in zip(SIDES, (self.equality_lhs, self.equality_rhs), schemas, strict=True):
            check_attributes(f"equality{side}", names, schema.names, "the stream")
        for left, right in zip(self.equality_lhs, self.equality_rhs, strict=True):
            kinds = schemas[0].field(left).type, schemas[1].field(right).type
            if kinds[0] != kinds[1]:
                one, other = map(type_name, kinds)
                message = f"equalityLHS: {left} is {one}, but {right} of the other stream is {other}"
                raise ValueError(message)

    def check_partitions(self, schemas: Sequence[pa.Schema]) -> None:
        """Check that the streams have the attributes of their partitions.

        Raises:
            UnknownAttributeError: a stream does not have one of its attributes.
        """
        for side, names, schema in zip(SIDES, self.partitions, schemas, strict=True):
            check_attributes(f"partitionBy{side}", names, schema.names, "the stream")

    def window_of(self, side: int) -> Window:
        """Return the window of a stream.

        Raises:
            ValueError: there are no windows, since tuples meet by event time.
        """
        if self.window is None:
            message = "Join with within has no window; it pairs tuples by the difference of their times"
            raise ValueError(message)
        return parse_window(self.window if isinstance(self.window, str) else self.window[side], least=0)

    def resolved(self, side: int, schema: pa.Schema) -> Window:
        """Return the window of a stream with its time attributes filled in, checked against the stream.

        Raises:
            ValueError: the time attribute is missing, or its type has no differences.
        """
        window, time = self.window_of(side), ARRIVAL if self.by == "clock" else self.time_attribute
        partitions = window.partitions and window.partitions.resolved(schema, time)
        return replace(window, eviction=window.eviction.resolved(schema, time), partitions=partitions)
