"""Types of collections, and changes of bounded ones."""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable, Iterable
from typing import Any, cast

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.values import same, thawing
from streams_orchestration.spl.types.types import Collection, Type


def kinds(*names: str) -> Callable[[tuple[Type, ...]], bool]:
    """Return the condition that the first argument is a collection of one of these kinds."""
    return lambda types: bool(types) and isinstance(types[0], Collection) and types[0].kind in names


LIST, SET, MAP = kinds("list"), kinds("set"), kinds("map")


def element_of(type_: Type) -> Type:
    """Return the type of the elements, or of the keys of a map."""
    return cast("Collection", type_).elements[0]


def bounded(type_: Type, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a change of a collection that fails if the collection exceeds its bound."""
    bound = cast("Collection", type_).bound
    if bound is None:
        return change

    def checked(collection: Any, *arguments: Any) -> Any:
        change(collection, *arguments)
        if len(collection) > bound:
            message = f"{type_} would have {len(collection)} elements"
            raise RunError(message)

    return checked


def scalars(values: Iterable[Any], type_: Type) -> list[Any]:
    """Return the elements of a list, or of a set or a map, from its keys."""
    thaw = thawing(type_)
    return list(values) if thaw is same else [thaw(value) for value in values]
