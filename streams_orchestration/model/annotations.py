"""The annotations of an invocation: parallel, consistent, autonomous, threading, atomic, eventTime."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from streams_orchestration.model.containers import is_list
from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.names import nearest
from streams_orchestration.model.values import Boolean, Flag, Integer, Number, Text, is_reference, show

SPARK = "spark"
"""The width that leaves the partitioning of a Spark query to Spark."""


def _attribute_list(value: Any) -> Any:
    if not is_list(value) or not value or not all(isinstance(entry, str) for entry in value):
        refuse("CDISP0829E", "a list of attribute names is expected")
    return value


def _host_tags(value: Any) -> Any:
    if not is_list(value) or not all(isinstance(entry, str) for entry in value):
        refuse("CDISP0826E", "a list of host tags is expected")
    return value


class PartitionBy(Element):
    """Hash routing of one input port of a region over some attributes, in this order (rules 17, 20)."""

    port: Text
    attributes: Annotated[tuple[Text, ...], BeforeValidator(_attribute_list)]


class Parallel(Element):
    """The `parallel` annotation: a region of `width` replicas (rules 3, 7, 17).

    Ports that are not mentioned are routed round robin. With the width `spark` there is no region: the Spark query
    stays one operator, and Spark partitions its tuples.
    """

    width: Integer | Literal["spark"]
    partition_by: tuple[PartitionBy, ...] = ()
    broadcast: tuple[Text, ...] = ()
    replicate_host_tags: Annotated[tuple[Text, ...], BeforeValidator(_host_tags)] = ()

    @field_validator("width", mode="before")
    @classmethod
    def _check_width(cls, value: Any) -> Any:
        if is_reference(value) or value == SPARK:
            return value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
            what = (
                "the width is an int32 of at least 1, or ${name}, not {found}; a Spark query may have the width spark"
            )
            refuse("CDISP0821E", what, found=show(value))
        return value

    @model_validator(mode="after")
    def _check_spark(self) -> Self:
        if self.width == SPARK:
            options = {
                "partitionBy": self.partition_by,
                "broadcast": self.broadcast,
                "replicateHostTags": self.replicate_host_tags,
            }
            if named := [name for name, value in options.items() if value]:
                refuse("SO0216", f"with the width spark there are no channels, and so no {' or '.join(named)}")
        return self

    @field_validator("partition_by", mode="before")
    @classmethod
    def _check_partitions(cls, value: Any) -> Any:
        if not is_list(value) or not value:
            refuse("CDISP0822E", "a list of entries {port, attributes} is expected")
        return value


class Restart(Element):
    """The key `restart`: retries of a region after an outside failure, such as a missing service.

    Times are in seconds.
    """

    pause: Number | None = None
    limit: Number | None = None


class Consistent(Element):
    """The `consistent` annotation: the region that starts here is drained, checkpointed and reset as one (A1).

    Times are in seconds.
    """

    trigger: Literal["periodic", "operatorDriven"]
    period: Number | None = None
    drain_timeout: Number | None = None
    reset_timeout: Number | None = None
    max_consecutive_reset_attempts: Integer | None = None
    restart: Restart | None = None

    @field_validator("trigger", mode="before")
    @classmethod
    def _literal_trigger(cls, value: Any) -> Any:
        if is_reference(value):
            refuse("CDISP0678E", "the trigger must be written in the spec, not taken from a value")
        return value


class ThreadingAnnotation(Element):
    """The `threading` annotation: the threading model of a composite (rule 67)."""

    model: Literal["manual", "automatic", "dynamic", "dedicated"]
    threads: Integer | None = None
    elastic: Boolean | None = None


EventTimeResolution = Literal["Milliseconds", "Microseconds", "Nanoseconds"]


class EventTimeSettings(Element):
    """The `eventTime` annotation: watermarks of this operator's output streams begin here (EV1-EV4).

    Times are in seconds.
    """

    event_time_attribute: Annotated[Text, Field(min_length=1)]
    """The event-time attribute of the output tuples; `a.b` names the field b of the struct a."""
    resolution: EventTimeResolution | None = None
    """The unit of an event-time attribute of type bigint; None means the default of the attribute's type."""
    lag: Number = 0.0
    minimum_gap: Number = 0.1
    """The least distance between two watermarks (EV18)."""
    idle_after: Number | None = None
    """The time without a tuple after which a source or a partition is idle (EV51); None means never."""
    max_ahead: Number | None = None
    """The distance from the watermark beyond which a time is suspect (EV53); None means no guard."""
    confirmations: Integer | None = None
    """The number of suspect times in a row that move the watermark (EV53); None means 3."""
    ahead_of: Annotated[Text, Field(min_length=1)] | None = None
    """The attribute from which `max_ahead` is measured instead of from the watermark (EV53); None for the watermark."""
    on_null: Literal["fail", "ignore"] = "fail"
    """The treatment of tuples without a time (EV54)."""
    max_drift: Number | None = None
    """The seconds ahead of the graph's least watermark beyond which a source is not read (EV65); None for no limit."""

    @field_validator("resolution", mode="before")
    @classmethod
    def _check_resolution(cls, value: Any) -> Any:
        if value is not None and value not in get_args(EventTimeResolution):
            what = "the resolution is Milliseconds, Microseconds or Nanoseconds, not {found}{near}"
            near = nearest(value, get_args(EventTimeResolution)) if isinstance(value, str) else ""
            refuse("CDISP0867E", what, found=show(value), near=near)
        return value

    @field_validator("idle_after", "max_ahead", "confirmations", "max_drift", "on_null", "ahead_of", mode="before")
    @classmethod
    def _literal(cls, value: Any) -> Any:
        if is_reference(value):
            refuse("CDISP0678E", "only lag and minimumGap may be taken from a submission-time value, not this key")
        return value

    @field_validator("lag", "minimum_gap")
    @classmethod
    def _not_negative(cls, value: float | str) -> float | str:
        if isinstance(value, float) and value < 0:
            refuse("SO0401", "{value} is below zero", value=f"{value:g}")
        return value

    @field_validator("idle_after", "max_ahead", "confirmations", "max_drift")
    @classmethod
    def _positive(cls, value: float | int | None) -> float | int | None:
        if value is not None and value <= 0:
            refuse("SO0401", "{value} is not above zero", value=f"{value:g}")
        return value


_MAPPINGS = frozenset(("parallel", "consistent", "threading", "eventTime"))


class Annotations(Element):
    """All annotations of one invocation or composite definition."""

    parallel: Parallel | None = None
    consistent: Consistent | None = None
    autonomous: Flag = False
    threading: ThreadingAnnotation | None = None
    event_time: EventTimeSettings | None = None
    atomic: Annotated[Text, Field(min_length=1)] | None = None
    """A tag; decoupling never puts operators with the same tag into different PEs. None for no such group."""

    @classmethod
    def _without_empty_keys(cls, data: Any) -> Any:
        """Keep an annotation without a value as an empty one, so that its missing keys are reported (A6)."""
        if isinstance(data, LocatedMapping) and None in data.values():
            empty: dict[str, Any] = {}
            return {key: empty if value is None and key in _MAPPINGS else value for key, value in data.items()}
        return super()._without_empty_keys(data)
