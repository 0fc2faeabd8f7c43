"""Counts: measured numbers under nested names, which can be sent, added up, and stored in the catalog as JSON."""

from __future__ import annotations

from typing import Any, cast

Counts = dict[str, Any]
"""Name -> number, or further names. Numbers are added up, except those under the names in `LAST`: the last one counts.
"""
LAST = frozenset(("gauges", "about", "event_time"))


def add(total: Counts, more: Counts) -> Counts:
    """Add counts to a total in place, and return the total."""
    for name, value in more.items():
        if name in LAST:
            total[name] = {**total.get(name, {}), **value}
        elif isinstance(value, dict):
            add(total.setdefault(name, {}), cast(Counts, value))
        else:
            total[name] = total.get(name, 0) + value
    return total
