"""`spl.collection`: searches in lists.

A search from a negative start begins at 0, and a search backwards from there finds nothing.

>>> BUILTINS["findLast"][0][1].make((Collection("list", (INT32,)), INT32, INT32), INT32)([1, 2, 1], 1, 1)
0
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable, Iterator
from typing import Any

from streams_orchestration.spl.programs.library.collection_types import LIST, element_of
from streams_orchestration.spl.programs.library.registry import BUILTINS, plain, typed
from streams_orchestration.spl.types.types import INT32, Collection, Type

__all__ = ["BUILTINS", "INT32"]


@plain("find", when=LIST)
def find(values: list[Any], wanted: Any) -> list[int]:
    """Return all indexes at which a list has an element."""
    return [at for at, value in enumerate(values) if value == wanted]


@plain("findOf", when=LIST)
def find_of(values: list[Any], wanted: list[Any]) -> list[int]:
    """Return the indexes of all elements that are also in another list."""
    return [at for at, each in enumerate(values) if each in wanted]


@plain("findNotOf", when=LIST)
def find_not_of(values: list[Any], unwanted: list[Any]) -> list[int]:
    """Return the indexes of all elements that are not in another list."""
    return [at for at, each in enumerate(values) if each not in unwanted]


def _forwards(values: list[Any], start: int = 0) -> range:
    """Return the indexes from `start`, or from 0 if `start` is negative, to the end."""
    return range(max(start, 0), len(values))


def _backwards(values: list[Any], start: int) -> range:
    """Return the indexes from `start`, or from the last element if `start` is beyond it, down to 0.

    There are none if `start` is negative.
    """
    return range(min(start, len(values) - 1), -1, -1)


def _first(found: Iterator[int]) -> int:
    return next(found, -1)


def _is_sublist(types: tuple[Type, ...]) -> bool:
    """Return True if the second argument is a sublist to search for, and not a single element that is a list."""
    element = element_of(types[0])
    return isinstance(types[1], Collection) and types[1] != element and types[1].elements == (element,)


@typed("findFirst", when=LIST)
def _find_first(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if _is_sublist(types):
        return find_first_part
    return lambda values, wanted, start=0: _first(at for at in _forwards(values, start) if values[at] == wanted)


def find_first_part(values: list[Any], part: list[Any], start: int = 0) -> int:
    """Return the first index from `start` on at which a sublist occurs, or -1.

    An empty sublist occurs at each index of the list.
    """
    return _first(at for at in _forwards(values, start) if values[at : at + len(part)] == part)


@typed("findLast", when=LIST)
def _find_last(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if _is_sublist(types):
        return find_last_part
    return lambda values, wanted, start: _first(at for at in _backwards(values, start) if values[at] == wanted)


def find_last_part(values: list[Any], part: list[Any], last: int) -> int:
    """Return the last index of a sublist that ends at the index `last` or before; -1 without one, or if it is empty."""
    within = values[: last + 1] if last >= 0 else []
    return _first(at for at in _backwards(within, len(within)) if part and within[at : at + len(part)] == part)


@plain("findFirstOf", when=LIST)
def find_first_of(values: list[Any], wanted: list[Any], start: int = 0) -> int:
    """Return the first index, from `start` on, of an element that is also in another list, or -1."""
    return _first(at for at in _forwards(values, start) if values[at] in wanted)


@plain("findFirstNotOf", when=LIST)
def find_first_not_of(values: list[Any], unwanted: list[Any], start: int = 0) -> int:
    """Return the first index, from `start` on, of an element that is not in another list, or -1."""
    return _first(at for at in _forwards(values, start) if values[at] not in unwanted)


@plain("findLastOf", when=LIST)
def find_last_of(values: list[Any], wanted: list[Any], start: int) -> int:
    """Return the last index, up to `start`, of an element that is also in another list, or -1."""
    return _first(at for at in _backwards(values, start) if values[at] in wanted)


@plain("findLastNotOf", when=LIST)
def find_last_not_of(values: list[Any], unwanted: list[Any], start: int) -> int:
    """Return the last index, up to `start`, of an element that is not in another list, or -1."""
    return _first(at for at in _backwards(values, start) if values[at] not in unwanted)
