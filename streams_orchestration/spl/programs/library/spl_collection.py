"""`spl.collection`: functions of lists. Names that end in `M` change their first argument.

>>> numbers = [3, 1]
>>> insert_list(numbers, 9, 1)
>>> numbers
[3, 9, 1]
"""

from __future__ import annotations

# pyright: standard
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.collection_types import (
    LIST,
    bounded,
    element_of,
    on_copy,
)
from streams_orchestration.spl.programs.library.registry import blobs_first, collections_first, plain, typed
from streams_orchestration.spl.programs.values import freezing, same, unequal_to_itself
from streams_orchestration.spl.programs.wrapping import ordering, preferring, wrapper
from streams_orchestration.spl.types.types import Collection, Type, is_string

plain("size", when=collections_first)(len)


def insert_list(values: list[Any], new: Any, at: int) -> None:
    """Insert an element before an index; an index outside of the list means its nearest end."""
    values.insert(max(at, 0), new)


def _insert_all(values: list[Any], new: list[Any], at: int) -> None:
    start = max(at, 0)
    values[start:start] = new


def _inserts_list(types: tuple[Type, ...]) -> bool:
    return types[1] == types[0] or types[1] == Collection("list", (element_of(types[0]),))


@typed("insertM", when=LIST)
def _insert_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], _insert_all if _inserts_list(types) else insert_list)


@typed("insert", when=LIST)
def _insert(types: tuple[Type, ...], result: Type) -> Callable[..., Any]:
    return on_copy(_insert_m(types, result))


@typed("appendM", when=LIST)
def _append_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], list.extend if _inserts_list(types) else list.append)


@typed("concatM", when=LIST)
def _concat_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], list.extend)


def _pairs(one: list[Any], other: list[Any]) -> Iterator[tuple[Any, Any]]:
    if len(one) != len(other):
        message = f"lists of {len(one)} and {len(other)} elements cannot be paired"
        raise RunError(message)
    return zip(one, other, strict=True)


def _pairwise(name: str, better: Callable[[Any, Any], bool]) -> None:
    """Register the function that returns the better elements of two lists, pair by pair."""

    def make(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
        choose = preferring(better, element_of(types[0]))
        return lambda one, other: [choose(*pair) for pair in _pairs(one, other)]

    typed(name, when=LIST)(make)


_pairwise("pairwiseMin", operator.lt)
_pairwise("pairwiseMax", operator.gt)


@typed("pairwiseCompare")
def _pairwise_compare(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    lists = [isinstance(each, Collection) for each in types]
    key = ordering(element_of(types[0]) if lists[0] else types[0]) or same

    def compare(one: Any, other: Any) -> list[int]:
        if all(lists):
            pairs = _pairs(one, other)
        else:
            pairs = ((each, other) for each in one) if lists[0] else ((one, each) for each in other)
        return [(key(a) > key(b)) - (key(a) < key(b)) for a, b in pairs]

    return compare


@typed("lexicographicalCompare", when=LIST)
def _lexicographical(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    key = ordering(types[0]) or same
    if unequal_to_itself(types[0]) is not None:
        return lambda one, other: _compare_by_elements(key(one), key(other))
    return lambda one, other: (key(one) > key(other)) - (key(one) < key(other))


def _compare_by_elements(one: list[Any], other: list[Any]) -> int:
    """Return -1, 0 or 1 as a list is less than, equal to or greater than another one. NaN makes no difference."""
    differences = ((a > b) - (a < b) for a, b in zip(one, other, strict=False))
    return next(filter(None, differences), (len(one) > len(other)) - (len(one) < len(other)))


plain("concat", when=LIST)(lambda one, other: [*one, *other])


def _remove_at(values: list[Any], at: int, to: int | None = None) -> None:
    """Remove the element at an index, or the elements from `at` up to and including `to`.

    A negative first index is taken as 0; a negative last index removes nothing.
    """
    last = at if to is None else to
    if last < at or last < 0:
        return
    if last >= len(values):
        message = f"removeM: the index {last} is outside of a list of {len(values)} elements"
        raise RunError(message)
    del values[max(at, 0) : last + 1]


def _without(values: list[Any], at: int, to: int | None = None) -> list[Any]:
    """Return a list without the element at an index, or without the elements from `at` up to and including `to`.

    Indexes outside of the list are ignored.
    """
    last = at if to is None else to
    return list(values) if last < at or last < 0 else [*values[: max(at, 0)], *values[last + 1 :]]


def _without_each(values: list[Any], indexes: list[int]) -> list[Any]:
    gone = set(indexes)
    return [value for at, value in enumerate(values) if at not in gone]


plain("removeM", when=LIST)(_remove_at)


@typed("remove", when=LIST)
def _remove(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    return _without_each if isinstance(types[1], Collection) else _without


plain("clearM", when=collections_first)(lambda values: values.clear())


def sorted_by(type_: Type) -> Callable[[Iterable[Any]], list[Any]]:
    """Return the function that sorts a list of values of a type."""
    key = ordering(type_)
    return sorted if key is None else lambda values: sorted(values, key=key)


@typed("sort", when=LIST)
def _sort(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    return sorted_by(element_of(types[0]))


@typed("sortM", when=LIST)
def _sort_m(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = ordering(element_of(types[0]))
    return lambda values: values.sort(key=key)


@typed("sortIndices", when=LIST)
def _sort_indices(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = ordering(element_of(types[0])) or same
    return lambda values: sorted(range(len(values)), key=lambda at: key(values[at]))


plain("reverse", when=LIST)(lambda values: values[::-1])
plain("reverseM", when=LIST)(list.reverse)


plain("range", when=LIST)(lambda values: list(range(len(values))))


@plain("range", when=lambda types: not LIST(types))
def range_of(*bounds: int) -> list[int]:
    """Return the integers from the first bound (by default 0) up to, but not including, the last one, with a step.

    Raises:
        RunError: the step is 0.
    """
    if len(bounds) == 3 and bounds[2] == 0:
        message = "range: a step of 0"
        raise RunError(message)
    return list(range(*bounds))


@plain("slice", when=LIST)
def slice_of(values: list[Any], start: int, count: int, skip: int = 0, tape: int = 0) -> list[Any]:
    """Return `count` groups of consecutive elements, the first of which begins at `start`.

    Args:
        values: the list.
        start: the index of the first group. If it is negative, groups that begin before the list are left out.
        count: the number of groups; a negative number gives an empty list.
        skip: the number of elements between two groups.
        tape: the number of elements in a group, besides its first one.

    Raises:
        RunError: a number of elements to skip or to take is negative.
    """
    if skip < 0 or tape < 0:
        message = f"slice: {'skip' if skip < 0 else 'tape'} is negative"
        raise RunError(message)
    stride = 1 + skip + tape
    groups = range(start, start + stride * count, stride)
    return [value for at in groups if at >= 0 for value in values[at : at + 1 + tape]]


@typed("makeSequence")
def _make_sequence(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    wrap = wrapper(types[0])
    if is_string(types[0]):
        return lambda first, count: [f"{first}{at}" for at in range(count)]

    def sequence(first: Any, count: int, step: Any = None) -> list[Any]:
        if step is None:
            return [wrap(first + at) for at in range(count)]
        return list(itertools.accumulate([first] + [step] * (count - 1), lambda one, more: wrap(one + more)))[:count]

    return sequence


@typed("countDistinct", when=LIST)
def _count_distinct(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    freeze = freezing(element_of(types[0]))
    return lambda values: len(set(map(freeze, values)))


plain("at", when=LIST)(lambda values, indexes: [values[at] for at in indexes if at < len(values)])


@plain("selectFromList", when=LIST)
def select_from_list(chosen: list[bool], one: list[Any], other: list[Any]) -> list[Any]:
    """Return a list with elements of the first list where `chosen` is true, and of the second list elsewhere.

    Raises RunError if the lists differ in length.
    """
    return [first if choice else second for choice, (first, second) in _pairs(chosen, list(_pairs(one, other)))]


@plain("appendM", when=blobs_first, assigns=(0,))
def append_bytes(data: bytes, more: int | list[int]) -> tuple[None, bytes]:
    """Append bytes to a blob; return None, the void result, and the new blob, which is assigned to the argument."""
    return None, data + bytes([more] if isinstance(more, int) else more)


plain("clearM", when=blobs_first, assigns=(0,))(lambda _: (None, b""))
