"""Conversions between values of other systems and attributes, composed once per schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from streams_orchestration.operators.formats.checks import utf8_fault

Convert = Callable[[Any], Any] | None
"""Converts a non-null value; None means that no conversion is needed."""


class UnfitError(ValueError):
    """Values of one type cannot be converted to another type."""


def converted(value: Any, convert: Convert) -> Any:
    """Convert a value; null stays null."""
    return value if convert is None or value is None else convert(value)


def of_list(convert: Convert) -> Convert:
    """Return the function that converts a list by applying `convert` to each element; None if `convert` is None."""
    return None if convert is None else lambda values: [converted(value, convert) for value in values]


def of_map(convert: Convert) -> Convert:
    """Return a function that converts a dictionary to Arrow's list of pairs for maps, its values by `convert`."""
    return lambda values: [(key, converted(value, convert)) for key, value in values.items()]


def of_pairs(convert: Convert) -> Convert:
    """Return a function that converts Arrow's list of pairs to a dictionary, its values by `convert`."""
    return lambda pairs: {key: converted(value, convert) for key, value in pairs}


def of_record(converts: Mapping[str, Convert]) -> Convert:
    """Return the function that converts a dictionary by field, with `converts` by name. Missing fields become None."""
    return lambda row: {name: converted(row.get(name), convert) for name, convert in converts.items()}


def utf8(value: bytes) -> str:
    """Decode bytes as UTF-8.

    Raises:
        ValueError: the bytes are not UTF-8.
    """
    if reason := utf8_fault(value):
        raise ValueError(reason)
    return value.decode()


def without_zone(moment: datetime) -> datetime:
    """Convert a time with a zone to UTC, and remove the zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)
