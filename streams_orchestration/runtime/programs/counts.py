"""Counts: nested names of what was measured, as they travel, add up, and stand in the catalog as JSON."""

from __future__ import annotations

from typing import Any

Counts = dict[str, Any]
"""Name -> number, or further names. All of it adds up, but of what is under a name of `LAST` the last one counts."""
LAST = frozenset(("gauges", "about"))


def add(total: Counts, more: Counts) -> Counts:
    """Add to a total, in place; returns it."""
    for name, value in more.items():
        if name in LAST:
            total[name] = {**total.get(name, {}), **value}
        elif isinstance(value, dict):
            add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
    return total


def difference(later: Counts, earlier: Counts) -> Counts:
    """Return the difference of two totals of the same thing; values that are no sums are those of the later total."""
    rest: Counts = {}
    for name, value in later.items():
        before = earlier.get(name)
        if name in LAST:
            rest[name] = dict(value)
        elif isinstance(value, dict):
            rest[name] = difference(value, before or {})
        else:
            rest[name] = value - (before or 0)
    return rest
