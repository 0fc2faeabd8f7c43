"""Conditions on collection types, and changes of bounded collections."""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable, Iterable
from typing import Any, cast

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.values import same, thawing
from streams_orchestration.spl.types.types import Collection, Type


def kinds(*names: str) -> Callable[[tuple[Type, ...]], bool]:
    """Return a condition that is true if the first argument is a collection of one of these kinds."""
    return lambda types: bool(types) and isinstance(types[0], Collection) and types[0].kind in names


LIST, SET, MAP = kinds("list"), kinds("set"), kinds("map")


def element_of(type_: Type) -> Type:
    """Return the type of a collection's elements; for a map, the type of its keys."""
    return cast("Collection", type_).elements[0]


def bounded(type_: Type, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that changes a collection, and raises RunError if it then exceeds the bound of its type."""
    bound = cast("Collection", type_).bound
    if bound is None:
        return change

    def checked(collection: Any, *arguments: Any) -> Any:
        change(collection, *arguments)
        if len(collection) > bound:
            message = f"{type_} would have {len(collection)} elements"
            raise RunError(message)

    return checked


def on_copy(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns a changed copy of a collection, and leaves the collection unchanged."""

    def changed(collection: Any, *arguments: Any) -> Any:
        copied = collection.copy()
        change(copied, *arguments)
        return copied

    return changed


def scalars(values: Iterable[Any], type_: Type) -> list[Any]:
    """Return the elements of a list or set, or the keys of a map, as values."""
    thaw = thawing(type_)
    return list(values) if thaw is same else [thaw(value) for value in values]
