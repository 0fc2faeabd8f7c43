"""Named tuples, made by the hundred thousand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Made = TypeVar("Made", bound=tuple[Any, ...])


def maker(kind: type[Made]) -> Callable[[tuple[Any, ...]], Made]:
    """The constructor of a named tuple from all of its fields: several times as fast as a call of the class."""
    return partial(vars(tuple)["__new__"], kind)
