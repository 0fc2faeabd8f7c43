"""Conversions of whole batches by Arrow, with the same results as `conversion`."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from streams_orchestration.expressions.arrow import arrow_type
from streams_orchestration.expressions.kernel import Kernel, Unsuitable, numbers, pc
from streams_orchestration.expressions.moment_kernels import by_numpy, with_plain_dates
from streams_orchestration.expressions.times import DAY, UTC
from streams_orchestration.expressions.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type


def conversion_kernel(source: Type, target: Type, zone: dt.tzinfo) -> Kernel | None:
    """Return the kernel of a conversion; None if values must be converted one by one.

    The kernel raises `Unsuitable` or ArrowInvalid for a batch that must be converted so after all.
    """
    if source == target:
        return lambda value: value
    if source.name == "void" or source.is_nested:
        return None
    arrow = arrow_type(target)
    if source.name == "string":
        return _of_texts(target, arrow, zone)
    if target == STRING:
        return _to_text(source)
    if source.is_numeric and target.is_numeric:
        return _of_numbers(source, target, arrow)
    if source.name == "boolean" and target.is_numeric and not target.is_decimal:
        return lambda value: value.cast(pa.int8()).cast(arrow)
    if target.is_datetime and source.is_datetime:
        return _of_moments(source, target, arrow, zone)
    if source == TIMESTAMP and target == BIGINT:
        return lambda value: _floored(value, 1_000_000, pa.int64())
    return None


def _of_numbers(source: Type, target: Type, arrow: pa.DataType) -> Kernel | None:
    if source.is_decimal or (source.is_fractional and target.is_decimal):
        return None
    if source.is_fractional and target.is_integral:
        return lambda value: _finite(pc.trunc(value)).cast(arrow)
    return lambda value: value.cast(arrow, safe=not target.is_fractional)


def _finite(value: Any) -> Any:
    """Return the vector if all its numbers are finite, else raise `Unsuitable`: Arrow would convert NaN to a number.

    A scalar is returned as it is, since Arrow checks its conversion.
    """
    if not pc.all(pc.is_finite(value)).as_py() if not isinstance(value, pa.Scalar) else True:
        raise Unsuitable
    return value


def _floored(value: Any, unit: int, arrow: pa.DataType) -> Any:
    return by_numpy(numbers(value), lambda micros: micros // unit, arrow)


def _of_moments(source: Type, target: Type, arrow: pa.DataType, zone: dt.tzinfo) -> Kernel | None:
    if TIMESTAMP in (source, target) and zone is not UTC:
        return None
    if target == DATE:
        return lambda value: _floored(value, DAY, pa.int32()).cast(pa.date32())
    if source == DATE:
        return lambda value: pc.multiply_checked(numbers(value).cast(pa.int64()), pa.scalar(DAY)).cast(arrow)
    return lambda value: numbers(value).cast(arrow)


def _of_texts(target: Type, arrow: pa.DataType, zone: dt.tzinfo) -> Kernel | None:
    if target.is_integral:
        return lambda value: _without_hexadecimal(value).cast(arrow)
    if target.name == "double":
        return lambda value: value.cast(arrow)
    if target == DATE:
        return lambda value: value.cast(arrow)
    if target == TIMESTAMP_NTZ or (target == TIMESTAMP and zone is UTC):
        return lambda value: _whole_seconds(value).cast(pa.timestamp("us")).cast(pa.int64()).cast(arrow)
    return None


def _without_hexadecimal(value: Any) -> Any:
    """Return the texts unchanged if none of them contains an x, else raise `Unsuitable`.

    Arrow would read a text such as 0x1F as a number. A scalar raises `Unsuitable`, too.
    """
    if isinstance(value, pa.Scalar) or pc.any(pc.match_substring(value, "x", ignore_case=True)).as_py():
        raise Unsuitable
    return value


def _whole_seconds(value: Any) -> Any:
    """Return the texts unchanged if all are like `2024-02-29 13:00:00`, else raise `Unsuitable`.

    Arrow reads only texts of this form as Spark does.
    """
    if isinstance(value, pa.Scalar):
        raise Unsuitable
    lengths = pc.binary_length(value)
    bounds = pc.min_max(lengths).as_py()
    if bounds["min"] is not None and (bounds["min"], bounds["max"]) != (19, 19):
        raise Unsuitable
    return value


def _to_text(source: Type) -> Kernel | None:
    if source.is_integral or source.name == "boolean":
        return lambda value: value.cast(pa.string())
    if source == DATE:
        return lambda value: with_plain_dates(value).cast(pa.string())
    return None
