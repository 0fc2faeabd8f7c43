"""Sums and differences of points in time and intervals, in the local time of a zone as in Spark."""

from __future__ import annotations

from streams_orchestration.expressions.functions.ranges import checked
from streams_orchestration.expressions.table import Binding, TupleFunction
from streams_orchestration.expressions.times import DAY as MICROS_OF_A_DAY
from streams_orchestration.expressions.times import UTC, add_months, from_local, moved_on, to_local
from streams_orchestration.expressions.types import BIGINT, DATE, DAY, INT, TIMESTAMP, YEAR_MONTH


def shifted(binding: Binding, sign: int) -> TupleFunction:
    """Return the function that adds (sign 1) or subtracts (-1) an interval, in the local time of the zone.

    It raises EvaluationError for a date or timestamp that is out of range.
    """
    kind, months = binding.result, YEAR_MONTH in binding.arguments
    zone = binding.zone if kind == TIMESTAMP else UTC

    def date(value: int, amount: int) -> int:
        if months:
            return checked(add_months(value, sign * amount), INT)
        return checked(value + sign * (amount // MICROS_OF_A_DAY if DAY in binding.arguments else amount), INT)

    def timestamp(value: int, amount: int) -> int:
        if not months:
            return checked(moved_on(value, sign * amount, zone), BIGINT)
        days, rest = divmod(to_local(value, zone), MICROS_OF_A_DAY)
        local = add_months(days, sign * amount) * MICROS_OF_A_DAY + rest
        return checked(from_local(local, zone, value), BIGINT)

    return date if kind == DATE else timestamp


def elapsed(binding: Binding) -> TupleFunction:
    """Return the function for the microseconds between two local times; not elapsed time if the clock changes.

    It raises EvaluationError if the difference is out of range.
    """
    zone = binding.zone
    return lambda one, other: checked(to_local(one, zone) - to_local(other, zone), BIGINT)
