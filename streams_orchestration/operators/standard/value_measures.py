"""Output functions of Aggregate over values of any type, computed value by value with Spark's semantics (ANSI)."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from streams_orchestration.operators.arrow_types import is_text, type_name
from streams_orchestration.operators.evaluated import Evaluated
from streams_orchestration.operators.expressions import Expression
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.states.keys import normalised

MAX_PRECISION = 38
_EXACT = decimal.Context(prec=2 * MAX_PRECISION + 2, rounding=decimal.ROUND_HALF_UP)


@dataclass(frozen=True)
class ValueFunction:
    """An output function, defined by how it updates a state and computes the result from it.

    Attributes:
        accepts: for each argument, a check of its type.
        state: returns the type of a group's state, given the arguments' types; the state is stored as a list or a
            struct.
        result: returns the type of the result, given the arguments' types.
        step: returns the state after one more tuple; the state of a new group is None.
        merge: returns the state of a whole group from the states of an earlier and a later part.
        finish: returns the result for a state.
        takes_null: True if tuples with a null argument count.
        by_arrival: True if the result depends on the order of arrival, so parts of a group that are not consecutive
            cannot be merged.
    """

    accepts: tuple[Callable[[pa.DataType], bool], ...]
    state: Callable[[Sequence[pa.DataType]], pa.DataType]
    result: Callable[[Sequence[pa.DataType]], pa.DataType]
    step: Callable[[Any, Sequence[Any]], Any]
    merge: Callable[[Any, Any], Any]
    finish: Callable[[Any, pa.DataType], Any]
    takes_null: bool = False
    by_arrival: bool = False


class Reached(NamedTuple):
    """The results of an output function for several groups."""

    values: pa.Array
    """The value of each group; null if it has none."""
    failures: Mapping[int, str] = {}
    """Maps the position of each group whose computation failed to the reason."""


class Measure(Protocol):
    """An output function over all groups of an Aggregate. Its results do not depend on batch boundaries.

    The state of a group is a count and a running value. The states of two parts of a group can be merged.
    """

    @property
    def expressions(self) -> Sequence[Expression]:
        """The arguments of the function."""
        ...

    @property
    def by_arrival(self) -> bool:
        """True if the result depends on the order of arrival; see `ValueFunction`."""
        ...

    @property
    def state_type(self) -> pa.DataType:
        """The Arrow type of the running values."""
        ...

    @property
    def result_type(self) -> pa.DataType:
        """The Arrow type of the results."""
        ...

    def add(self, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, batch: Evaluated) -> None:
        """Add a batch in which tuple i belongs to group `groups[i]`.

        Args:
            counts: the number of tuples of every group so far, updated in place; negative once the group has failed.
            values: the running values, updated in place; 0 or None for a group without tuples.
            groups: the group of every tuple.
            batch: the tuples.
        """
        ...

    def merge(
        self,
        counts: np.ndarray,
        values: np.ndarray,
        groups: np.ndarray,
        more_counts: np.ndarray,
        more_values: np.ndarray,
    ) -> None:
        """Merge counts and running values of later parts of groups, in the same way as `add` adds tuples."""
        ...

    def over(self, batch: Evaluated, starts: np.ndarray, ends: np.ndarray) -> Reached:
        """Return the results for ranges of tuples, which may overlap."""
        ...

    def result(self, counts: np.ndarray, values: np.ndarray) -> Reached:
        """Return the results for groups, given their counts and running values."""
        ...


class ValueMeasure:
    """An output function over all groups, where the state of a group is a Python object.

    Values are added in order of arrival, so batch boundaries make no difference.
    """

    def __init__(self, function: ValueFunction, expressions: Sequence[Any], types: Sequence[Any]) -> None:
        self.function = function
        self.expressions = expressions
        self.by_arrival = function.by_arrival
        self.state_type = function.state(types)
        self.result_type = function.result(types)

    def add(self, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, batch: Evaluated) -> None:
        """Add a batch in which tuple i belongs to group `groups[i]`; see `Measure.add`."""
        for group, row in zip(groups.tolist(), self._arguments(batch), strict=True):
            if self._counts(row):
                values[group] = self.function.step(values[group], row)
                counts[group] += 1

    def merge(
        self,
        counts: np.ndarray,
        values: np.ndarray,
        groups: np.ndarray,
        more_counts: np.ndarray,
        more_values: np.ndarray,
    ) -> None:
        """Merge the states of later parts of groups; see `Measure.merge`."""
        for group, count, state in zip(groups.tolist(), more_counts.tolist(), more_values, strict=True):
            if count:
                values[group] = state if values[group] is None else self.function.merge(values[group], state)
                counts[group] += count

    def over(self, batch: Evaluated, starts: np.ndarray, ends: np.ndarray) -> Reached:
        """Return the results for ranges of tuples, which may overlap."""
        rows, reached = list(self._arguments(batch)), list[Any]()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            state = None
            for row in rows[start:end]:
                state = self.function.step(state, row) if self._counts(row) else state
            reached.append(state)
        return self._finished(reached)

    def result(self, counts: np.ndarray, values: np.ndarray) -> Reached:
        """Return the results for groups."""
        return self._finished(values.tolist())

    def _finished(self, states: Sequence[Any]) -> Reached:
        values, failures = list[Any](), dict[int, str]()
        for group, state in enumerate(states):
            try:
                values.append(self.function.finish(state, self.result_type))
            except OverflowError:
                values.append(None)
                failures[group] = f"the result is beyond the range of {type_name(self.result_type)}"
        return Reached(pa.array(values, self.result_type), failures)

    def _arguments(self, batch: Evaluated) -> Any:
        """Return an iterator over the arguments of every tuple."""
        columns = [normalised(batch.value(each)).to_pylist() for each in self.expressions]
        return zip(*columns, strict=True)

    def _counts(self, row: Sequence[Any]) -> bool:
        return self.function.takes_null or row[-1] is not None


def rank(value: Any) -> tuple[bool, Any]:
    """Return a sort key that orders values as Spark does, with NaN above all numbers."""
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_ordered(kind: pa.DataType) -> bool:
    """Return True if values of a type have an order, as all types but arrays, maps and structs do."""
    return _is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind) or _is_bytes(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind)


def _anything(_kind: pa.DataType) -> bool:
    return True


def listed(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of a list of the first argument's values."""
    return pa.list_(types[0])


def first_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of the first argument."""
    return types[0]


def _double(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.float64()


def _doubles(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.list_(pa.float64())


def _bigint(_types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.int64()


def _pair(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("value", types[0]), ("by", types[1])])


def _only(state: Any, _kind: pa.DataType) -> Any:
    return None if state is None else state[0]


def _extreme(*, largest: bool) -> tuple[Callable[[Any, Sequence[Any]], Any], Callable[[Any, Any], Any]]:
    def step(state: Any, row: Sequence[Any]) -> Any:
        value = row[0]
        if state is None:
            return [value]
        new, old = rank(value), rank(state[0])
        return [value] if (new > old if largest else new < old) else state

    return step, step  # the other state is a list of its value, as a tuple is


def _extreme_by(*, largest: bool) -> tuple[Callable[[Any, Sequence[Any]], Any], Callable[[Any, Any], Any]]:
    def step(state: Any, row: Sequence[Any]) -> Any:
        value, by = row
        if state is not None:
            new, old = rank(by), rank(state["by"])
            if new < old if largest else new > old:
                return state
        return {"value": value, "by": by}

    return step, lambda one, other: step(one, (other["value"], other["by"]))


def _distinct(state: Any, row: Sequence[Any]) -> Any:
    """Add a value to the set of distinct values. A state that was restored is a list."""
    known = state if isinstance(state, set) else {same(each) for each in state or ()}
    known.add(same(row[0]))
    return known


def same(value: Any) -> Any:
    """Return a value that equals itself, so that NaN counts as one value."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _moments(state: Any, row: Sequence[Any]) -> Any:
    """Return the state of Welford's algorithm after one more value, as in Spark's `CentralMomentAgg`."""
    count, mean, squares = state or (0.0, 0.0, 0.0)
    value, count = float(row[0]), count + 1.0
    delta = value - mean
    part = delta / count
    return [count, mean + part, squares + delta * (delta - part)]


def _merged_moments(one: Any, other: Any) -> Any:
    count = one[0] + other[0]
    delta = other[1] - one[1]
    part = 0.0 if count == 0 else delta / count
    return [count, one[1] + part * other[0], one[2] + other[2] + delta * part * one[0] * other[0]]


def _deviation(*, sample: bool) -> Callable[[Any, pa.DataType], Any]:
    def finish(state: Any, _kind: pa.DataType) -> Any:
        if state is None or (sample and state[0] == 1):
            return None
        return math.sqrt(state[2] / (state[0] - sample)) if state[2] >= 0 else math.nan

    return finish


_LEAST, _MOST, _LEAST_BY, _MOST_BY = (
    _extreme(largest=False),
    _extreme(largest=True),
    _extreme_by(largest=False),
    _extreme_by(largest=True),
)
ORDERED, ANY, NUMBER = (is_ordered,), (_anything,), (_is_number,)

VALUE_FUNCTIONS: dict[str, ValueFunction] = {
    "Min": ValueFunction(
        ORDERED, listed, first_type, *_LEAST, _only,
    ),
    "Max": ValueFunction(
        ORDERED, listed, first_type, *_MOST, _only,
    ),
    "First": ValueFunction(
        ANY, listed, first_type, lambda state, row: state or [row[0]], lambda one, _: one, _only, takes_null=True,
        by_arrival=True,
    ),
    "Last": ValueFunction(
        ANY, listed, first_type, lambda _, row: [row[0]], lambda _, other: other, _only, takes_null=True,
        by_arrival=True,
    ),
    "ArgMin": ValueFunction(
        (_anything, is_ordered), _pair, first_type, *_LEAST_BY,
        lambda state, _: None if state is None else state["value"], by_arrival=True,
    ),
    "ArgMax": ValueFunction(
        (_anything, is_ordered), _pair, first_type, *_MOST_BY,
        lambda state, _: None if state is None else state["value"], by_arrival=True,
    ),
    "CountDistinct": ValueFunction(
        ORDERED, listed, _bigint, _distinct, lambda one, other: {*map(same, one), *map(same, other)},
        lambda state, _: 0 if state is None else len(state),
    ),
    "StdDev": ValueFunction(
        NUMBER, _doubles, _double, _moments, _merged_moments, _deviation(sample=True),
    ),
    "StdDevPop": ValueFunction(
        NUMBER, _doubles, _double, _moments, _merged_moments, _deviation(sample=False),
    ),
}  # fmt: skip
"""Maps names to functions. For numbers, `measure` has faster versions of `Min` and `Max`."""


def collect_list(limit: int) -> ValueFunction:
    """Return `CollectList` limited to the first `limit` values."""

    def step(state: Any, row: Sequence[Any]) -> Any:
        known = [] if state is None else state
        if len(known) < limit:
            known.append(row[0])
        return known

    return ValueFunction(
        ANY, listed, listed, step, lambda one, other: [*one, *other][:limit],
        lambda state, _: [] if state is None else state, by_arrival=True,
    )  # fmt: skip


def _precision(by: int, scale_by: int) -> Callable[[Sequence[pa.DataType]], pa.DataType]:
    def kind(types: Sequence[pa.DataType]) -> pa.DataType:
        precision, scale = types[0].precision + by, types[0].scale + scale_by
        return pa.decimal128(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))

    return kind


def _total(state: Any, row: Sequence[Any]) -> Any:
    count, total = (0, decimal.Decimal(0)) if state is None else (state["count"], state["total"])
    return {"count": count + 1, "total": _EXACT.add(total, row[0])}


def _totals(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("total", pa.decimal256(76, types[0].scale))])


def _fitted(value: decimal.Decimal, kind: pa.DataType) -> decimal.Decimal:
    fitted = value.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if fitted.adjusted() >= kind.precision - kind.scale and fitted:
        raise OverflowError
    return fitted


def _sum_of(state: Any, kind: pa.DataType) -> Any:
    return None if state is None else _fitted(state["total"], kind)


def _mean_of(state: Any, kind: pa.DataType) -> Any:
    return None if state is None else _fitted(_EXACT.divide(state["total"], decimal.Decimal(state["count"])), kind)


def _together(one: Any, other: Any) -> Any:
    return {"count": one["count"] + other["count"], "total": _EXACT.add(one["total"], other["total"])}


DECIMAL_FUNCTIONS: dict[str, ValueFunction] = {
    "Sum": ValueFunction((_is_decimal,), _totals, _precision(10, 0), _total, _together, _sum_of),
    "Average": ValueFunction((_is_decimal,), _totals, _precision(4, 4), _total, _together, _mean_of),
}  # fmt: skip
"""The functions of decimals, whose results are decimals."""
