"""Kernels of functions of dates and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.expressions.functions.moments import TRUNCATED
from streams_orchestration.expressions.kernel import (
    Kernel,
    Maker,
    Unsuitable,
    always,
    bounds,
    constant,
    filled,
    numbers,
    pc,
)
from streams_orchestration.expressions.table import Binding
from streams_orchestration.expressions.times import DAY, HOUR, MINUTE, SECOND, UTC
from streams_orchestration.expressions.types import TIMESTAMP

PLAIN_DATES = (-719162, 2932896)
"""The first and last date, in days since 1970-01-01, whose calendar Arrow knows: of the years 1 and 9999."""


def with_plain_dates(value: Any) -> Any:
    """Return the dates; raise `Unsuitable` for a scalar, and unless all years have four digits."""
    if isinstance(value, pa.Scalar):
        raise Unsuitable
    ends = pc.min_max(numbers(value)).as_py()
    if ends["min"] is not None and (ends["min"] < PLAIN_DATES[0] or ends["max"] > PLAIN_DATES[1]):
        raise Unsuitable
    return value


def _with_plain_times(value: Any) -> Any:
    """Return the timestamps; raise `Unsuitable` unless all years have four digits: Arrow's values would be wrong."""
    low, high = bounds(numbers(value))
    if low < PLAIN_DATES[0] * DAY or high > PLAIN_DATES[1] * DAY:
        raise Unsuitable
    return value


def _of_date(kernel: Kernel) -> Maker:
    return always(lambda value: kernel(with_plain_dates(value)).cast(pa.int32()))


def _of_clock(unit: int, modulus: int) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        if binding.arguments[0] == TIMESTAMP and binding.zone is not UTC:
            return None
        return lambda value: by_numpy(numbers(value), lambda micros: micros // unit % modulus, pa.int32())

    return make


def by_numpy(vector: Any, operation: Callable[[np.ndarray], np.ndarray], arrow: pa.DataType) -> Any:
    """Apply a numpy function to a vector of whole numbers, and return the result as `arrow`; null stays null.

    Raises:
        Unsuitable: the vector is a scalar.
    """
    if isinstance(vector, pa.Scalar):
        raise Unsuitable
    values = operation(filled(vector, 0))
    mask = ~vector.is_valid().to_numpy(zero_copy_only=False) if vector.null_count else None
    return pa.array(values.astype(arrow.to_pandas_dtype()), arrow, mask=mask)


def _date_trunc(binding: Binding) -> Kernel | None:
    unit = TRUNCATED.get(str(constant(binding, 0)).lower())
    if unit is None or binding.zone is not UTC:
        return None
    return lambda _unit, value: pc.floor_temporal(_with_plain_times(value), unit=unit)


def _seconds_since(unit: int) -> Maker:
    return always(lambda value: by_numpy(numbers(value), lambda micros: micros // unit, pa.int64()))


def _difference(one: Any, other: Any) -> Any:
    return pc.subtract(numbers(one), numbers(other))


def _moved_days(sign: int) -> Maker:
    kernel = pc.add_checked if sign > 0 else pc.subtract_checked
    return always(lambda days, count: kernel(numbers(days), count).cast(pa.date32()))


def _of_micros(unit: int) -> Maker:
    arrow = pa.timestamp("us", "UTC")
    return always(lambda value: pc.multiply_checked(value, pa.scalar(unit, pa.int64())).cast(arrow))


MOMENT_KERNELS: Mapping[str, Maker] = {
    "year": _of_date(pc.year),
    "quarter": _of_date(pc.quarter),
    "month": _of_date(pc.month),
    "day": _of_date(pc.day),
    "dayofmonth": _of_date(pc.day),
    "dayofyear": _of_date(pc.day_of_year),
    "weekday": _of_date(pc.day_of_week),
    "hour": _of_clock(HOUR, 24),
    "minute": _of_clock(MINUTE, 60),
    "second": _of_clock(SECOND, 60),
    "date_trunc": _date_trunc,
    "datediff": always(_difference),
    "date_diff": always(_difference),
    "date_add": _moved_days(1),
    "date_sub": _moved_days(-1),
    "unix_date": always(numbers),
    "unix_seconds": _seconds_since(SECOND),
    "unix_millis": _seconds_since(1000),
    "unix_micros": always(numbers),
    "timestamp_millis": _of_micros(1000),
    "timestamp_micros": _of_micros(1),
}
"""Kernel factories by function name."""
