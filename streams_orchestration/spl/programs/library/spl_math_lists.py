"""`spl.math`: functions of lists of numbers, with the arithmetic of their element type.

>>> from streams_orchestration.spl.types.types import FLOAT64, Collection
>>> BUILTINS["median"][0][1].make((Collection("list", (FLOAT64,)),), FLOAT64)([4.0, 1.0, 2.0, 3.0])
2.5
"""

from __future__ import annotations

# pyright: standard
import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.collection_types import LIST, element_of
from streams_orchestration.spl.programs.library.registry import BUILTINS, typed
from streams_orchestration.spl.programs.values import default_of
from streams_orchestration.spl.programs.wrapping import (
    context_of,
    float_quotient,
    ordering,
    preferring,
    quotient,
    truncated,
    wrapper,
)
from streams_orchestration.spl.types.types import DECIMALS, INTEGERS, REALS, Primitive, Type

__all__ = ["BUILTINS"]
Numbers = list[Any]


@typed("abs", when=LIST)
def _abs(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element = element_of(types[0])
    wrap = wrapper(element)
    absolute = context_of(element).abs if element in DECIMALS else lambda value: wrap(abs(value))
    return lambda values: list(map(absolute, values))


def _chosen(name: str, better: Callable[[Any, Any], bool]) -> None:
    """Register the function that returns the best element of a list; the default of its type for an empty list."""

    def make(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
        element = element_of(types[0])
        choose = preferring(better, element)
        return lambda values: functools.reduce(choose, values) if values else default_of(element)

    typed(name, when=LIST)(make)


_chosen("max", operator.gt)
_chosen("min", operator.lt)


@typed("sum", when=LIST)
def _sum(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    return _sum_of(element_of(types[0]))


def _sum_of(element: Type) -> Callable[[Numbers], Any]:
    """Return the function that adds the numbers of a list in order, rounding as their type does; 0 without any."""
    wrap = wrapper(element)
    if isinstance(element, Primitive) and element in INTEGERS:
        return lambda values: wrap(sum(values))
    add = context_of(element).add if element in DECIMALS else lambda one, other: wrap(one + other)
    return lambda values: functools.reduce(add, values) if values else default_of(element)


@typed("avg", when=LIST)
def _avg(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    return _avg_of(element_of(types[0]))


def _avg_of(element: Type) -> Callable[[Numbers], Any]:
    """Return the function that divides the sum of a list by its length, both in the type of the elements.

    An empty list gives 0. The function raises RunError if a length other than 0 becomes 0 in a small integer type.
    """
    total, divide = _sum_of(element), _division(element)
    return lambda values: divide(total(values), len(values)) if values else default_of(element)


def _division(element: Type) -> Callable[[Any, int], Any]:
    """Return a function that divides a number by a count, after casting the count to the type of the number.

    For integers it raises RunError if the cast count is 0.
    """
    wrap = wrapper(element)
    if element in INTEGERS:
        return lambda value, count: wrap(quotient(value, wrap(count)))
    if element in DECIMALS:
        return context_of(element).divide
    return lambda value, count: wrap(float_quotient(value, float(count)))


@typed("kthelem", when=LIST)
def _kthelem(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = ordering(element_of(types[0]))

    def kthelem(values: list[Any], k: int) -> Any:
        if k >= len(values):
            message = f"kthelem: {k} is outside of a list of {len(values)} elements"
            raise RunError(message)
        return sorted(values, key=key)[k]

    return kthelem


@typed("median", when=LIST)
def _median(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element = element_of(types[0])
    key, total, divide = ordering(element), _sum_of(element), _division(element)

    def median(values: list[Any]) -> Any:
        if not values:
            return default_of(element)
        ordered, half = sorted(values, key=key), len(values) // 2
        if len(ordered) % 2 or element not in REALS:
            return ordered[half]
        return divide(total([ordered[half], ordered[half - 1]]), 2)

    return median


@typed("stddev", when=LIST)
def _stddev(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    element = element_of(types[0])
    wrap, mean, total, divide = wrapper(element), _avg_of(element), _sum_of(element), _division(element)

    subtract: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    square_root: Callable[[Any], Any]
    if element in DECIMALS:
        context = context_of(element)
        subtract, multiply, square_root = context.subtract, context.multiply, context.sqrt
    else:
        subtract, multiply = (lambda one, other: wrap(one - other)), (lambda one, other: wrap(one * other))
        square_root = math.sqrt

    def squares(values: Iterable[Any], middle: Any) -> list[Any]:
        return [multiply(difference, difference) for difference in (subtract(value, middle) for value in values)]

    def stddev(values: list[Any], sample: bool = False) -> Any:  # noqa: FBT001, FBT002
        if not values:
            return default_of(element)
        variance = divide(total(squares(values, mean(values))), len(values) - (1 if sample else 0))
        root = square_root(variance) if variance >= 0 else math.nan
        return truncated(root) if element in INTEGERS else wrap(root)

    return stddev
