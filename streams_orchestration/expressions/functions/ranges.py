"""Range checks of function results."""

from __future__ import annotations

import decimal

from streams_orchestration.expressions.conversion import bounded
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.types import INTEGRAL_RANGES, Type


def checked(value: int, kind: Type) -> int:
    """Return a whole number if it is in the range of its type; raise EvaluationError otherwise."""
    low, high = INTEGRAL_RANGES[kind.name]
    if not low <= value <= high:
        message = f"{value} is beyond the range of {kind}"
        raise EvaluationError(message)
    return value


def scaled(value: decimal.Decimal, kind: Type) -> decimal.Decimal:
    """Round a decimal half up to the scale of its type; raise EvaluationError if it has too many digits."""
    result = bounded(value, kind)
    if result is None:
        message = f"{value} is beyond the range of {kind}"
        raise EvaluationError(message)
    return result
