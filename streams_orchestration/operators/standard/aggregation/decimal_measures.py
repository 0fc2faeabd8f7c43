"""Output functions of Aggregate over decimals of SPL, which are texts in streams.

Sums, means and deviations round to the digits of the type after each tuple, as in IBM Streams.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.operators.expressions.evaluation import Expression
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.list_measures import LIST_FUNCTIONS, by_element
from streams_orchestration.operators.standard.aggregation.streams_functions import FURTHER_FUNCTIONS, streams_measure
from streams_orchestration.operators.standard.aggregation.value_functions import (
    ANY,
    VALUE_FUNCTIONS,
    first_type,
    listed,
)
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction, ValueMeasure, folded
from streams_orchestration.spl.programs.wrapping import context_of
from streams_orchestration.spl.types.types import DECIMALS, Collection, Optional, Tuple, Type, parts_of_type

Numbered = Callable[[Any], Any]
"""A function that returns a value of some type with its decimals as `DecimalText`."""


_NAN = (True, Decimal(0))
"""The rank of NaN."""


class DecimalText(str):
    """The text of a decimal, which compares as its number. A NaN equals no other one, and is above all numbers.

    >>> one, same = DecimalText("1.0"), DecimalText("1.00")
    >>> one == same, one != same, one <= same, one >= same, DecimalText("9") < DecimalText("10")
    (True, False, True, True, True)
    """

    __slots__ = ()

    @property
    def _rank(self) -> tuple[bool, Decimal]:
        return _rank(self)

    def __eq__(self, other: object) -> bool:
        """Return True if the numbers are equal, or if the other object is this NaN itself."""
        return self is other or (isinstance(other, str) and self._rank == _rank(other) != _NAN)

    def __ne__(self, other: object) -> bool:
        """Return True if the numbers differ."""
        return not self == other

    def __hash__(self) -> int:
        """Return the hash of the number."""
        return hash(self._rank)

    def __lt__(self, other: str) -> bool:
        """Return True if the number is less than another one."""
        return self._rank < _rank(other)

    def __le__(self, other: str) -> bool:
        """Return True if the number is not greater than another one."""
        return self._rank <= _rank(other)

    def __ge__(self, other: str) -> bool:
        """Return True if the number is not less than another one."""
        return self._rank >= _rank(other)

    def __gt__(self, other: str) -> bool:
        """Return True if the number is greater than another one."""
        return self._rank > _rank(other)


def _rank(text: str) -> tuple[bool, Decimal]:
    number = Decimal(str.__str__(text))
    return _NAN if number.is_nan() else (False, number)


def decimal_measure(function: str, expressions: Sequence[Expression]) -> ValueMeasure | None:
    """Return the measure of a function over values with decimals; None for other values and unknown functions."""
    types = [each.spl_type for each in expressions]
    kinds = [each.arrow_type for each in expressions]
    if not any(each is not None and DECIMALS.keys() & set(parts_of_type(each)) for each in types):
        return None
    computed, first = _COMPUTED.get(function), types[0]
    if function in LIST_FUNCTIONS and isinstance(first, Collection):
        [element] = first.elements
        of_one = computed(context_of(element)) if computed else _by_number(VALUE_FUNCTIONS[function], [element])
        return ValueMeasure(by_element(function, of_one), expressions, kinds)
    if computed is not None:
        return ValueMeasure(computed(context_of(first)), expressions, kinds)
    known = _known(function, expressions)
    return None if known is None else ValueMeasure(_by_number(known, types), expressions, kinds)


def _known(function: str, expressions: Sequence[Expression]) -> ValueFunction | None:
    """Return the function over texts, which compares them; None if it is unknown."""
    measure = streams_measure(function, expressions)
    if isinstance(measure, ValueMeasure):
        return measure.function
    return FURTHER_FUNCTIONS.get(function) or VALUE_FUNCTIONS.get(function)


def _by_number(function: ValueFunction, types: Sequence[Type | None]) -> ValueFunction:
    """Return a function that compares decimals, and parts of values that are decimals, by their numbers."""
    numbered = [_unchanged if each is None else _numbered(each) for each in types]
    parts = {"value": numbered[0], "values": lambda values: list(map(numbered[0], values)), "by": numbered[-1]}

    def with_numbers(state: Any) -> Any:
        """Return a state, which may be a restored one, with the decimals that it compares."""
        if is_mapping(state):
            return {key: parts[key](value) if key in parts else value for key, value in state.items()}
        if is_list(state):
            return [with_numbers(each) if is_mapping(each) else numbered[0](each) for each in state]
        return state  # a set or a tally was made in this process

    def step(state: Any, row: Sequence[Any]) -> Any:
        arguments = [number(value) for value, number in zip(row, numbered, strict=True)]
        return function.step(with_numbers(state), arguments)

    def merge(one: Any, other: Any) -> Any:
        return function.merge(with_numbers(one), with_numbers(other))

    return replace(function, step=step, merge=merge)


def _unchanged(value: Any) -> Any:
    return value


def _numbered(type_: Type) -> Numbered:
    """Return a function that converts the decimals in a value of a type, as Arrow gives it, to `DecimalText`.

    For a type without decimals it is `_unchanged`.
    """
    if type_ in DECIMALS:
        return DecimalText
    match type_:
        case Optional(content=content):
            inner = _numbered(content)
            return inner if inner is _unchanged else lambda value: None if value is None else inner(value)
        case Tuple(attributes=attributes):
            parts = {each.name: _numbered(each.type) for each in attributes}
            if all(each is _unchanged for each in parts.values()):
                return _unchanged
            return lambda value: {name: part(value[name]) for name, part in parts.items()}
        case Collection(kind="map", elements=(key, content)):
            one, other = _numbered(key), _numbered(content)
            if one is other is _unchanged:
                return _unchanged
            return lambda value: [(one(each), other(held)) for each, held in value]
        case Collection(elements=(element,)):
            inner = _numbered(element)
            return inner if inner is _unchanged else lambda value: list(map(inner, value))
        case _:
            return _unchanged


def _sum(context: decimal.Context) -> ValueFunction:
    def merge(one: Any, other: Any) -> Any:
        return [str(context.add(Decimal(one[0]), Decimal(other[0])))]

    return folded(ANY, listed, first_type, lambda row: [row[0]], merge, lambda state, _: state[0])


def _states(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("mean", pa.string()), ("squares", pa.string())])


def _moments(context: decimal.Context, finish: Callable[[int, Decimal, Decimal], Decimal]) -> ValueFunction:
    """Return a function that keeps the mean, and the sum of squares of deviations from it.

    Args:
        context: the digits of the type.
        finish: returns the result from the count, the mean and the squares.
    """

    def parts(state: Any) -> tuple[int, Decimal, Decimal]:
        return int(state["count"]), Decimal(state["mean"]), Decimal(state["squares"])

    def state_of(count: int, mean: Decimal, squares: Decimal) -> dict[str, Any]:
        return {"count": count, "mean": str(mean), "squares": str(squares)}

    def step(state: Any, row: Sequence[Any]) -> Any:
        value = Decimal(row[0])
        if state is None:
            return state_of(1, value, Decimal(0))
        count, mean, squares = parts(state)
        apart = context.subtract(value, mean)
        now = context.add(mean, context.divide(apart, Decimal(count + 1)))
        return state_of(count + 1, now, context.fma(apart, context.subtract(value, now), squares))

    def merge(one: Any, other: Any) -> Any:
        (count, mean, squares), (more, further, added) = parts(one), parts(other)
        total, apart = Decimal(count + more), context.subtract(further, mean)
        now = context.add(mean, context.divide(context.multiply(apart, Decimal(more)), total))
        between = context.divide(context.multiply(context.multiply(apart, apart), Decimal(count * more)), total)
        return state_of(count + more, now, context.add(context.add(squares, added), between))

    return ValueFunction(ANY, _states, first_type, step, merge, lambda state, _: str(finish(*parts(state))))


def _deviation(*, sample: bool) -> Callable[[decimal.Context], ValueFunction]:
    def function(context: decimal.Context) -> ValueFunction:
        def finish(count: int, _mean: Decimal, squares: Decimal) -> Decimal:
            divisor = count - sample
            return context.sqrt(context.divide(squares, Decimal(divisor))) if divisor else Decimal(0)

        return _moments(context, finish)

    return function


_COMPUTED: dict[str, Callable[[decimal.Context], ValueFunction]] = {
    "Sum": _sum,
    "Average": lambda context: _moments(context, lambda _count, mean, _squares: mean),
    "SampleStdDev": _deviation(sample=True),
    "PopulationStdDev": _deviation(sample=False),
}
"""Map each output function that computes with decimals to its maker, which takes the decimal context of the type."""
