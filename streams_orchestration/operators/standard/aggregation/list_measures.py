"""Output functions of Aggregate over lists of numbers, element by element, as IBM Streams computes them.

All lists of a group must have the same size, else the functions raise DataError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.value_functions import ANY, first_type
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction

LIST_FUNCTIONS = frozenset(("Sum", "Min", "Max", "Average"))
"""The functions that take lists."""


def list_function(function: str, kind: pa.DataType) -> ValueFunction | None:
    """Return a function over lists of a type; None for other types than lists of numbers, and for other functions."""
    if function not in LIST_FUNCTIONS or not pa.types.is_list(kind):
        return None
    element = kind.value_type
    if not (pa.types.is_integer(element) or pa.types.is_floating(element)):
        return None
    if function == "Average":
        return _whole_means() if pa.types.is_integer(element) else _running_means(element)
    if function == "Sum":
        return _folded(function, _sum_of(element))
    return _folded(function, min if function == "Min" else max)


def _sum_of(element: pa.DataType) -> Callable[[Any, Any], Any]:
    if pa.types.is_floating(element):
        number = element.to_pandas_dtype()
        return lambda one, other: float(number(one) + number(other))
    return lambda one, other: wrapped(one + other, element)


def _folded(function: str, of_two: Callable[[Any, Any], Any]) -> ValueFunction:
    """Return a function over lists that combines elements at equal positions with `of_two`."""

    def merge(one: Any, other: Any) -> Any:
        return [of_two(*pair) for pair in pairs_of_lists(function, one, other)]

    def step(state: Any, row: Sequence[Any]) -> Any:
        return list(row[0]) if state is None else merge(state, row[0])

    return ValueFunction(ANY, first_type, first_type, step, merge, lambda state, _: state, by_arrival=True)


def by_element(name: str, function: ValueFunction) -> ValueFunction:
    """Return a function over lists that applies a function over their elements at each position."""

    def kind(types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.list_(function.state([types[0].value_type]))

    def step(state: Any, row: Sequence[Any]) -> Any:
        states = [None] * len(row[0]) if state is None else state
        return [function.step(each, [value]) for each, value in pairs_of_lists(name, states, row[0])]

    def merge(one: Any, other: Any) -> Any:
        return [function.merge(*pair) for pair in pairs_of_lists(name, one, other)]

    def finish(state: Any, type_: pa.DataType) -> Any:
        return None if state is None else [function.finish(each, type_.value_type) for each in state]

    return ValueFunction(ANY, kind, first_type, step, merge, finish, by_arrival=function.by_arrival)


def pairs_of_lists(function: str, one: Sequence[Any], other: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of elements at equal positions of two lists.

    Raises:
        DataError: the lists have different sizes; the message names the function.
    """
    if len(one) != len(other):
        message = (
            f"{function} of lists needs lists of one size; one has {len(one)} elements, another one has {len(other)}"
        )
        raise DataError(message)
    return list(zip(one, other, strict=True))


def _totals(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("totals", pa.list_(pa.decimal128(38, 0)))])


def _whole_means() -> ValueFunction:
    """Return the function `Average` over lists of integers: exact means, truncated to integers."""

    def step(state: Any, row: Sequence[Any]) -> Any:
        new = {"count": 1, "totals": list(row[0])}
        return new if state is None else merge(state, new)

    def merge(one: Any, other: Any) -> Any:
        pairs = pairs_of_lists("Average", one["totals"], other["totals"])
        return {"count": one["count"] + other["count"], "totals": [int(a) + int(b) for a, b in pairs]}

    def finish(state: Any, _kind: pa.DataType) -> Any:
        if state is None:
            return None
        count, totals = int(state["count"]), [int(each) for each in state["totals"]]
        return [each // count if each >= 0 else -(-each // count) for each in totals]

    return ValueFunction(ANY, _totals, first_type, step, merge, finish)


def _means(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("means", pa.list_(pa.float64()))])


def _running_means(element: pa.DataType) -> ValueFunction:
    """Return the function `Average` over lists of floating-point numbers, computed in the arithmetic of their type."""
    number = element.to_pandas_dtype()

    def step(state: Any, row: Sequence[Any]) -> Any:
        count = 0 if state is None else state["count"]
        means = [0.0] * len(row[0]) if state is None else state["means"]
        divisor = number(count + 1)
        moved = [
            float(number(mean) + (number(value) - number(mean)) / divisor)
            for mean, value in pairs_of_lists("Average", means, row[0])
        ]
        return {"count": count + 1, "means": moved}

    def merge(one: Any, other: Any) -> Any:
        count = one["count"] + other["count"]
        share = other["count"] / count
        pairs = pairs_of_lists("Average", one["means"], other["means"])
        return {"count": count, "means": [a + (b - a) * share for a, b in pairs]}

    return ValueFunction(
        ANY,
        _means,
        first_type,
        step,
        merge,
        lambda state, _: None if state is None else state["means"],
        by_arrival=True,
    )


def wrapped(value: int, kind: pa.DataType) -> int:
    """Return a whole number modulo the range of an integer type."""
    value &= (1 << kind.bit_width) - 1
    signed = pa.types.is_signed_integer(kind) and value >> (kind.bit_width - 1)
    return value - (1 << kind.bit_width) if signed else value
