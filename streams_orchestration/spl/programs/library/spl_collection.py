"""`spl.collection`: functions of lists. Names that end in `M` change their first argument.

>>> numbers = [3, 1]
>>> insert_list(numbers, 9, 1)
>>> numbers
[3, 9, 1]
"""

from __future__ import annotations

# pyright: standard
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.collection_types import (
    LIST,
    bounded,
    element_of,
    kinds,
)
from streams_orchestration.spl.programs.library.registry import collections_first, plain, typed
from streams_orchestration.spl.programs.values import freezing, same
from streams_orchestration.spl.programs.wrapping import ordering, quotient, wrapper
from streams_orchestration.spl.types.types import FLOATS, INTEGERS, Collection, Primitive, Type

plain("size", when=collections_first)(len)


def check_place(values: Any, at: int, name: str) -> None:
    """Raise RunError if an index is outside of a list; its length is not."""
    if not 0 <= at <= len(values):
        message = f"{name}: the index {at} is outside of a list of {len(values)} elements"
        raise RunError(message)


def insert_list(values: list[Any], new: Any, at: int) -> None:
    """Insert an element, or all elements of a list, in front of an index."""
    check_place(values, at, "insertM")
    values.insert(at, new)


def _insert_all(values: list[Any], new: list[Any], at: int) -> None:
    check_place(values, at, "insertM")
    values[at:at] = new


def _inserts_list(types: tuple[Type, ...]) -> bool:
    return types[1] == types[0] or types[1] == Collection("list", (element_of(types[0]),))


@typed("insertM", when=LIST)
def _insert_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], _insert_all if _inserts_list(types) else insert_list)


@typed("insert", when=LIST)
def _insert(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    change = _insert_m(types, _)

    def insert(values: list[Any], new: Any, at: int) -> list[Any]:
        changed = list(values)
        change(changed, new, at)
        return changed

    return insert


@typed("appendM", when=LIST)
def _append_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], list.extend if _inserts_list(types) else list.append)


@typed("concatM", when=LIST)
def _concat_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], list.extend)


@plain("findOf", when=LIST)
def find_of(values: list[Any], wanted: list[Any]) -> list[int]:
    """Return the indexes of elements that another list has."""
    return [at for at, each in enumerate(values) if each in wanted]


@plain("findNotOf", when=LIST)
def find_not_of(values: list[Any], unwanted: list[Any]) -> list[int]:
    """Return the indexes of elements that another list does not have."""
    return [at for at, each in enumerate(values) if each not in unwanted]


def _pairs(one: list[Any], other: list[Any]) -> Iterator[tuple[Any, Any]]:
    if len(one) != len(other):
        message = f"lists of {len(one)} and {len(other)} elements have no pairs"
        raise RunError(message)
    return zip(one, other, strict=True)


plain("pairwiseMin", when=LIST)(lambda one, other: [min(pair) for pair in _pairs(one, other)])
plain("pairwiseMax", when=LIST)(lambda one, other: [max(pair) for pair in _pairs(one, other)])


@typed("append", "concat", when=LIST)
def _concat(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    if _inserts_list(types):
        return lambda one, other: [*one, *other]
    return lambda values, new: [*values, new]


def _remove_at(values: list[Any], at: int, to: int | None = None) -> None:
    """Remove the element at an index, or the elements between two indexes; a negative index removes nothing."""
    if at < 0:
        return
    last = at if to is None else to
    if last >= len(values):
        message = f"removeM: the index {last} is outside of a list of {len(values)} elements"
        raise RunError(message)
    del values[at : last + 1]


def _remove_each(values: list[Any], indexes: list[int]) -> None:
    gone = set(indexes)
    values[:] = [value for at, value in enumerate(values) if at not in gone]


@typed("removeM", when=LIST)
def _remove_m(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return _remove_each if isinstance(types[1], Collection) else _remove_at


@typed("remove", when=LIST)
def _remove(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    change = _remove_m(types, _)

    def remove(values: list[Any], *rest: Any) -> list[Any]:
        changed = list(values)
        change(changed, *rest)
        return changed

    return remove


@plain("clearM")
def clear(values: Any) -> None:
    """Remove all elements."""
    values.clear()


@plain("find", when=LIST)
def find(values: list[Any], wanted: Any) -> list[int]:
    """Return all indexes of an element."""
    return [at for at, value in enumerate(values) if value == wanted]


@plain("findFirst", when=LIST)
def find_first(values: list[Any], wanted: Any, start: int = 0) -> int:
    """Return the first index of an element from `start` on, or -1."""
    return next((at for at in range(max(start, 0), len(values)) if values[at] == wanted), -1)


@plain("findLast", when=LIST)
def find_last(values: list[Any], wanted: Any, start: int) -> int:
    """Return the last index of an element up to `start`, or -1."""
    return next((at for at in range(min(start, len(values) - 1), -1, -1) if values[at] == wanted), -1)


def sorted_by(type_: Type) -> Callable[[Iterable[Any]], list[Any]]:
    """Return the function that sorts values of a type."""
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


@typed("range", "rangeU", when=LIST)
def _range_of_list(_types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    return lambda values: list(range(len(values)))


@plain("range", when=lambda types: not LIST(types))
def range_of(*bounds: int) -> list[int]:
    """Return the numbers from 0, or from the first bound, up to but without the other one."""
    if len(bounds) == 3 and bounds[2] == 0:
        message = "range: a step of 0"
        raise RunError(message)
    return list(range(*bounds))


@plain("slice", when=LIST)
def slice_of(values: list[Any], start: int, count: int) -> list[Any]:
    """Return `count` elements from `start` on."""
    if start < 0:
        count, start = count + start, 0
    check_place(values, start, "slice")
    return values[start : start + max(count, 0)]


@typed("makeSequence")
def _make_sequence(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    wrap = wrapper(types[0])
    return lambda first, count, step=None: [wrap(first + (1 if step is None else step) * at) for at in range(count)]


@typed("distinct", when=LIST)
def _distinct(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    freeze = freezing(element_of(types[0]))
    return lambda values: list({freeze(value): value for value in reversed(values)}.values())[::-1]


@typed("countDistinct", when=LIST)
def _count_distinct(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    freeze = freezing(element_of(types[0]))
    return lambda values: len(set(map(freeze, values)))


plain("selectFromList", "at", when=LIST)(lambda values, indexes: [values[at] for at in indexes])
plain("lexicographicalCompare", when=LIST)(lambda one, other: one < other)


def _filled(values: Any, name: str) -> Any:
    if not values:
        message = f"{name} of an empty collection"
        raise RunError(message)
    return values


@typed("max", when=kinds("list", "set"))
def _max(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = ordering(element_of(types[0]))
    return lambda values: max(_filled(values, "max"), key=key)


@typed("min", when=kinds("list", "set"))
def _min(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = ordering(element_of(types[0]))
    return lambda values: min(_filled(values, "min"), key=key)


@typed("sum", when=kinds("list", "set"))
def _sum(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element, wrap = element_of(types[0]), wrapper(element_of(types[0]))
    if element in FLOATS:
        return lambda values: wrap(_added(values))
    if element in INTEGERS:
        return lambda values: wrap(sum(values))
    return "".join if not isinstance(element, Primitive) or "string" in element.name else sum


def _added(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@typed("avg", when=kinds("list", "set"))
def _avg(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element, wrap = element_of(types[0]), wrapper(element_of(types[0]))
    if element in INTEGERS:
        return lambda values: wrap(quotient(sum(values), len(values))) if values else 0
    return lambda values: wrap(_added(values) / len(values)) if values else 0.0


@typed("median", when=LIST)
def _median(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element, wrap = element_of(types[0]), wrapper(element_of(types[0]))

    def median(values: list[Any]) -> Any:
        ordered = sorted(_filled(values, "median"))
        half = len(ordered) // 2
        if len(ordered) % 2:
            return ordered[half]
        total = ordered[half - 1] + ordered[half]
        return quotient(total, 2) if element in INTEGERS else wrap(total / 2)

    return median


@plain("stddev", when=LIST)
def stddev(values: list[float], sample: bool = False) -> float:  # noqa: FBT001, FBT002
    """Return the standard deviation of the population, or of the sample."""
    count = len(values) - (1 if sample else 0)
    if count <= 0:
        return 0.0
    mean = _added(values) / len(values)
    return math.sqrt(_added((value - mean) ** 2 for value in values) / count)


@plain("dot")
def dot(one: list[float], other: list[float]) -> Any:
    """Return the sum of products."""
    return sum(a * b for a, b in zip(one, other, strict=True))


@plain("scale")
def scale(values: list[float], factor: float) -> list[float]:
    """Return all elements times a factor."""
    return [value * factor for value in values]


@plain("zip")
def zipped(one: list[Any], other: list[Any]) -> list[Any]:
    """Return the elements of two lists in turn."""
    return [value for pair in zip(one, other, strict=True) for value in pair]
