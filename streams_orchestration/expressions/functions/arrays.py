"""Functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common, common_of
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.comparison import order_key
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import BIGINT, BOOLEAN, array_of

ARRAYS = FunctionGroup("Arrays")
_MOST = 1_000_000
"""The most elements of an array that a function makes for a given count."""


def key_of(binding: Binding) -> Callable[[Any], Any]:
    """Return the sort key of the elements of the first argument; null counts as the smallest value."""
    key = order_key(binding.arguments[0].parts[0])
    return lambda value: (0,) if value is None else (1, key(value))


def _with_element(result: str) -> Callable[[Sequence[Operand]], Resolved | None]:
    """Return a resolver for functions of an array and a value of its element type.

    The result is a boolean or a bigint if `result` is its name, else an array of the same type.
    """

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        if len(operands) != 2 or operands[0].type.name != "array":
            return None
        kind = common(operands[0].type.parts[0], operands[1].type)
        if kind is None:
            return None
        kinds = {"boolean": BOOLEAN, "bigint": BIGINT}
        return Resolved((array_of(kind), kind), kinds.get(result, array_of(kind)))

    return resolve


@ARRAYS.bound(
    summary="Return true if an element equals a value; null if none does and one of them is null.",
    examples=[("array_contains(array(1, 2), 2)", "true")],
    resolver=_with_element("boolean"),
    name="array_contains",
)
def _array_contains(binding: Binding) -> TupleFunction:
    key = key_of(binding)

    def row(values: Sequence[Any], value: Any) -> bool | None:
        wanted = key(value)
        if any(key(each) == wanted for each in values):
            return True
        return None if None in values else False

    return row


@ARRAYS.bound(
    summary="Return the place of the first element that equals a value, counted from 1, or 0.",
    examples=[("array_position(array(1, 2), 2)", "2")],
    resolver=_with_element("bigint"),
    name="array_position",
)
def _array_position(binding: Binding) -> TupleFunction:
    key = key_of(binding)

    def row(values: Sequence[Any], value: Any) -> int:
        wanted = key(value)
        return next((place for place, each in enumerate(values, 1) if key(each) == wanted), 0)

    return row


@ARRAYS.bound(
    summary="Remove the elements that equal a value.",
    examples=[("array_remove(array(1, 2, 1), 1)", "[2]")],
    resolver=_with_element("array"),
    name="array_remove",
)
def _array_remove(binding: Binding) -> TupleFunction:
    key = key_of(binding)
    return lambda values, value: tuple(each for each in values if key(each) != key(value))


ARRAYS.function(
    summary="Append an element.",
    examples=[("array_append(array(1), 2)", "[1, 2]")],
    resolver=_with_element("array"),
    name="array_append",
    strict=False,
)(lambda values, value: None if values is None else (*values, value))
ARRAYS.function(
    summary="Prepend an element.",
    examples=[("array_prepend(array(1), 2)", "[2, 1]")],
    resolver=_with_element("array"),
    name="array_prepend",
    strict=False,
)(lambda values, value: None if values is None else (value, *values))


def _extreme(choose: Callable[..., Any]) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        key = key_of(binding)
        return lambda values: choose((value for value in values if value is not None), key=key, default=None)

    return bind


ARRAYS.bound(
    "array_min(values array<T>) -> T",
    summary="Return the smallest element that is not null.",
    examples=[("array_min(array(3, 1, NULL))", "1")],
)(_extreme(min))
ARRAYS.bound(
    "array_max(values array<T>) -> T",
    summary="Return the largest element that is not null.",
    examples=[("array_max(array(3, 1, NULL))", "3")],
)(_extreme(max))


def _unique(values: Iterable[Any], key: Callable[[Any], Any]) -> tuple[Any, ...]:
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(key(value), value)
    return tuple(found.values())


@ARRAYS.bound(
    "array_distinct(values array<T>) -> array<T>",
    summary="Remove duplicates.",
    examples=[("array_distinct(array(1, 2, 1))", "[1, 2]")],
)
def _array_distinct(binding: Binding) -> TupleFunction:
    key = key_of(binding)
    return lambda values: _unique(values, key)


def _of_sets(choose: Callable[[bool], bool] | None) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        key = key_of(binding)

        def row(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
            if choose is None:
                return _unique((*one, *other), key)
            keys = {key(each) for each in other}
            return _unique((each for each in one if choose(key(each) in keys)), key)

        return row

    return bind


for _name, _choose, _summary, _value in (
    ("array_union", None, "Return the elements of either array, each once.", "[1, 2, 3]"),
    ("array_intersect", lambda there: there, "Return the elements that are in both arrays, each once.", "[2]"),
    (
        "array_except",
        lambda there: not there,
        "Return the elements of the first array that the second one lacks, each once.",
        "[1]",
    ),
):
    ARRAYS.bound(
        f"{_name}(one array<T>, other array<T>) -> array<T>",
        summary=_summary,
        examples=[(f"{_name}(array(1, 2), array(2, 3))", _value)],
    )(_of_sets(_choose))


@ARRAYS.bound(
    "arrays_overlap(one array<T>, other array<T>) -> boolean",
    summary="Return true if the arrays have an element in common; null if not and one of them has a null.",
    examples=[("arrays_overlap(array(1, 2), array(2, 3))", "true")],
)
def _arrays_overlap(binding: Binding) -> TupleFunction:
    key = key_of(binding)

    def row(one: Sequence[Any], other: Sequence[Any]) -> bool | None:
        if {key(each) for each in one if each is not None} & {key(each) for each in other if each is not None}:
            return True
        return None if one and other and (None in one or None in other) else False

    return row


@ARRAYS.function(
    "array_join(values array<string>, separator string, [missing string]) -> string",
    summary="Join the elements into one text; nulls are left out, or replaced by a text.",
    examples=[("array_join(array('a', NULL, 'b'), ',', '?')", "a,?,b")],
    exact=True,
)
def _array_join(values: Sequence[str | None], separator: str, missing: str | None = None) -> str:
    return separator.join(
        each if each is not None else missing or "" for each in values if each is not None or missing is not None
    )


@ARRAYS.function(
    "slice(values array<T>, start int, length int) -> array<T>",
    summary="Return `length` elements from a place on, counted from 1 (or from the end if negative).",
    examples=[("slice(array(1, 2, 3), -2, 2)", "[2, 3]")],
    fails=True,
)
def _slice(values: Sequence[Any], start: int, length: int) -> tuple[Any, ...]:
    if start == 0 or length < 0:
        message = f"slice counts from 1 and takes no negative length; start {start}, length {length}"
        raise EvaluationError(message)
    first = start - 1 if start > 0 else len(values) + start
    return tuple(values[first : first + length]) if first >= 0 else ()


@ARRAYS.bound(
    "sort_array(values array<T>, [ascending constant boolean]) -> array<T>",
    summary="Sort the elements; nulls come first, or last in descending order.",
    examples=[("sort_array(array(3, NULL, 1))", "[null, 1, 3]")],
)
def _sort_array(binding: Binding) -> TupleFunction:
    key = key_of(binding)
    return lambda values, ascending=True: tuple(sorted(values, key=key, reverse=not ascending))


@ARRAYS.bound(
    "array_sort(values array<T>) -> array<T>",
    summary="Sort the elements; nulls come last.",
    examples=[("array_sort(array(3, NULL, 1))", "[1, 3, null]")],
)
def _array_sort(binding: Binding) -> TupleFunction:
    key = key_of(binding)
    return lambda values: tuple(sorted(values, key=lambda each: (each is None, key(each))))


ARRAYS.function(
    "flatten(values array<array<T>>) -> array<T>",
    summary="Concatenate the arrays in an array.",
    examples=[("flatten(array(array(1), array(2, 3)))", "[1, 2, 3]")],
)(lambda values: None if None in values else tuple(each for part in values for each in part))


@ARRAYS.function(
    "array_repeat(value T, times int) -> array<T>",
    summary=f"Make an array that repeats a value, at most {_MOST:,} times.",
    examples=[("array_repeat('a', 2)", "[a, a]")],
    exact=True,
    strict=False,
    fails=True,
)
def _array_repeat(value: Any, times: int | None) -> tuple[Any, ...] | None:
    if times is None:
        return None
    if times > _MOST:
        message = f"an array of {times:,} elements is too long; at most {_MOST:,} are possible"
        raise EvaluationError(message)
    return (value,) * max(times, 0)


ARRAYS.function(
    "array_compact(values array<T>) -> array<T>",
    summary="Remove nulls.",
    examples=[("array_compact(array(1, NULL))", "[1]")],
)(lambda values: tuple(each for each in values if each is not None))


def _whole_sequence(operands: Sequence[Operand]) -> Resolved | None:
    kind = common_of(each.type for each in operands)
    if not 2 <= len(operands) <= 3 or kind is None or not kind.is_integral:
        return None
    return Resolved((kind,) * len(operands), array_of(kind))


@ARRAYS.function(
    summary=f"Return the whole numbers from one to another, by steps; at most {_MOST:,}.",
    examples=[("sequence(5, 1, -2)", "[5, 3, 1]")],
    resolver=_whole_sequence,
    name="sequence",
    fails=True,
)
def _sequence(start: int, stop: int, step: int | None = None) -> tuple[int, ...]:
    step = step if step is not None else 1 if stop >= start else -1
    if step == 0 and start == stop:
        return (start,)
    if step == 0 or ((stop > start) != (step > 0) and start != stop):
        message = f"no steps of {step} lead from {start} to {stop}"
        raise EvaluationError(message)
    numbers = range(start, stop + (1 if step > 0 else -1), step)
    if len(numbers) > _MOST:
        message = f"a sequence from {start} to {stop} has more than {_MOST:,} elements"
        raise EvaluationError(message)
    return tuple(numbers)
