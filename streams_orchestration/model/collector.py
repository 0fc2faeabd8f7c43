"""Pausing of Python's garbage collector, which is slow while a process makes very many objects."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

MANY = 200_000
"""The number of new objects above which their first garbage collection takes 20 ms or more."""


@contextmanager
def uncollected() -> Generator[None]:
    """Switch garbage collection off inside a `with` block that makes many objects and hardly any cycles.

    If the block made more than 200,000 objects, they are moved to the oldest generation at the end, so that the next
    collection is short. If garbage collection was off before, it stays off, and nothing is moved.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > MANY:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
