"""Output functions of Aggregate over values of any type, computed value by value with Spark's semantics (ANSI)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.keys.comparison import canonical, normalised
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name


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
        finish: returns the result for the state of a group with values, given the type of the result.
        empty: the result for a group without values.
        takes_null: True if tuples with a null argument count.
        by_arrival: True if the result depends on the order of arrival, so parts of a group that are not consecutive
            cannot be merged.
        by_key: True if the function compares its argument as a key, so that equal nested values look the same.
    """

    accepts: tuple[Callable[[pa.DataType], bool], ...]
    state: Callable[[Sequence[pa.DataType]], pa.DataType]
    result: Callable[[Sequence[pa.DataType]], pa.DataType]
    step: Callable[[Any, Sequence[Any]], Any]
    merge: Callable[[Any, Any], Any]
    finish: Callable[[Any, pa.DataType], Any]
    empty: Any = None
    takes_null: bool = False
    by_arrival: bool = False
    by_key: bool = False


def folded(
    accepts: tuple[Callable[[pa.DataType], bool], ...],
    state: Callable[[Sequence[pa.DataType]], pa.DataType],
    result: Callable[[Sequence[pa.DataType]], pa.DataType],
    first: Callable[[Sequence[Any]], Any],
    merge: Callable[[Any, Any], Any],
    finish: Callable[[Any, pa.DataType], Any],
    **options: Any,
) -> ValueFunction:
    """Return a function that merges tuple after tuple into the state; `first` returns the state of one tuple."""

    def step(before: Any, row: Sequence[Any]) -> Any:
        return first(row) if before is None else merge(before, first(row))

    return ValueFunction(accepts, state, result, step, merge, finish, **options)


class Reached(NamedTuple):
    """The results of an output function for several groups."""

    values: pa.Array
    """The value of each group; null if it has none."""
    failures: Mapping[int, str] = {}
    """Maps the position of each group whose computation failed to the reason."""


class ValueMeasure:
    """An output function over all groups, where the state of a group is a Python object.

    Values are added in order of arrival, so batch boundaries make no difference.
    """

    def __init__(self, function: ValueFunction, expressions: Sequence[Any], types: Sequence[Any]) -> None:
        self.function = function
        self.expressions = [each.keyed() if self._is_key(each) else each for each in expressions]
        self.by_arrival = function.by_arrival
        self.state_type = function.state(types)
        self.result_type = function.result(types)

    def add(self, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, batch: Evaluated) -> None:
        """Add a batch in which tuple i belongs to group `groups[i]`; see `Running.add`."""
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
        """Merge the states of later parts of groups; see `Running.merge`."""
        for group, count, state in zip(groups.tolist(), more_counts.tolist(), more_values, strict=True):
            if count:
                values[group] = state if values[group] is None else self.function.merge(values[group], state)
                counts[group] += count

    def over(self, batch: Evaluated, starts: np.ndarray, ends: np.ndarray) -> Reached:
        """Return the results for ranges of tuples, which may overlap.

        Raises DataError if an argument has no value for a tuple.
        """
        rows, reached = list(self._arguments(batch)), list[Any]()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            state = None
            for row in rows[start:end]:
                state = self.function.step(state, row) if self._counts(row) else state
            reached.append(state)
        return self._finished(reached)

    def result(self, counts: np.ndarray, values: np.ndarray) -> Reached:
        """Return the results for groups. A result beyond the range of its type is a failure."""
        return self._finished(values.tolist())

    def _finished(self, states: Sequence[Any]) -> Reached:
        values, failures = list[Any](), dict[int, str]()
        for group, state in enumerate(states):
            try:
                finish = self.function.finish
                values.append(self.function.empty if state is None else finish(state, self.result_type))
            except OverflowError:
                values.append(None)
                failures[group] = f"the result is beyond the range of {type_name(self.result_type)}"
        return Reached(pa.array(values, self.result_type), failures)

    def _arguments(self, batch: Evaluated) -> Any:
        """Return an iterator over the arguments of every tuple. Raises DataError if one has no value."""
        forms = [canonical if self._is_key(each) else normalised for each in self.expressions]
        columns = [form(batch.value(each)).to_pylist() for form, each in zip(forms, self.expressions, strict=True)]
        return zip(*columns, strict=True)

    def _is_key(self, expression: Any) -> bool:
        """Return True for a nested argument that is compared as a key. Texts of decimals keep their zeros."""
        return self.function.by_key and pa.types.is_nested(expression.arrow_type)

    def _counts(self, row: Sequence[Any]) -> bool:
        return self.function.takes_null or row[-1] is not None
