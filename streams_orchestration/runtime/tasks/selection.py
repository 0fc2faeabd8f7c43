"""Filters of Imports: the importing PE keeps only the tuples for which a condition holds."""

from __future__ import annotations

import functools

from streams_orchestration.expressions.times import expected_zone
from streams_orchestration.operators.expressions.evaluation import Expression, condition_of, evaluate
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.tuples.batch import TupleBatch


def selected(tuples: TupleBatch, condition: str, ddl: str, time_zone: str) -> TupleBatch:
    """Return the tuples for which the condition is true; null counts as false.

    Raises:
        DataError: the condition cannot be evaluated for a tuple, for example because of an overflow.
    """
    expression = _parsed(condition, ddl, time_zone)
    return tuples.filter(pc.fill_null(evaluate(expression, tuples.arrow), fill_value=False))


@functools.lru_cache(maxsize=256)
def _parsed(condition: str, ddl: str, time_zone: str) -> Expression:
    return condition_of(condition, ddl, expected_zone(time_zone))
