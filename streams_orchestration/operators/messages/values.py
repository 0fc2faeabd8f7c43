"""Conversions of another system's values to attributes: functions that are composed once per schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from streams_orchestration.operators.formats.checks import utf8_fault

Convert = Callable[[Any], Any] | None
"""Converts a value that is not null; None if nothing changes."""


class UnfitError(ValueError):
    """Values of a type cannot become values of another one."""


def converted(value: Any, convert: Convert) -> Any:
    """Return a value, which may be null."""
    return value if convert is None or value is None else convert(value)


def of_list(convert: Convert) -> Convert:
    """Return the conversion of a list, from that of its elements."""
    return None if convert is None else lambda values: [converted(value, convert) for value in values]


def of_map(convert: Convert) -> Convert:
    """Return the conversion of a dict to Arrow's pairs."""
    return lambda values: [(key, converted(value, convert)) for key, value in values.items()]


def of_pairs(convert: Convert) -> Convert:
    """Return the conversion of Arrow's pairs to a dict."""
    return lambda pairs: {key: converted(value, convert) for key, value in pairs}


def of_record(converts: Mapping[str, Convert]) -> Convert:
    """Return the conversion of a dict that may lack some names."""
    return lambda row: {name: converted(row.get(name), convert) for name, convert in converts.items()}


def utf8(value: bytes) -> str:
    """Decode bytes as UTF-8.

    Raises:
        ValueError: they are none.
    """
    if reason := utf8_fault(value):
        raise ValueError(reason)
    return value.decode()


def without_zone(moment: datetime) -> datetime:
    """Return a moment as UTC has it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
