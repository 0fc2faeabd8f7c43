"""Shrinking: from a run that went wrong to one with few faults and few steps out of order that goes wrong as well."""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration_tests.simulation.choices import Made

Choice = tuple[str, int]
"""The stream of a choice, and its number there."""


def shrunk(made: Made, is_wrong: Callable[[Made], bool], tries: int = 200) -> Made:
    """Return fewer choices that still make a run wrong, by delta debugging.

    Args:
        made: the choices of a wrong run that are not 0.
        is_wrong: runs with choices, and returns True if that went wrong.
        tries: most runs.

    >>> faults = {"fault": {number: 1 for number in range(64)}}
    >>> shrunk(faults, lambda made: {5, 40} <= made.get("fault", {}).keys())
    {'fault': {5: 1, 40: 1}}
    """
    left = [(stream, number) for stream in sorted(made) for number in sorted(made[stream])]
    parts = 2
    while left and tries > 0:
        size = max(len(left) // parts, 1)
        for start in range(0, len(left), size):
            fewer = left[:start] + left[start + size :]
            tries -= 1
            if is_wrong(_only(made, fewer)):
                left, parts = fewer, max(parts - 1, 2)
                break
            if tries <= 0:
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(left))
    return _only(made, left)


def _only(made: Made, choices: list[Choice]) -> Made:
    kept: Made = {}
    for stream, number in choices:
        kept.setdefault(stream, {})[number] = made[stream][number]
    return kept
