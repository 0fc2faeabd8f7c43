"""Output functions of Aggregate: counts, sums, averages and extremes, computed for all groups at once."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import Part, outer_call
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.errors import FaultyExpressionError
from streams_orchestration.operators.evaluated import Evaluated
from streams_orchestration.operators.expressions import Expression, note, read_expression
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.standard.approximate_counts import NAME as APPROXIMATE
from streams_orchestration.operators.standard.approximate_counts import approx_count_distinct
from streams_orchestration.operators.standard.output_functions import OUTPUT_FUNCTIONS, OutputFunction
from streams_orchestration.operators.standard.pane_functions import PANE_FUNCTIONS
from streams_orchestration.operators.standard.value_measures import (
    DECIMAL_FUNCTIONS,
    VALUE_FUNCTIONS,
    Measure,
    Reached,
    ValueFunction,
    ValueMeasure,
    collect_list,
)
from streams_orchestration.operators.windows.ranges import reduce_ranges

FUNCTIONS: dict[str, OutputFunction] = {each.name: each for each in OUTPUT_FUNCTIONS}
"""The output functions by name."""


_FAILED = -(1 << 60)
"""The count of a group whose sum overflowed. It stays negative whatever tuples or groups are added later."""
_OVERFLOW = "the sum is beyond the range of bigint; CAST the argument to DOUBLE"


class NumberMeasure:
    """One numeric output function over all groups.

    Sums are added tuple by tuple in order of arrival (`numpy.add.at`), so a replay with other batch boundaries gives
    bit-identical results.
    """

    def __init__(self, function: str, expression: Any = None, *, whole: bool = False) -> None:
        self.function = function
        self.expression = expression
        self.expressions = () if expression is None else (expression,)
        self.by_arrival = False
        self.type = np.dtype(np.int64 if whole else np.float64)
        # the initial minimum is NaN, since any number replaces it
        least, most = (np.iinfo(np.int64).min, np.iinfo(np.int64).max) if whole else (-np.inf, np.nan)
        self.start = {"Min": most, "Max": least}.get(function, 0)

    def add(self, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, batch: Evaluated) -> None:
        """Add a batch to the running values, which are sums or extremes; see `Measure.add`."""
        if self.expression is None:
            counts += np.bincount(groups, minlength=len(counts))
            return
        array = pc.cast(batch.value(self.expression), pa.from_numpy_dtype(self.type))
        if array.null_count:
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            groups, array = groups[valid], array.drop_null()
        added = array.to_numpy(zero_copy_only=False)
        if self.start:
            values[groups[counts[groups] == 0]] = self.start
        counts += np.bincount(groups, minlength=len(counts))
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are values like any other
            match self.function:
                case "Min":  # where NaN is above all numbers
                    np.fmin.at(values, groups, added)
                case "Max":
                    np.maximum.at(values, groups, added)
                case _ if self._may_overflow(values if len(values) < len(added) else values[groups], added):
                    self._add_exactly(counts, values, groups, added)
                case _:
                    np.add.at(values, groups, added)

    def merge(
        self,
        counts: np.ndarray,
        values: np.ndarray,
        groups: np.ndarray,
        more_counts: np.ndarray,
        more_values: np.ndarray,
    ) -> None:
        """Add the counts and running values of other groups instead of tuples; the other arguments are as for `add`."""
        there = np.flatnonzero(more_counts)
        groups, more_values = groups[there], more_values[there]
        if self.start:
            values[groups[counts[groups] == 0]] = self.start
        np.add.at(counts, groups, more_counts[there])
        with np.errstate(invalid="ignore", over="ignore"):
            match self.function:
                case "Min":
                    np.fmin.at(values, groups, more_values)
                case "Max":
                    np.maximum.at(values, groups, more_values)
                case _ if self._may_overflow(values, more_values):
                    self._add_exactly(counts, values, groups, more_values)
                case _:
                    np.add.at(values, groups, more_values)
        counts[counts < 0] = _FAILED

    def over(self, batch: Evaluated, starts: np.ndarray, ends: np.ndarray) -> Reached:
        """Return the value of each range of tuples, added in order; null for a range without values.

        Ranges may overlap.
        """
        if self.expression is None:
            return Reached(pa.array(ends - starts))
        array = pc.cast(batch.value(self.expression), pa.from_numpy_dtype(self.type))
        if array.null_count:
            before = np.r_[0, np.cumsum(array.is_valid().to_numpy(zero_copy_only=False))]
            starts, ends, array = before[starts], before[ends], array.drop_null()
        values, counts = array.to_numpy(zero_copy_only=False), ends - starts
        operation = {"Min": np.fmin, "Max": np.maximum}.get(self.function, np.add)
        failures: dict[int, str] = {}
        whole = operation is np.add and self.type == np.int64
        if whole and _largest(values) * int(counts.max(initial=0)) > np.iinfo(np.int64).max:
            for group, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
                if not all(map(_in_range, itertools.accumulate(values[start:end].tolist()))):
                    failures[group] = _OVERFLOW
        with np.errstate(invalid="ignore", over="ignore"):
            reached = reduce_ranges(operation, values, starts, ends, self.start)
        if self.function == "Average":
            reached = reached / np.maximum(counts, 1)
        return Reached(pa.array(reached, mask=counts == 0), failures)

    def _may_overflow(self, values: np.ndarray, added: np.ndarray) -> bool:
        """Return True if a sum of integers may exceed 64 bits, by a cheap upper estimate."""
        if self.type != np.int64 or not len(added):
            return False
        return _largest(values) + _largest(added) * len(added) > np.iinfo(np.int64).max

    @staticmethod
    def _add_exactly(counts: np.ndarray, values: np.ndarray, groups: np.ndarray, added: np.ndarray) -> None:
        """Add tuple by tuple. A group whose sum exceeds 64 bits is marked as failed."""
        for group, value in zip(groups.tolist(), added.tolist(), strict=True):
            total = int(values[group]) + value
            if _in_range(total):
                values[group] = total
            else:
                counts[group] = _FAILED

    @property
    def state_type(self) -> pa.DataType:
        """The Arrow type of the running values."""
        return pa.from_numpy_dtype(self.type)

    @property
    def result_type(self) -> pa.DataType:
        """The Arrow type of the results."""
        if self.function == "Count":
            return pa.int64()
        return pa.float64() if self.function == "Average" else pa.from_numpy_dtype(self.type)

    def result(self, counts: np.ndarray, values: np.ndarray) -> Reached:
        """Return the results of groups; null if no tuple of a group had a value."""
        if self.function == "Count":
            return Reached(pa.array(counts))
        divided = values / np.maximum(counts, 1) if self.function == "Average" else values
        failures = dict.fromkeys(np.flatnonzero(counts < 0).tolist(), _OVERFLOW)
        return Reached(pa.array(divided, mask=counts <= 0), failures)


def _in_range(total: int) -> bool:
    """Return True if a sum fits a bigint."""
    return -(1 << 63) <= total < 1 << 63


def _largest(values: np.ndarray) -> int:
    """Return the largest magnitude, as a Python integer."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def parse_measure(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Measure:
    """Parse an output function, as `_measure` does, and record its canonical text."""
    measure = _measure(text, schema, parameter, zone)
    note(parameter, text, lambda: _canonical(text, schema, parameter, zone))
    return measure


def _canonical(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> str:
    call = outer_call(text)
    assert call is not None
    arguments = (_argument(text, part, schema, parameter, zone).canonical() for part in call.arguments)
    return f"{call.name}({', '.join(arguments)})"


def _measure(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Measure:
    """Parse an output function such as `Average(dep_delay > 15)`.

    Args:
        text: the function with its argument.
        schema: the schema of the stream whose attributes it may use.
        parameter: the name of the parameter, for errors.
        zone: the time zone of the application.

    Raises:
        ValueError: there is no such function, or its argument does not fit.
    """

    def fault(message: str, offset: int | None = None) -> FaultyExpressionError:
        return FaultyExpressionError(f"{parameter}: {message}", parameter, text, offset)

    try:
        call = outer_call(text)
    except ExpressionError as error:
        message = f"{text!r}: {error}"
        raise fault(message, error.offset) from error
    if call is None or call.name not in FUNCTIONS:
        known = (*FUNCTIONS, *PANE_FUNCTIONS)
        message = f"{text!r} is no output function{nearest(text if call is None else call.name, known)}"
        raise fault(message)
    function, parts = call
    if function == "Count":
        if parts:
            message = "Count() takes no argument"
            raise fault(message, parts[0].offset)
        return NumberMeasure(function)
    if function == "CollectList":
        if len(parts) != 2 or not parts[1].text.isdecimal() or int(parts[1].text) < 1:
            message = f"{FUNCTIONS[function].call} takes a value and the most values to keep, a number from 1 on"
            raise fault(message)
        limited = collect_list(int(parts[1].text))
        return _value_measure(function, limited, [_argument(text, parts[0], schema, parameter, zone)], fault)
    if function == APPROXIMATE:
        if len(parts) not in (1, 2):
            message = f"{FUNCTIONS[function].call} takes a value and, if wanted, a relative standard deviation"
            raise fault(message)
        try:
            counting = approx_count_distinct(*(part.text for part in parts[1:]))
        except ValueError as error:
            raise fault(str(error)) from error
        return _value_measure(function, counting, [_argument(text, parts[0], schema, parameter, zone)], fault)
    if not parts:
        message = f"{function} takes an argument"
        raise fault(message)
    expressions = [_argument(text, part, schema, parameter, zone) for part in parts]
    expression = expressions[0]
    kind = expression.arrow_type
    if pa.types.is_decimal(kind) and function in DECIMAL_FUNCTIONS:
        return _value_measure(function, DECIMAL_FUNCTIONS[function], expressions, fault)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if function in VALUE_FUNCTIONS and not (number and function in ("Min", "Max")):
        return _value_measure(function, VALUE_FUNCTIONS[function], expressions, fault)
    if len(parts) != 1:
        message = f"{function} takes one argument, {text!r} has {len(parts)}"
        raise fault(message, parts[1].offset)
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not (whole or pa.types.is_floating(kind)):
        message = f"{function} needs a number or a condition, {parts[0].text!r} is {type_name(kind)}"
        raise fault(message, parts[0].offset)
    return NumberMeasure(function, expression, whole=whole)


def _argument(whole: str, part: Part, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse an argument. Errors give its position within the whole text."""
    try:
        return read_expression(part.text, schema, parameter, zone)
    except FaultyExpressionError as error:
        offset = part.offset + (error.offset or 0)
        raise type(error)(error.reason, parameter, whole, offset) from error


def _value_measure(
    name: str,
    function: ValueFunction,
    expressions: list[Expression],
    fault: Callable[[str], FaultyExpressionError],
) -> ValueMeasure:
    if len(expressions) != len(function.accepts):
        message = f"{FUNCTIONS[name].call} does not take {len(expressions)} arguments"
        raise fault(message)
    types = [expression.arrow_type for expression in expressions]
    for expression, kind, accepts in zip(expressions, types, function.accepts, strict=True):
        if not accepts(kind):
            message = f"{name} cannot be of {expression.text!r}, which is {type_name(kind)}"
            raise fault(message)
    return ValueMeasure(function, expressions, types)
