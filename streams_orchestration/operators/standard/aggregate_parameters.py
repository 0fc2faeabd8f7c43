"""The parameters of Aggregate."""

from __future__ import annotations

from pydantic import Field, model_validator

from streams_orchestration.operators.failed_tuples import ExpressionParameters
from streams_orchestration.operators.windows.clause import parse_window


class AggregateParameters(ExpressionParameters):
    """The parameters of `Aggregate`."""

    window: str = Field(examples=["tumbling, punct()"], description="Window clause, such as tumbling, punct().")
    group_by: list[str] = Field(
        default_factory=list, alias="groupBy", description="Attributes whose values form a group."
    )
    partition_by: list[str] = Field(
        default_factory=list, alias="partitionBy", description="Attributes whose values each have their own window."
    )
    output: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an output function such as Average(e). Other attributes come from groupBy "
            "and partitionBy."
        ),
    )
    time_attribute: str | None = Field(
        default=None, alias="timeAttribute", description="Timestamp attribute by which time(...) windows are ordered."
    )
    aggregate_incomplete_windows: bool = Field(
        default=False,
        alias="aggregateIncompleteWindows",
        description="Also submit tumbling windows that the end of the stream cuts off.",
    )

    aggregate_evicted_partitions: bool = Field(
        default=False,
        alias="aggregateEvictedPartitions",
        description="Also submit tumbling windows of partitions that are evicted.",
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
