"""Output functions of Aggregate that IBM Streams has and Spark lacks, and those that differ in type and value.

With `functions: streams`, results have the type of their argument, so sums of integers wrap around and means of
integers are truncated. Counts are ints. If several tuples are extreme, the first one decides.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import Expression
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.list_measures import (
    LIST_FUNCTIONS,
    by_element,
    combined_elements,
    wrapped,
)
from streams_orchestration.operators.standard.aggregation.number_measure import Measure, NumberMeasure
from streams_orchestration.operators.standard.aggregation.value_functions import (
    ANY,
    DECIMAL_FUNCTIONS,
    NUMBER,
    ORDERED,
    VALUE_FUNCTIONS,
    another,
    arg_extreme,
    bigint,
    collect_list,
    count_distinct,
    doubles,
    first_type,
    frozen,
    is_ordered,
    listed,
    rank,
    same,
)
from streams_orchestration.operators.standard.aggregation.value_measures import (
    ValueFunction,
    ValueMeasure,
    folded,
)
from streams_orchestration.operators.tuples.arrow_types import is_text

Functions = Literal["spark", "streams"]
"""The system that defines types and values of output functions."""
_COUNTS = ("Count", "CountDistinct", "ApproxCountDistinct", "MinCount", "MaxCount")


class Tally(Sequence[Any]):
    """The values of a group with their counts, in the order of first arrival.

    It is a sequence of structs of a value and its count, since states are stored as lists.
    """

    def __init__(self, stored: Sequence[Mapping[str, Any]], single: Callable[[Any], Any]) -> None:
        self.counts: dict[Any, int] = {frozen(each["value"], single): int(each["count"]) for each in stored}

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, place: Any) -> Any:
        return [{"value": value, "count": count} for value, count in self.counts.items()][place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def add(self, value: Any, count: int = 1) -> None:
        """Count a value."""
        self.counts[value] = self.counts.get(value, 0) + count


def _tally(finish: Callable[[dict[Any, int]], Any], result: Any, single: Callable[[Any], Any] = same) -> ValueFunction:
    """Return an output function of the distinct values with their counts.

    Args:
        finish: returns the result from the counts by value.
        result: returns the type of the result.
        single: converts values without parts; see `frozen`.
    """

    def tally_of(state: Any) -> Tally:
        return state if isinstance(state, Tally) else Tally(state or (), single)

    def step(state: Any, row: Sequence[Any]) -> Any:
        tally = tally_of(state)
        tally.add(frozen(row[0], single))
        return tally

    def merge(one: Any, other: Any) -> Any:
        tally = Tally(tally_of(one)[:], single)
        for value, count in tally_of(other).counts.items():
            tally.add(frozen(value, single), count)
        return tally

    return ValueFunction(
        ANY,
        _tallies,
        result,
        step,
        merge,
        lambda state, _: finish(tally_of(state).counts),
        empty=[],
        by_arrival=True,
        by_key=True,
    )


def _tallies(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.list_(pa.struct([("value", types[0]), ("count", pa.int64())]))


def _counted(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("value", types[0]), ("count", pa.int64())])


def _bigints(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.list_(pa.int64())


def _values(counts: dict[Any, int]) -> list[int]:
    return list(counts.values())


def _extreme_count(*, largest: bool) -> ValueFunction:
    def merge(one: Any, other: Any) -> Any:
        new, old = rank(other["value"]), rank(one["value"])
        if new == old:
            return {"value": one["value"], "count": one["count"] + other["count"]}
        return other if (new > old) is largest else one

    def first(row: Sequence[Any]) -> Any:
        return {"value": row[0], "count": 1}

    return folded(ORDERED, _counted, bigint, first, merge, lambda state, _: state["count"], empty=0)


def _collected_by(*, largest: bool) -> ValueFunction:
    def kind(types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.struct([("by", types[1]), ("values", pa.list_(types[0]))])

    def merge(one: Any, other: Any) -> Any:
        new, old = rank(other["by"]), rank(one["by"])
        if new == old:
            further = [value for value in other["values"] if value not in one["values"]]
            return {"by": one["by"], "values": [*one["values"], *further]}
        return other if (new > old) is largest else one

    return folded(
        (ANY[0], is_ordered),
        kind,
        listed,
        lambda row: {"by": row[1], "values": [same(row[0])]},
        merge,
        lambda state, _: state["values"],
        empty=[],
        by_arrival=True,
    )


JOINED = replace(
    collect_list(),
    accepts=(is_text,),
    result=first_type,
    finish=lambda state, _: "".join(state),
    empty=None,
)
"""The function `Sum` over texts, which joins them in the order of arrival."""

FURTHER_FUNCTIONS: dict[str, ValueFunction] = {
    "Any": VALUE_FUNCTIONS["Last"],
    "Collect": replace(collect_list(), takes_null=True),
    "CollectDistinct": _tally(list, listed),
    "CountByDistinct": _tally(_values, _bigints),
    "MinCount": _extreme_count(largest=False),
    "MaxCount": _extreme_count(largest=True),
    "CollectArgMin": _collected_by(largest=False),
    "CollectArgMax": _collected_by(largest=True),
    "SampleStdDev": VALUE_FUNCTIONS["StdDev"],
    "PopulationStdDev": VALUE_FUNCTIONS["StdDevPop"],
}
"""The functions over values that only IBM Streams has."""
_APART = {
    "CollectDistinct": _tally(list, listed, another),
    "CountByDistinct": _tally(_values, _bigints, another),
    "CountDistinct": count_distinct(another),
}
"""The functions of distinct values in SPL, where no NaN equals another one."""


class TypedMeasure(NumberMeasure):
    """A numeric output function whose result has the type of its argument; integers wrap around."""

    def __init__(self, function: str, expression: Expression | None = None) -> None:
        kind = pa.int32() if expression is None else expression.arrow_type
        super().__init__(function, expression, whole=pa.types.is_integer(kind))
        self.kind = kind
        if function == "Sum" and pa.types.is_floating(kind):
            self.type = np.dtype(kind.to_pandas_dtype())

    def _values(self, batch: Evaluated) -> pa.Array:
        values = batch.value(self.expression)
        return values.view(pa.int64()) if pa.types.is_uint64(values.type) else super()._values(batch)

    def _may_overflow(self, values: np.ndarray, added: np.ndarray) -> bool:
        return False

    def _overflows(self, values: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> Mapping[int, str]:
        return {}

    @property
    def result_type(self) -> pa.DataType:
        """The type of the argument; int for `Count`."""
        return self.kind

    def _finished(self, values: np.ndarray, counts: np.ndarray) -> pa.Array:
        if self.function == "Average":
            parts = np.maximum(counts, 1)
            values = np.sign(values) * (np.abs(values) // parts)
        cut = np.asarray(values).astype(self.kind.to_pandas_dtype())
        return pa.array(cut, self.kind, mask=None if self.function == "Count" else counts <= 0)


def streams_measure(function: str, expressions: Sequence[Expression]) -> Measure | None:
    """Return the measure of a function as IBM Streams computes it; None if Spark's measure for these types is the same.

    The result is None also for an unknown function. The caller must have refused a wrong number of arguments, and types
    that the function does not take.
    """
    types = [each.arrow_type for each in expressions]
    if function == "Count":
        return TypedMeasure(function)
    if function in ("ArgMin", "ArgMax"):
        return ValueMeasure(arg_extreme(operator.gt if function == "ArgMax" else operator.lt), expressions, types)
    if function in FURTHER_FUNCTIONS or function == "CountDistinct":
        known = FURTHER_FUNCTIONS.get(function) or VALUE_FUNCTIONS[function]
        if not all(each.equals_itself for each in expressions):
            known = _APART.get(function, known)
        if function in _COUNTS:
            return ValueMeasure(replace(known, result=lambda _: pa.int32()), expressions, types)
        if function in _APART:
            ints = function == "CountByDistinct"
            known = replace(known, result=lambda _: pa.list_(pa.int32())) if ints else known
            return ValueMeasure(known, expressions, types)
    kind = types[0]
    if len(types) == 1 and (of_lists := _list_function(function, kind)) is not None:
        return ValueMeasure(of_lists, expressions, types)
    if function == "Sum" and len(types) == 1 and is_text(kind):
        return ValueMeasure(JOINED, expressions, types)
    whole, floating = pa.types.is_integer(kind), pa.types.is_floating(kind)
    if function in ("Sum", "Min", "Max") and (whole or floating):
        if function != "Sum" and pa.types.is_uint64(kind):
            return ValueMeasure(VALUE_FUNCTIONS[function], expressions, types)
        return TypedMeasure(function, expressions[0])
    if function == "Average" and whole and kind.bit_width < 64:
        return TypedMeasure(function, expressions[0])
    if function == "Average" and (whole or floating):
        return ValueMeasure(_EXACT_MEAN if whole else _running_mean(kind), expressions, types)
    if function in ("StdDev", "SampleStdDev", "StdDevPop", "PopulationStdDev") and (whole or floating):
        return ValueMeasure(_deviation(kind, sample="Sample" in function or function == "StdDev"), expressions, types)
    return None


def _arithmetic(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return a function that converts a number to the Python or numpy number with the arithmetic of a floating type."""
    return float if pa.types.is_float64(kind) else kind.to_pandas_dtype()


def _mean(kind: pa.DataType) -> Callable[[Any, Sequence[Any]], Any]:
    number = _arithmetic(kind)

    def step(state: Any, row: Sequence[Any]) -> Any:
        count, mean = (0.0, number(0)) if state is None else (state[0], number(state[1]))
        mean += (number(row[0]) - mean) / number(count + 1)
        return [count + 1, float(mean)]

    return step


def _running_mean(kind: pa.DataType) -> ValueFunction:
    def merge(one: Any, other: Any) -> Any:
        count = one[0] + other[0]
        return [count, one[1] + (other[1] - one[1]) * (other[0] / count)]

    return ValueFunction(NUMBER, doubles, first_type, _mean(kind), merge, lambda state, _: state[1])


def _truncated(total: int, count: int) -> int:
    return total // count if total >= 0 else -(-total // count)


def _mean_of_total(state: Any, _kind: pa.DataType) -> Any:
    return _truncated(int(state["total"]), int(state["count"]))


def _totals(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("total", pa.decimal128(38, 0))])


_EXACT_MEAN = replace(
    DECIMAL_FUNCTIONS["Average"], accepts=NUMBER, state=_totals, result=first_type, finish=_mean_of_total
)


def _list_function(function: str, kind: pa.DataType) -> ValueFunction | None:
    """Return a function over lists of numbers; None for other types and functions."""
    element = kind.value_type if pa.types.is_list(kind) else kind
    whole = pa.types.is_integer(element)
    if element is kind or function not in LIST_FUNCTIONS or not (whole or pa.types.is_floating(element)):
        return None
    if function == "Average" and whole:
        return by_element(function, _EXACT_MEAN)
    of_one = _running_mean(element) if function == "Average" else combined_elements(function, element)
    return replace(by_element(function, of_one), by_arrival=True)


def _deviation(kind: pa.DataType, *, sample: bool) -> ValueFunction:
    """Return the function that computes the standard deviation by the arithmetic of a type; 0 for a sample of one."""
    if pa.types.is_integer(kind):
        return _whole_deviation(kind, sample=sample)
    number, mean = _arithmetic(kind), _mean(kind)

    def step(state: Any, row: Sequence[Any]) -> Any:
        value = number(row[0])
        count, now = mean(None if state is None else state[:2], row)
        if state is None:
            return [count, now, 0.0]
        deviation = number(state[2]) + (value - number(state[1])) * (value - number(now))
        return [count, now, float(deviation)]

    def finish(state: Any, _kind: pa.DataType) -> Any:
        share = state[2] / (state[0] - sample) if state[0] != sample else 0.0
        return math.sqrt(share) if share >= 0 else math.nan

    return ValueFunction(NUMBER, doubles, first_type, step, VALUE_FUNCTIONS["StdDev"].merge, finish)


def _whole_deviation(kind: pa.DataType, *, sample: bool) -> ValueFunction:
    """Return the function that computes the standard deviation of integers with truncated means and results."""

    def states(_types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.struct([("count", pa.int64()), ("total", pa.decimal128(38, 0)), ("squares", pa.decimal128(38, 0))])

    def step(state: Any, row: Sequence[Any]) -> Any:
        value = int(row[0])
        if state is None:
            return {"count": 1, "total": value, "squares": 0}
        count, total = int(state["count"]), int(state["total"])
        before, now = _truncated(total, count), _truncated(total + value, count + 1)
        squares = int(state["squares"]) + (value - before) * (value - now)
        return {"count": count + 1, "total": total + value, "squares": wrapped(squares, kind)}

    def merge(one: Any, other: Any) -> Any:
        counts, totals = [int(each["count"]) for each in (one, other)], [int(each["total"]) for each in (one, other)]
        apart = _truncated(totals[1], counts[1]) - _truncated(totals[0], counts[0])
        squares = int(one["squares"]) + int(other["squares"]) + apart**2 * counts[0] * counts[1] // sum(counts)
        return {"count": sum(counts), "total": sum(totals), "squares": wrapped(squares, kind)}

    def finish(state: Any, _kind: pa.DataType) -> Any:
        parts, squares = int(state["count"]) - sample, int(state["squares"])
        return math.isqrt(squares // parts) if parts and squares > 0 else 0

    return ValueFunction(NUMBER, states, first_type, step, merge, finish)
