"""Pausing of Python's garbage collector, which is slow while a process makes very many objects."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_MANY = 200_000
"""The number of new objects from which their first collection takes 20 ms or more."""


@contextmanager
def uncollected() -> Generator[None]:
    """Switch garbage collection off inside a `with` block that makes many objects and hardly any cycles.

    If it made very many, they are moved to the oldest generation at the end, so that the next collection is short.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > _MANY:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
