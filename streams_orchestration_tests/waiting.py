"""Waiting for what other threads, processes and servers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def until(
    condition: Callable[[], Value | None],
    otherwise: str | Callable[[], object],
    seconds: float = 30.0,
    pause: float = 0.01,
) -> Value:
    """Return the value of a condition as soon as it counts as true; the condition is called again and again.

    Args:
        condition: called at least once, and once more when the time is over.
        otherwise: description of what is wrong if it never counts as true, or a function that returns it.
        seconds: how long to wait.
        pause: seconds between two polls, which take processor time from the polled process.

    Raises:
        AssertionError: it did not count as true in time; the message ends with `otherwise`.
    """
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            wrong = otherwise if isinstance(otherwise, str) else otherwise()
            message = f"after {seconds:g} s: {wrong}"
            raise AssertionError(message)
        time.sleep(pause)
    return value
