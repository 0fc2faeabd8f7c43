"""Explains why a value does not fit an attribute's type, and suggests an accepted form."""

from __future__ import annotations

import csv
import functools
from decimal import Decimal, InvalidOperation

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.checks import utf8_fault
from streams_orchestration.operators.formats.csv_dialect import NULL_TEXTS
from streams_orchestration.operators.formats.texts import values_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name, whole_range


@functools.lru_cache(maxsize=65_536)
def text_misfit(text: str, kind: pa.DataType, null_texts: tuple[str, ...] = NULL_TEXTS) -> str:
    """Return why a CSV text is not a value of a type; empty if it is.

    Args:
        text: the text; bytes that are not UTF-8 are escaped as by `surrogateescape`.
        kind: the type of the attribute.
        null_texts: texts that mean null, which fit every type.
    """
    if reason := utf8_fault(text.encode(errors="surrogateescape")):
        return reason
    if pa.types.is_string(kind) or text in null_texts or is_read(text, kind):
        return ""
    return f"{shortened(repr(text))} is not a valid {type_name(kind)}{form_of(text, kind)}"


def csv_fault(error: csv.Error) -> str:
    """Return why a text is not a CSV row, from the error of Python's `csv`."""
    return "a quote is not closed" if "end of data" in str(error) else f"it is not a row of CSV: {error}"


def is_read(text: str, kind: pa.DataType) -> bool:
    """Return True if a text can be read as a value of a type."""
    try:
        values_of(pa.array([text], pa.string()), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError):
        return False
    return True


def form_of(text: str, kind: pa.DataType) -> str:
    """Return a hint about the accepted form of a value, starting with a colon; empty if the type is hint enough."""
    types = pa.types
    if types.is_boolean(kind):
        return ": write true or false"
    if types.is_date(kind):
        return ": write it as 2024-01-31"
    if types.is_binary(kind):
        return ": write it in base64, as aGVsbG8="
    if (types.is_integer(kind) or types.is_floating(kind)) and _is_number(text):
        return _range_of(text, kind)
    if types.is_decimal(kind) and _is_number(text):
        return (
            f": it has at most {kind.precision - kind.scale} digits before the decimal point and {kind.scale} after it"
        )
    if not types.is_timestamp(kind):
        return ""
    if kind.tz is None:
        if is_read(text, pa.timestamp(kind.unit, "UTC")):
            return ": it has a time zone. Leave the zone out, or declare the attribute as timestamp"
        return ": write it as 2024-01-31T12:00:00"
    if not is_read(text, pa.timestamp(kind.unit)):
        return ": write it as 2024-01-31T12:00:00Z"
    time = "" if ":" in text or "T" in text else "T00:00:00"
    return f": it has no time zone. Write {text.strip()}{time}Z, or declare the attribute as timestamp_ntz"


def _range_of(text: str, kind: pa.DataType) -> str:
    """Return a hint that a number is out of the type's range; empty if it is a fraction within the range."""
    number = Decimal(text.strip())
    if pa.types.is_floating(kind):
        return ": it is out of range"
    least, most = whole_range(kind)
    return "" if least <= number <= most else f": it is out of the range {least} to {most}"


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False
