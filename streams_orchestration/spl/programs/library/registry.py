"""The registry of built-in functions, by name."""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streams_orchestration.spl.types.types import BLOB, Collection, Type, is_string

Maker = Callable[[tuple[Type, ...], Type], Callable[..., Any]]
"""A function that returns the implementation of a built-in function for given argument types and result type."""


@dataclass(frozen=True)
class Builtin:
    """The implementation of a built-in function, or of all overloads of a name in one namespace.

    Attributes:
        make: returns the function over values for given argument and result types.
        run: True if the function takes the operator's `Run` as an additional first argument.
        assigns: the positions of arguments to which the SPL function assigns; the Python function returns its result
            and then the new values of these arguments.
    """

    name: str
    make: Maker
    run: bool = False
    assigns: tuple[int, ...] = ()


BUILTINS: dict[str, list[tuple[Callable[[tuple[Type, ...]], bool], Builtin]]] = {}
"""Name -> its implementations, with conditions on the types of the arguments."""


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
    first: bool = False,
) -> Callable[[Maker], Maker]:
    """Register a maker as the built-in functions of these names; `first` prefers it to others whose condition holds."""

    def register(make: Maker) -> Maker:
        for name in names:
            known = BUILTINS.setdefault(name, [])
            known.insert(0 if first else len(known), (when, Builtin(name, make, run, assigns)))
        return make

    return register


def plain(*names: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function whose implementation does not depend on types; `typed` describes the options."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        typed(*names, **options)(lambda _types, _result: function)
        return function

    return register
