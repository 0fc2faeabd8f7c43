"""Says why a value is not of an attribute's type, with a form of it that is accepted."""

from __future__ import annotations

import csv
import functools
import json
from decimal import Decimal, InvalidOperation
from typing import Any

from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.libraries import pa, pa_csv

_SHOWN = 80
"""Characters that are shown of a value."""


@functools.lru_cache(maxsize=65_536)
def text_misfit(text: str, kind: pa.DataType) -> str:
    """Return why a text of CSV is not of a type; empty if it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{text.encode(errors='surrogateescape')!r} is not UTF-8 text"
    if pa.types.is_string(kind) or text in pa_csv.ConvertOptions().null_values or _is_read(text, kind):
        return ""
    return f"{_short(repr(text))} is no {type_name(kind)}{_form(text, kind)}"


def csv_fault(error: csv.Error) -> str:
    """Return why a text is no row of CSV at all."""
    return "a quote is not closed" if "end of data" in str(error) else f"it is no row of CSV: {error}"


def json_misfit(value: Any, kind: pa.DataType) -> str:
    """Say of a JSON value that was refused for a type that it is none."""
    if not isinstance(value, str):
        return f"{_short(json.dumps(value, ensure_ascii=False))} is no {type_name(kind)}"
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    form = ": write it without quotes" if plain and _is_read(value, kind) else _form(value, kind)
    return f"{_short(repr(value))} is no {type_name(kind)}{form}"


def _is_read(text: str, kind: pa.DataType) -> bool:
    try:
        pa.scalar(text.strip()).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _form(text: str, kind: pa.DataType) -> str:
    """Return a form that is accepted in place of a text; empty where the type says it."""
    types = pa.types
    if types.is_boolean(kind):
        return ": write true or false"
    if types.is_date(kind):
        return ": write it as 2024-01-31"
    if types.is_decimal(kind) and _is_number(text):
        return f": it has at most {kind.precision - kind.scale} digits before the point and {kind.scale} behind it"
    if not types.is_timestamp(kind):
        return ""
    if kind.tz is None:
        if _is_read(text, pa.timestamp(kind.unit, "UTC")):
            return ": it has a time zone. Leave that out, or declare the attribute as timestamp"
        return ": write it as 2024-01-31T12:00:00"
    if not _is_read(text, pa.timestamp(kind.unit)):
        return ": write it as 2024-01-31T12:00:00Z"
    time = "" if ":" in text or "T" in text else "T00:00:00"
    return f": it has no time zone. Write {text.strip()}{time}Z, or declare the attribute as timestamp_ntz"


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
