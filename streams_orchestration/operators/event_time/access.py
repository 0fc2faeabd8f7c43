"""Event time as an operator sees it: times of tuples, the watermark, and values of the event-time attribute."""

from __future__ import annotations

import datetime as dt
from typing import Any, Protocol

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import time_type, times_of
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_LEAST, _GREATEST = ((each - _EPOCH) // _MICROSECOND for each in (dt.datetime.min, dt.datetime.max))


class _Context(Protocol):
    inputs: tuple[pa.Schema, ...]
    outputs: tuple[pa.Schema | None, ...]
    watermark: int | None


class EventTime:
    """The event-time attribute and the watermark of one operator. Ticks are whole numbers; see `EventTimeRole`."""

    def __init__(self, role: EventTimeRole, context: _Context) -> None:
        schemas = [context.inputs[port] for port in role.ports] + [context.outputs[port] for port in role.outputs]
        self.attribute = role.attribute
        self.ticks = role.ticks
        """The number of ticks in a second."""
        self.type = next((time_type(schema, role) for schema in schemas if schema is not None), pa.int64())
        """The type of the attribute: a bigint or a timestamp; bigint if no port in the graph has a schema."""
        self._role = role
        self._context = context

    @property
    def watermark(self) -> int | None:
        """The watermark in ticks; None before the first one.

        At the end of all streams it is the greatest value, 2**63 - 1.
        """
        return self._context.watermark

    def times(self, batch: TupleBatch) -> np.ndarray:
        """Return the event times of tuples in ticks.

        Raises:
            DataError: a time is null.
        """
        return times_of(batch.arrow, self._role)

    def to_value(self, ticks: int) -> Any:
        """Return a time in ticks as a value of the attribute's type. The end of all streams becomes the greatest value.

        A time outside of the years 1 to 9999 becomes the first or the last timestamp.
        """
        if self.type == pa.int64():
            return ticks
        if self.type.unit == "ns":
            return pa.scalar(ticks, self.type).as_py()
        shown = _EPOCH + min(max(ticks, _LEAST), _GREATEST) * _MICROSECOND
        return shown if self.type.tz is None else shown.replace(tzinfo=dt.UTC)

    def to_ticks(self, value: Any) -> int:
        """Return a value of the attribute's type in ticks.

        Raises:
            DataError: the value has another type, or is out of range.
        """
        return ticks_of(value, self.type, self.attribute)


def ticks_of(value: Any, kind: pa.DataType, attribute: str) -> int:
    """Return the ticks of a time that has the type of the event-time attribute.

    Raises DataError if the value has another type or is out of range.
    """
    if kind == pa.int64():
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return int(value)
        wanted = "a whole number of 64 bits"
    else:
        naive = kind.tz is None
        wanted = "a datetime without a time zone" if naive else "a datetime with a time zone"
        if isinstance(value, dt.datetime) and (value.tzinfo is None) == naive:
            if kind.unit == "ns":
                try:
                    return pa.scalar(value, kind).cast(pa.int64()).as_py()
                except pa.ArrowInvalid as error:
                    message = f"the time is {value}, but {attribute} is {type_name(kind)}: give one of 1678 to 2261"
                    raise DataError(message) from error
            return (value.replace(tzinfo=None) - (value.utcoffset() or dt.timedelta()) - _EPOCH) // _MICROSECOND
    message = f"the time is {value!r:.60} ({type(value).__name__}), but {attribute} is {type_name(kind)}: give {wanted}"
    raise DataError(message)
