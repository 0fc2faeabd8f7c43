"""The keys of DeDuplicate without event time: kept for ever, or for a number of tuples, a delta or a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.transformation.deduplicate_parameters import DeDuplicateParameters
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import divide_keyed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import per_second
from streams_orchestration.operators.tuples.batch import TupleBatch

_PER_SECOND = 1_000_000


class RememberedKeys:
    """The remembered keys, each with the position, the value or, with `timeOut`, the arrival time of its tuple.

    Keys that are remembered forever have none of these.
    """

    state_key = "seen"
    """The name of the keys in the stored state."""

    def __init__(
        self, context: OperatorContext, parameters: DeDuplicateParameters, types: Sequence[pa.DataType]
    ) -> None:
        """Start with no remembered keys."""
        self._context = context
        self._attribute = parameters.delta_attribute
        self._time_out = parameters.time_out
        self._renews = parameters.reset_on_duplicate
        limit: float | None = parameters.count
        floating = False
        if parameters.delta is not None and self._attribute is not None:
            kind = context.inputs[0].field(self._attribute).type
            floating = pa.types.is_floating(kind)
            limit = parameters.delta * per_second(kind)
        if self._time_out is not None:
            limit = self._time_out * _PER_SECOND
        # differences of integers are integers, so they can be compared exactly
        self._limit: float | None = limit if limit is None or floating else math.floor(limit)
        mark = pa.float64() if floating else pa.int64()
        parts = pa.schema([(str(i), kind) for i, kind in enumerate(types)])
        self.keys = KeyedState(parts, "" if limit is None else pa.schema([("mark", mark)]))
        self._position = 0
        self._largest: float | None = None

    def forget(self) -> None:
        """Forget all keys."""
        self.keys.clear()

    def judge(
        self, batch: TupleBatch, keys: dict[str, pa.Array], unfit: Collection[int], unequal: np.ndarray | None
    ) -> tuple[np.ndarray, ...]:
        """Return masks of the new tuples and of the duplicates; remember the keys, and forget those beyond the limit.

        Args:
            batch: the tuples.
            keys: the parts of the tuples' keys.
            unfit: places of tuples that fail if they are new, so that their keys are not remembered.
            unequal: a mask of the tuples whose key equals no key, which are new and not remembered; None for none.

        Raises:
            DataError: a value of `deltaAttribute` is null or NaN.
        """
        fresh = np.ones(len(batch), bool)
        bounds = {0, len(batch), *unfit, *(place + 1 for place in unfit)}
        bounds |= set() if unequal is None else {*(np.flatnonzero(np.diff(unequal)) + 1).tolist()}
        for begin, end in itertools.pairwise(sorted(bounds)):
            if unequal is not None and unequal[begin]:
                self._position += 0 if begin in unfit else end - begin
                continue
            part = {name: values.slice(begin, end - begin) for name, values in keys.items()}
            marks = None if self._limit is None else self._marks(batch.slice(begin, end - begin))
            if begin in unfit and self._is_new(part, marks):
                continue
            if marks is None or self._limit is None:
                fresh[begin:end] = self.keys.add_many(part)
            else:
                fresh[begin:end] = self._judge(part, marks, self._limit)
            self._position += end - begin
        return fresh, ~fresh

    def _is_new(self, keys: dict[str, pa.Array], marks: list[Any] | None) -> bool:
        """Return True if the key of a single tuple is not remembered. This does not change the state."""
        if not self.keys.has_many(keys)[0]:
            return True
        if marks is None or self._limit is None:
            return False
        since = self.keys.column("mark")[self.keys.rows_of(keys, touch=False)[0]].item()
        return max(marks[0], since if self._largest is None else self._largest) - since > self._limit

    def _marks(self, batch: TupleBatch) -> list[Any]:
        """Return the values of tuples to which the limit applies: position, `deltaAttribute`, or time of arrival.

        The time of arrival is in microseconds since 1970.
        """
        if self._time_out is not None:
            return [int(self._context.now * _PER_SECOND)] * len(batch)
        if self._attribute is None:
            return list(range(self._position, self._position + len(batch)))
        column = batch.arrow.column(self._attribute)
        values = (pc.cast(column, pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        if any(value is None or value != value for value in values):  # noqa: PLR0124  NaN
            message = f"deltaAttribute: {self._attribute} is null or NaN"
            raise DataError(message)
        return values

    def _judge(self, keys: dict[str, pa.Array], marks: list[Any], limit: float) -> np.ndarray:
        known = self.keys.has_many(keys)
        rows = self.keys.rows_of(keys)
        remembered = dict(zip(rows[known].tolist(), self.keys.column("mark")[rows[known]].tolist(), strict=True))
        fresh = np.zeros(len(rows), bool)
        for i, (row, mark) in enumerate(zip(rows.tolist(), marks, strict=True)):
            largest = self._largest = mark if self._largest is None else max(self._largest, mark)
            since = remembered.get(row)
            fresh[i] = since is None or largest - since > limit
            if fresh[i] or self._renews:
                remembered[row] = mark
        column = self.keys.column("mark")
        column[list(remembered)] = list(remembered.values())
        if self._largest is not None:
            there = self.keys.rows()
            self.keys.delete_rows(there[_forgotten(column[there], self._largest, limit)])
        return fresh

    def dump(self) -> State:
        """Return the keys, each with the value from which it is remembered, the position, and the largest value."""
        return {"seen": self.keys, "position": self._position, "largest": self._largest}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned."""
        self.keys, self._position, self._largest = state["seen"], state["position"], state["largest"]

    @staticmethod
    def divide(states: Sequence[State], channels: Callable[[KeyedState], np.ndarray], width: int) -> Sequence[State]:
        """Divide states among channels. Every channel gets the largest value and position.

        Args:
            states: the states, at least one.
            channels: returns the channel of each key.
            width: the number of channels.

        Raises:
            RescaleError: two states have the same key.
        """
        parts = [state["seen"] for state in states]
        largest = max((state["largest"] for state in states if state["largest"] is not None), default=None)
        position = max(state["position"] for state in states)
        divided = divide_keyed(parts, [channels(part) for part in parts], width)
        return [{"seen": part, "position": position, "largest": largest} for part in divided]


def _forgotten(marks: np.ndarray, largest: float, limit: float) -> np.ndarray:
    """Return a mask of the values that are more than the limit below the largest one."""
    if marks.dtype == np.int64:
        return marks < largest - limit  # the difference of two numbers could need more than 64 bits
    with np.errstate(invalid="ignore"):  # a difference of infinities is NaN
        return largest - marks > limit
