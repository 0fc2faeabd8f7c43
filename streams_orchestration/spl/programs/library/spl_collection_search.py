"""`spl.collection`: searches in lists.

>>> BUILTINS["findLast"][0][1].make((Collection("list", (INT32,)), INT32, INT32), INT32)([1, 2, 1], 1, 1)
0
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.library.collection_types import LIST, element_of
from streams_orchestration.spl.programs.library.registry import BUILTINS, typed
from streams_orchestration.spl.programs.library.searches import OF_OTHERS, backwards, first, forwards, search_among
from streams_orchestration.spl.programs.values import unequal_to_itself
from streams_orchestration.spl.types.types import INT32, Collection, Type

__all__ = ["BUILTINS", "INT32"]


def _equals(types: tuple[Type, ...]) -> Callable[[Any], Callable[[Any], bool]]:
    """Return a function that, for a value, returns the test if an element of the list equals it; NaN equals nothing."""
    differs = unequal_to_itself(element_of(types[0]))
    if differs is None:
        return lambda wanted: lambda each: each == wanted
    return lambda wanted: (lambda _: False) if differs(wanted) else lambda each: each == wanted


def _among(types: tuple[Type, ...]) -> Callable[[list[Any]], Callable[[Any], bool]]:
    """Return a function that, for the second argument, returns the test if it has an element; NaN equals nothing."""
    differs = unequal_to_itself(element_of(types[0]))
    if differs is None:
        return lambda wanted: wanted.__contains__
    return lambda wanted: [each for each in wanted if not differs(each)].__contains__


@typed("find", when=LIST)
def _find(types: tuple[Type, ...], _: Type) -> Callable[..., list[int]]:
    equals = _equals(types)
    return lambda values, wanted: [at for at, found in enumerate(map(equals(wanted), values)) if found]


@typed("findOf", when=LIST)
def _find_of(types: tuple[Type, ...], _: Type) -> Callable[..., list[int]]:
    among = _among(types)
    return lambda values, wanted: [at for at, found in enumerate(map(among(wanted), values)) if found]


@typed("findNotOf", when=LIST)
def _find_not_of(types: tuple[Type, ...], _: Type) -> Callable[..., list[int]]:
    among = _among(types)
    return lambda values, unwanted: [at for at, found in enumerate(map(among(unwanted), values)) if not found]


def _is_sublist(types: tuple[Type, ...]) -> bool:
    """Return True if the second argument is a sublist to search for, and not a single element that is a list."""
    element = element_of(types[0])
    return isinstance(types[1], Collection) and types[1] != element and types[1].elements == (element,)


@typed("findFirst", when=LIST)
def _find_first(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if _is_sublist(types):
        return _of_equal_parts(types[1], find_first_part)
    equals = _equals(types)
    return lambda values, wanted, start=0: first(values, forwards(values, start), equals(wanted))


def find_first_part(values: list[Any], part: list[Any], start: int = 0) -> int:
    """Return the first index from `start` on at which a sublist occurs, or -1.

    An empty sublist occurs at each index of the list.
    """
    return next((at for at in forwards(values, start) if values[at : at + len(part)] == part), -1)


@typed("findLast", when=LIST)
def _find_last(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if _is_sublist(types):
        return _of_equal_parts(types[1], find_last_part)
    equals = _equals(types)
    return lambda values, wanted, start: first(values, backwards(values, start), equals(wanted))


def find_last_part(values: list[Any], part: list[Any], last: int) -> int:
    """Return the last index of a sublist that ends at the index `last` or before; -1 without one, or if it is empty."""
    within = values[: last + 1] if last >= 0 else []
    places = backwards(within, len(within))
    return next((at for at in places if part and within[at : at + len(part)] == part), -1)


def _of_equal_parts(type_: Type, search: Callable[..., int]) -> Callable[..., int]:
    """Return a search for sublists of a type that never finds a sublist with NaN, which does not equal itself."""
    differs = unequal_to_itself(type_)
    if differs is None:
        return search
    return lambda values, part, *limit: -1 if differs(part) else search(values, part, *limit)


for _name in OF_OTHERS:
    typed(_name, when=LIST)(lambda types, _, name=_name: search_among(name, _among(types)))
