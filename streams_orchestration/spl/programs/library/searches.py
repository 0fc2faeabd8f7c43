"""Searches in lists and strings.

A search from a negative start begins at 0, and a search backwards from there finds nothing.
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from typing import Any


def forwards(values: Any, start: int = 0) -> range:
    """Return the indexes from `start`, or from 0 if `start` is negative, to the end."""
    return range(max(start, 0), len(values))


def backwards(values: Any, start: int) -> range:
    """Return the indexes from `start`, or from the last element if `start` is beyond it, down to 0.

    There are none if `start` is negative.
    """
    return range(min(start, len(values) - 1), -1, -1)


def first(values: Any, places: range, test: Callable[[Any], bool]) -> int:
    """Return the first of several indexes whose element passes a test, or -1."""
    return next((at for at in places if test(values[at])), -1)


OF_OTHERS: dict[str, tuple[Callable[..., range], bool]] = {
    "findFirstOf": (forwards, True),
    "findFirstNotOf": (forwards, False),
    "findLastOf": (backwards, True),
    "findLastNotOf": (backwards, False),
}
"""Function -> the indexes that it searches, and True if it searches an element that others contain, False if not."""


def search_among(name: str, among: Callable[[Any], Callable[[Any], bool]]) -> Callable[..., int]:
    """Return a function of `OF_OTHERS`; `among` returns the test if the others contain an element."""
    places, wanted = OF_OTHERS[name]

    def search(values: Any, others: Any, start: int = 0) -> int:
        is_among = among(others)
        return first(values, places(values, start), lambda each: is_among(each) is wanted)

    return search
