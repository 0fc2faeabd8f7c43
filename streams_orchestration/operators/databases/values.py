"""Converts column values to attributes, and values of the growing column to JSON for an offset."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.formats.checks import utf8_fault
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name

CutValue = int | str | dict[str, str]
"""A value of the growing column as JSON."""


class Misfit(NamedTuple):
    """A value that does not fit its attribute."""

    row: int
    reason: str


def cut_value(value: Any) -> CutValue:
    """Return a value of the growing column as JSON.

    Raises:
        ValueError: values of this type have no usable order.
    """
    match value:
        case bool() | float() | bytes():
            pass
        case int() | str():
            return value
        case Decimal():
            return {"decimal": str(value)}
        case datetime.datetime():
            return {"timestamp": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case uuid.UUID():
            return str(value)
        case _:
            pass
    message = f"its values are {type(value).__name__}; a growing column holds integers, decimals, texts, dates or times"
    raise ValueError(message)


def value_of(cut: CutValue | None) -> Any:
    """Invert `cut_value`: return the value of a stored cut; None for None."""
    if not isinstance(cut, dict):
        return cut
    ((kind, text),) = cut.items()
    read: dict[str, Callable[[str], Any]] = {
        "decimal": Decimal,
        "timestamp": datetime.datetime.fromisoformat,
        "date": datetime.date.fromisoformat,
    }
    return read[kind](text)


def age_of(value: Any, now: datetime.datetime) -> float | None:
    """Return the seconds from a time to `now`, or None if the value is not a time. Without a zone it is in UTC."""
    if not isinstance(value, datetime.datetime):
        return None
    return (now - (value if value.tzinfo else value.replace(tzinfo=datetime.UTC))).total_seconds()


def attribute_values(values: Sequence[Any], kind: pa.DataType) -> tuple[pa.Array, list[Misfit]]:
    """Convert a column to an Arrow array, with null for misfits, and list the misfits."""
    convert = _converter(kind)
    converted: list[Any] = []
    misfits: list[Misfit] = []
    for row, value in enumerate(values):
        try:
            converted.append(None if value is None else convert(value))
        except (ValueError, TypeError, InvalidOperation, OverflowError):
            converted.append(None)
            misfits.append(_misfit(row, value, kind))
    try:
        return pa.array(converted, kind), misfits
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        for row, value in enumerate(converted):
            try:
                pa.scalar(value, kind)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                converted[row] = None
                misfits.append(_misfit(row, values[row], kind))
        return pa.array(converted, kind), sorted(misfits)


def _misfit(row: int, value: Any, kind: pa.DataType) -> Misfit:
    if pa.types.is_string(kind) and isinstance(value, bytes) and (reason := utf8_fault(value)):
        return Misfit(row, reason)
    return Misfit(row, f"{shortened(repr(value))} is not a valid {type_name(kind)}")


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    types = pa.types
    if types.is_boolean(kind):
        return _boolean
    if types.is_integer(kind):
        return _integer
    if types.is_floating(kind):
        return _real
    if types.is_string(kind):
        return _text
    if types.is_date(kind):
        return _date
    if types.is_timestamp(kind):
        return _aware if kind.tz else _naive
    if types.is_decimal(kind):
        return _decimal
    return _bytes


def _boolean(value: Any) -> bool:
    """Convert 0 and 1, also as a byte, to a Boolean, since MariaDB and SQLite store Booleans as numbers."""
    if isinstance(value, bytes) and len(value) == 1:
        value = value[0]
    return bool(value) if isinstance(value, int) and value in (0, 1) else _refuse()


def _integer(value: Any) -> int:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else _refuse()


def _real(value: Any) -> float:
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else _refuse()


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, str | uuid.UUID) else _refuse()


def _date(value: Any) -> datetime.date:
    """Return a date unchanged, and convert a text to a date, since SQLite stores dates as texts."""
    if isinstance(value, datetime.datetime):
        return _refuse()
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)


def _time(value: Any) -> datetime.datetime:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(value)


def _aware(value: Any) -> datetime.datetime:
    """Convert a time, a date or a text to an aware time. Without a zone it is taken as UTC, the zone of the session."""
    time = _time(value)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _naive(value: Any) -> datetime.datetime:
    time = _time(value)
    return time.astimezone(datetime.UTC).replace(tzinfo=None) if time.tzinfo else time


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return _refuse()
    return Decimal(repr(value) if isinstance(value, float) else value)


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else _refuse()


def _refuse() -> Any:
    raise ValueError
