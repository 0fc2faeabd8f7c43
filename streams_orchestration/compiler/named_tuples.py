"""Fast construction of named tuples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Made = TypeVar("Made", bound=tuple[Any, ...])


def maker(kind: type[Made]) -> Callable[[tuple[Any, ...]], Made]:
    """Return a constructor that takes one tuple of all fields, and is several times as fast as a call of the class.

    It neither checks the number of fields nor knows their defaults.
    """
    return partial(vars(tuple)["__new__"], kind)
