"""Values as the texts that a cast to a string gives."""

from __future__ import annotations

import ctypes
import datetime as dt
import decimal
import functools
import math
from collections.abc import Callable
from typing import Any

from streams_orchestration.expressions.times import (
    DAY,
    write_date,
    write_timestamp,
)
from streams_orchestration.expressions.types import Type


def single(value: float) -> float:
    """Round a number to the nearest 32-bit float, which is an infinity for a number that is too large."""
    return ctypes.c_float(value).value


@functools.lru_cache(maxsize=4096)
def writer(source: Type, zone: dt.tzinfo) -> Callable[[Any], str]:
    """Return the function that writes values of a type as texts, as Spark does; bytes beyond UTF-8 become U+FFFD."""
    match source.name:
        case "boolean":
            return lambda value: "true" if value else "false"
        case "float" | "double":
            return lambda value: write_floating(value, source)
        case "decimal":
            return lambda value: format(value, "f")
        case "date":
            return write_date
        case "timestamp":
            return lambda value: write_timestamp(value, zone)
        case "timestamp_ntz":
            return lambda value: write_timestamp(value, None)
        case "binary":
            return lambda value: value.decode(errors="replace")
        case "array" | "struct" | "map":
            return _nested_writer(source, zone)
        case _ if source.is_interval:
            return functools.partial(_write_interval, source)
        case _:
            return str


def _nested_writer(source: Type, zone: dt.tzinfo) -> Callable[[Any], str]:
    each = [writer(part, zone) for part in source.parts]

    def text(write: Callable[[Any], str], value: Any) -> str:
        return "null" if value is None else write(value)

    if source.name == "array":
        return lambda value: f"[{', '.join(text(each[0], part) for part in value)}]"
    if source.name == "map":
        return lambda value: (
            f"{{{', '.join(f'{text(each[0], key)} -> {text(each[1], item)}' for key, item in value.items())}}}"
        )
    return lambda value: f"{{{', '.join(text(write, part) for write, part in zip(each, value, strict=True))}}}"


def write_floating(value: float, source: Type) -> str:
    """Write a number as Java does: with a decimal point, and with an exponent below 0.001 or from 10 million on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = decimal.Decimal(_shortest(value, source)).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    mark = "-" if sign else ""
    if -3 < point <= 7:
        whole = written[: max(point, 0)].ljust(point, "0") or "0"
        rest = written[max(point, 0) :]
        return f"{mark}{whole}.{'0' * -min(point, 0)}{rest or '0'}"
    return f"{mark}{written[0]}.{written[1:] or '0'}E{point - 1}"


def _shortest(value: float, source: Type) -> str:
    """Return the shortest digits that identify a number among all numbers of its floating-point type."""
    if source.name == "double":
        return repr(value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if single(float(text)) == value:
            return text
    return repr(value)


def _write_interval(source: Type, value: int) -> str:
    sign, amount = "-" if value < 0 else "", abs(value)
    if source.name == "interval year to month":
        return f"INTERVAL '{sign}{amount // 12}-{amount % 12}' YEAR TO MONTH"
    if source.name == "interval day":
        return f"INTERVAL '{sign}{amount // DAY}' DAY"
    days, rest = divmod(amount, DAY)
    clock = write_timestamp(rest, None)[11:]
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"
