"""Waiting for what other threads, processes and servers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")


def until(
    condition: Callable[[], Given | None],
    otherwise: str | Callable[[], object],
    seconds: float = 30.0,
    pause: float = 0.01,
) -> Given:
    """What a condition gives, as soon as that counts as true; it is looked at again and again.

    Args:
        condition: called at least once, and once more when the time is over.
        otherwise: what is the case if that does not come, or what says so; called only then.
        seconds: from now on.
        pause: seconds between two looks, which take processor time from what is looked at.

    Raises:
        AssertionError: it has not come in time; says `otherwise`.
    """
    end = time.monotonic() + seconds
    while not (given := condition()):
        if time.monotonic() > end:
            said = otherwise if isinstance(otherwise, str) else otherwise()
            message = f"after {seconds:g} s: {said}"
            raise AssertionError(message)
        time.sleep(pause)
    return given
