"""Output functions of Aggregate over lists of numbers, element by element, as IBM Streams computes them.

All lists of a group must have the same size, else the functions raise DataError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.value_functions import ANY, first_type
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction, folded

LIST_FUNCTIONS = frozenset(("Sum", "Min", "Max", "Average"))
"""The functions that take lists."""


def combined_elements(function: str, element: pa.DataType) -> ValueFunction:
    """Return the function `Sum`, `Min` or `Max` of numbers of a type, for the elements at one position of lists."""
    combine = _sum_of(element) if function == "Sum" else min if function == "Min" else max
    return folded(ANY, first_type, first_type, lambda row: row[0], combine, lambda state, _: state)


def _sum_of(element: pa.DataType) -> Callable[[Any, Any], Any]:
    if pa.types.is_floating(element):
        number = element.to_pandas_dtype()
        return lambda one, other: float(number(one) + number(other))
    return lambda one, other: wrapped(one + other, element)


def by_element(name: str, function: ValueFunction) -> ValueFunction:
    """Return a function over lists that applies a function over their elements at each position."""

    def kind(types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.list_(function.state([types[0].value_type]))

    def step(state: Any, row: Sequence[Any]) -> Any:
        states = [None] * len(row[0]) if state is None else state
        return [function.step(each, [value]) for each, value in _pairs(name, states, row[0])]

    def merge(one: Any, other: Any) -> Any:
        return [function.merge(*pair) for pair in _pairs(name, one, other)]

    def finish(state: Any, type_: pa.DataType) -> Any:
        return [function.finish(each, type_.value_type) for each in state]

    return ValueFunction(ANY, kind, first_type, step, merge, finish, by_arrival=function.by_arrival)


def _pairs(function: str, one: Sequence[Any], other: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of elements at equal positions of two lists. Raises DataError if their sizes differ."""
    if len(one) != len(other):
        message = (
            f"{function} of lists needs lists of one size; one has {len(one)} elements, another one has {len(other)}"
        )
        raise DataError(message)
    return list(zip(one, other, strict=True))


def wrapped(value: int, kind: pa.DataType) -> int:
    """Return a whole number modulo the range of an integer type."""
    value &= (1 << kind.bit_width) - 1
    signed = pa.types.is_signed_integer(kind) and value >> (kind.bit_width - 1)
    return value - (1 << kind.bit_width) if signed else value
