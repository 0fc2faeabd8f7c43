"""Faults of an operator's parameters: the first one is raised, or all are gathered and reported at once.

>>> with gathered() as faults:
...     report(ValueError("filter: one fault"))
...     with reported("output port 1: "):
...         raise ValueError("another fault")
>>> [str(each) for each in faults]
['filter: one fault', 'output port 1: another fault']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from streams_orchestration.operators.errors.errors import FaultyExpressionError, behind

_GATHERED: ContextVar[list[ValueError] | None] = ContextVar("gathered", default=None)


@contextmanager
def gathered() -> Iterator[list[ValueError]]:
    """Gather the faults that are reported within the block instead of raising them."""
    faults = list[ValueError]()
    token = _GATHERED.set(faults)
    try:
        yield faults
    finally:
        _GATHERED.reset(token)


def report(fault: ValueError) -> None:
    """Add a fault to the gathered ones, or raise it if faults are not being gathered."""
    faults = _GATHERED.get()
    if faults is None:
        raise fault
    faults.append(fault)


@contextmanager
def reported(prefix: str = "") -> Iterator[None]:
    """Report the faults of the block, and a ValueError that ends it, with a prefix before their messages."""
    with gathered() as faults:
        try:
            yield
        except ValueError as error:
            faults.append(error)
    for each in faults:
        report(behind(prefix, each) if prefix else each)


def all_faults(check: Callable[[], object], *, standard: bool) -> list[Exception]:
    """Return all faults that a check of parameters finds.

    If the check raises, it is called again while faults are gathered, so that it continues after each one. If the first
    call raises an error that is not a ValueError, this error is the only fault. Equal faults are returned once.

    Args:
        check: raises the first fault; it has no other effect.
        standard: True for the product's own operators, whose final error is never just a consequence of earlier faults.
    """
    try:
        check()
    except ValueError as error:
        first = error
    except Exception as error:  # noqa: BLE001  whatever the code of a user's operator raises
        return [error]
    else:
        return []
    with gathered() as faults:
        try:
            check()
        except ValueError as error:
            if standard or not faults or isinstance(error, FaultyExpressionError):
                faults.append(error)
        except Exception as error:  # noqa: BLE001  the effect of a fault before it
            del error
    return [*{(type(each), str(each)): each for each in faults or [first]}.values()]
