"""Facts about parameters by their names: keys, lists, words, conditions, and the port that they are about."""

from __future__ import annotations

from streams_orchestration.spl.types.columns import has_canonical_column, may_hold_nan
from streams_orchestration.spl.types.types import Type

KEYS = frozenset(("equalityLHS", "equalityRHS", "groupBy", "partitionBy", "partitionByLHS", "partitionByRHS")) | {
    f"partitionBy{number}" for number in range(100)
}
"""Parameters that are keys: lists of attributes or expressions."""
LISTS = KEYS | {"sortBy", "key", "addKey", "removeKey", "suppress", "metrics"}
"""Parameters that are lists in the document, even if SPL gives only one value."""
WORDS = frozenset(
    (
        *("format", "compression", "algorithm", "order", "position", "parsing", "closeMode", "writeFailureAction"),
        *("congestionPolicy", "status_", "protocol", "role", "outputType"),
    )
)
"""Parameters whose values are fixed words that the operator defines, such as a format."""
CONDITIONS = frozenset(("filter", "match", "punctuate"))
"""Parameters that are conditions about each tuple."""
OF_SEVERAL_PORTS = frozenset(("Barrier", "Join"))
"""Operators whose expressions read the attributes of several ports as columns of one table."""
ATTRIBUTES = frozenset(("deltaAttribute", "timeAttribute", "inputAttribute"))
"""Parameters whose values are names of attributes."""
_WINDOWED = frozenset(("Aggregate", "Join", "Sort"))
"""Operators whose windows are partitioned."""
_PORTS = {
    "DynamicFilter": {"key": 0, "addKey": 1, "removeKey": 2},
    "Gate": {"numTuplesToAck": 1},
    "Join": {"equalityLHS": 0, "equalityRHS": 1, "partitionByLHS": 0, "partitionByRHS": 1},
    "Switch": {"status": 1},
}
"""Operator with several input ports -> the input port whose tuples a parameter is about."""


def is_plain_key(kind: str, parameter: str, type_: Type) -> bool:
    """Return True if an attribute of a type is written as a key by its name, since its column compares as its values.

    Windows are partitioned by columns, in which NaN equals NaN.
    """
    if parameter not in KEYS or not has_canonical_column(type_):
        return False
    return not may_hold_nan(type_) or (parameter.startswith("partitionBy") and kind in _WINDOWED)


def port_of(kind: str, parameter: str) -> int | None:
    """Return the number of the input port whose tuples a parameter is about; None for a parameter about all ports.

    >>> port_of("Switch", "status"), port_of("Barrier", "partitionBy2"), port_of("Join", "match")
    (1, 2, None)
    """
    number = parameter.removeprefix("partitionBy")
    if kind in ("Barrier", "Pair"):
        return int(number) if number.isdecimal() else {"LHS": 0, "RHS": 1}.get(number)
    return _PORTS.get(kind, {}).get(parameter)
