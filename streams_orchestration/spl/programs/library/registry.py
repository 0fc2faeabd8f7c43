"""The register of built-in functions by name."""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streams_orchestration.spl.types.types import BLOB, Collection, Type, is_string

Maker = Callable[[tuple[Type, ...], Type], Callable[..., Any]]
"""A function from the types of the arguments and of the result to the function over values."""


@dataclass(frozen=True)
class Builtin:
    """A built-in function, or all overloads of a name in one namespace.

    Attributes:
        make: the function over values for types of arguments.
        run: True if the first argument is the `Run`.
        assigns: positions of arguments that get new values; the function returns its result and then these values.
    """

    name: str
    make: Maker
    run: bool = False
    assigns: tuple[int, ...] = ()


BUILTINS: dict[str, list[tuple[Callable[[tuple[Type, ...]], bool], Builtin]]] = {}
"""Maps a name to its implementations, each with the condition on the types of the arguments."""


def _any(_: tuple[Type, ...]) -> bool:
    return True


def strings_first(types: tuple[Type, ...]) -> bool:
    """Return True if the first argument is a string."""
    return bool(types) and is_string(types[0])


def collections_first(types: tuple[Type, ...]) -> bool:
    """Return True if the first argument is a list, set or map."""
    return bool(types) and isinstance(types[0], Collection)


def blobs_first(types: tuple[Type, ...]) -> bool:
    """Return True if the first argument is a blob."""
    return bool(types) and types[0] == BLOB


def typed(
    *names: str,
    when: Callable[[tuple[Type, ...]], bool] = _any,
    run: bool = False,
    assigns: tuple[int, ...] = (),
) -> Callable[[Maker], Maker]:
    """Register a maker as the built-in functions of these names."""

    def register(make: Maker) -> Maker:
        for name in names:
            BUILTINS.setdefault(name, []).append((when, Builtin(name, make, run, assigns)))
        return make

    return register


def plain(
    *names: str,
    when: Callable[[tuple[Type, ...]], bool] = _any,
    run: bool = False,
    assigns: tuple[int, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function whose implementation does not depend on types."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        typed(*names, when=when, run=run, assigns=assigns)(lambda _types, _result: function)
        return function

    return register
