"""Python's garbage collector, which visits new objects again and again while a process makes many of them."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_MANY = 200_000
"""New objects of which a visit to each, which is due when collection is switched on again, takes 20 ms or more."""


@contextmanager
def uncollected() -> Generator[None]:
    """Switch garbage collection off for a while: for work that makes many objects and hardly any cycles.

    When it has made very many, all count as old afterwards: the next collection of new objects visits none of them.
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
