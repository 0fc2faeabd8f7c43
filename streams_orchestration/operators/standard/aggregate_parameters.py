"""Parameters of Aggregate."""

from __future__ import annotations

from pydantic import Field, model_validator

from streams_orchestration.operators.failed_tuples import ExpressionParameters
from streams_orchestration.operators.windows.clause import parse_window


class AggregateParameters(ExpressionParameters):
    """Parameters of `Aggregate`."""

    window: str = Field(examples=["tumbling, punct()"], description="the window clause: tumbling, punct()")
    group_by: list[str] = Field(default_factory=list, alias="groupBy", description="attributes that make a group")
    partition_by: list[str] = Field(
        default_factory=list, alias="partitionBy", description="attributes whose every value has a window of its own"
    )
    output: dict[str, str] = Field(
        default_factory=dict,
        description="attribute -> an output function, as Average(e); others come from groupBy, partitionBy",
    )
    time_attribute: str | None = Field(
        default=None, alias="timeAttribute", description="the timestamp that time(...) windows go by"
    )
    aggregate_incomplete_windows: bool = Field(
        default=False, alias="aggregateIncompleteWindows", description="tumbling windows that the end cuts off, too"
    )

    aggregate_evicted_partitions: bool = Field(
        default=False,
        alias="aggregateEvictedPartitions",
        description="tumbling windows of partitions that are given up, too",
    )

    @model_validator(mode="after")
    def _go_together(self) -> AggregateParameters:
        window = parse_window(self.window)
        if window.partitioned != bool(self.partition_by):
            message = "partitionBy and a window that is 'partitioned' go together"
            raise ValueError(message)
        if self.aggregate_incomplete_windows and not window.tumbling:
            message = "aggregateIncompleteWindows goes with tumbling windows only"
            raise ValueError(message)
        if self.aggregate_evicted_partitions and not (window.tumbling and window.partitions):
            message = (
                "aggregateEvictedPartitions goes with tumbling windows whose partitions are given up, "
                "as in 'tumbling, count(10), partitioned, partitionCount(1000)'"
            )
            raise ValueError(message)
        return self
