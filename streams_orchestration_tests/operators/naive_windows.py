"""Windows one tuple at a time, as their definition reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Row = tuple[Any, ...]
Value = Callable[[Row], float]


def tumbling(
    rows: list[Row], count: int | None = None, delta: float | None = None, value: Value = len
) -> Iterator[Any]:
    """After every tuple the window that it closed, if any, and what is left in the open one."""
    window: list[Row] = []
    for row in rows:
        closed = []
        if delta is not None and window and value(row) - value(window[0]) > delta:
            closed, window = window, []
        window = [*window, row]
        if count is not None and len(window) == count:
            closed, window = window, []
        yield closed, window


def sliding(
    rows: list[Row], evict: dict[str, float], trigger: dict[str, float], value: Value = len
) -> Iterator[list[list[Row]]]:
    """After every tuple the windows that it triggered."""
    window: list[Row] = []
    since, mark = 0, None
    for row in rows:
        fired = []
        if "delta" in trigger:
            if mark is None:
                mark = value(row)
            elif value(row) - mark > trigger["delta"]:
                mark = value(row)
                fired.append(window)
        if "count" in evict:
            keep = int(evict["count"]) - 1
            window = window[max(len(window) - keep, 0) :]
        else:
            while window and value(row) - value(window[0]) > evict["delta"]:
                window = window[1:]
        window = [*window, row]
        since += 1
        if since == trigger.get("count"):
            fired.append(window)
            since = 0
        yield fired


def full(rows: list[Row], evict: dict[str, float], value: Value = len) -> bool:
    """Return True if the window has held its count of tuples, or has evicted one by its delta."""
    if "count" in evict:
        return len(rows) >= evict["count"]
    window: list[Row] = []
    for row in rows:
        if window and value(row) - value(window[0]) > evict["delta"]:
            return True
        window = [*window, row]
    return False
