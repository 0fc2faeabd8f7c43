"""Parameters that are keys, or other lists, and the keys that are written as names of attributes."""

from __future__ import annotations

from streams_orchestration.spl.types.columns import has_canonical_column, may_hold_nan
from streams_orchestration.spl.types.types import Type

KEYS = frozenset(("equalityLHS", "equalityRHS", "groupBy", "partitionBy", "partitionByLHS", "partitionByRHS")) | {
    f"partitionBy{number}" for number in range(100)
}
"""Parameters that are keys: lists of attributes or expressions."""
LISTS = KEYS | {"sortBy", "key", "addKey", "removeKey", "suppress", "metrics"}
"""Parameters that are lists in the document, even if SPL gives only one value."""
_WINDOWED = frozenset(("Aggregate", "Join", "Sort"))
"""Operators whose windows are partitioned."""


def is_plain_key(kind: str, parameter: str, type_: Type) -> bool:
    """Return True if an attribute of a type is written as a key by its name, since its column compares as its values.

    Windows are partitioned by columns, in which NaN equals NaN.
    """
    if parameter not in KEYS or not has_canonical_column(type_):
        return False
    return not may_hold_nan(type_) or (parameter.startswith("partitionBy") and kind in _WINDOWED)
