"""The equality of values in tests: NaN is itself, and zero has a sign."""

from __future__ import annotations

import math
from typing import Any


def same(one: Any, other: Any, *, nearly: bool = False) -> bool:
    """Return True if two values, or the values in two collections, are the same.

    Args:
        one: a value of an expression, or a list of them.
        other: the value to compare with.
        nearly: numbers may differ in their last digits.
    """
    if one is None or other is None:
        return one is other
    if isinstance(one, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        alike = math.isclose(one, other, rel_tol=1e-12) if nearly else one == other
        return alike and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(*pair, nearly=nearly) for pair in zip(one, other, strict=True))
    if isinstance(one, dict):
        return same((*one, *one.values()), (*other, *other.values()), nearly=nearly)
    return type(one) is type(other) and one == other
