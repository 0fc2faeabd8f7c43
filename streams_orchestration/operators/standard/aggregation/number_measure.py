"""Numeric output functions of Aggregate: counts, sums, averages and extremes, computed for all groups at once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.value_measures import Reached, ValueMeasure
from streams_orchestration.operators.windows.ranges import reduce_ranges

WINDOW_COUNTS = ("CountAll", "CountGroups", "CountByGroup")
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
        """Add a batch to the running values, which are sums or extremes; see `Running.add`. Null is left out.

        A group fails if its sum exceeds 64 bits.

        Raises:
            DataError: the argument has no value for a tuple.
        """
        if self.expression is None:
            counts += np.bincount(groups, minlength=len(counts))
            return
        array = self._values(batch)
        if array.null_count:
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            groups, array = groups[valid], array.drop_null()
        added = array.to_numpy(zero_copy_only=False)
        came = np.bincount(groups, minlength=len(counts))
        if self.start:
            values[(counts == 0) & (came > 0)] = self.start
        counts += came
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are values like any other
            match self.function:
                case "Min":  # NaN is above all numbers
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
        """Add the counts and running values of other groups instead of tuples. Arguments are otherwise as for `add`.

        A group whose part has failed, or whose sum now exceeds 64 bits, fails.
        """
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
        """Return the value of each range of tuples, added in order; null, or 0 for `Count`, for a range without values.

        Ranges may overlap. A sum beyond 64 bits is a failure.

        Raises:
            DataError: the argument has no value for a tuple.
        """
        if self.expression is None:
            return Reached(self._finished(ends - starts, ends - starts))
        array = self._values(batch)
        if array.null_count:
            before = np.r_[0, np.cumsum(array.is_valid().to_numpy(zero_copy_only=False))]
            starts, ends, array = before[starts], before[ends], array.drop_null()
        values, counts = array.to_numpy(zero_copy_only=False), ends - starts
        operation = {"Min": np.fmin, "Max": np.maximum}.get(self.function, np.add)
        failures = self._overflows(values, starts, ends) if operation is np.add else {}
        with np.errstate(invalid="ignore", over="ignore"):
            reached = reduce_ranges(operation, values, starts, ends, self.start)
        return Reached(self._finished(reached, counts), failures)

    def _values(self, batch: Evaluated) -> pa.Array:
        """Return the values of the argument as numbers that are added or compared."""
        return pc.cast(batch.value(self.expression), pa.from_numpy_dtype(self.type))

    def _overflows(self, values: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> Mapping[int, str]:
        """Return the reason for each range with a partial sum outside of 64 bits."""
        if self.type != np.int64 or _largest(values) * int((ends - starts).max(initial=0)) <= np.iinfo(np.int64).max:
            return {}
        failures: dict[int, str] = {}
        for group, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if not all(map(_in_range, itertools.accumulate(values[start:end].tolist()))):
                failures[group] = _OVERFLOW
        return failures

    def _finished(self, values: np.ndarray, counts: np.ndarray) -> pa.Array:
        """Return the results for running values, and the counts for `Count`; null for a group without values."""
        if self.function == "Count":
            return pa.array(counts)
        return pa.array(values / np.maximum(counts, 1) if self.function == "Average" else values, mask=counts <= 0)

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
        """Return the results of groups; null, or 0 for `Count`, if no tuple of a group had a value.

        A sum beyond 64 bits is a failure.
        """
        if self.function == "Count":
            return Reached(self._finished(counts, counts))
        failures = dict.fromkeys(np.flatnonzero(counts < 0).tolist(), _OVERFLOW)
        return Reached(self._finished(values, counts), failures)


def _in_range(total: int) -> bool:
    """Return True if a sum fits a bigint."""
    return -(1 << 63) <= total < 1 << 63


def _largest(values: np.ndarray) -> int:
    """Return the largest magnitude, as a Python integer; 0 without values."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


class TimeExtreme(NumberMeasure):
    """The least or greatest of dates or times, which are compared as whole numbers of their unit."""

    def __init__(self, function: str, expression: Any, kind: pa.DataType) -> None:
        super().__init__(function, expression, whole=True)
        self.kind = kind
        self._ticks = pa.int32() if kind.bit_width == 32 else pa.int64()

    def _values(self, batch: Evaluated) -> pa.Array:
        """Return the values of the argument as whole numbers."""
        return pc.cast(pc.cast(pc.cast(batch.value(self.expression), self.kind), self._ticks), pa.int64())

    def _finished(self, values: np.ndarray, counts: np.ndarray) -> pa.Array:
        """Return the results for running values; null for a group without values."""
        return pc.cast(pc.cast(super()._finished(values, counts), self._ticks), self.kind)

    @property
    def result_type(self) -> pa.DataType:
        """The type of the argument."""
        return self.kind


class WindowCount(NumberMeasure):
    """A count over the window of a group: `CountAll`, `CountGroups` or `CountByGroup`."""

    def __init__(self, function: str, kind: pa.DataType) -> None:
        super().__init__("Count")
        self.over_window = function
        self.kind = kind

    @property
    def result_type(self) -> pa.DataType:
        """An integer, or a list of integers for `CountByGroup`."""
        return pa.list_(self.kind) if self.over_window == "CountByGroup" else self.kind

    def of_windows(self, counts: Reached, windows: np.ndarray) -> Reached:
        """Return the result for each group, given the number of tuples in each group and its window."""
        sizes = counts.values.to_numpy(zero_copy_only=False)
        numbers, of, groups = np.unique(windows, return_inverse=True, return_counts=True)
        if self.over_window == "CountGroups":
            return Reached(pa.array(groups[of], self.kind))
        if self.over_window == "CountAll":
            return Reached(pa.array(np.bincount(of, sizes, len(numbers)).astype(np.int64)[of], self.kind))
        lists = [part.tolist() for part in np.split(sizes, np.cumsum(groups)[:-1])]
        return Reached(pa.array([lists[each] for each in of.tolist()], self.result_type))


Measure = NumberMeasure | ValueMeasure
"""An output function over all groups of an Aggregate. Its results do not depend on batch boundaries."""
