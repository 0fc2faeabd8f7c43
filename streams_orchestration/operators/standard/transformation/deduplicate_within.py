"""The keys of DeDuplicate with `within`, each with the event times at which it passed (EV59)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.moments import shifted
from streams_orchestration.operators.inputs.event_time import (
    EventTimeInput,
    least_watermark,
    refuse_different_watermarks,
)
from streams_orchestration.operators.keys.comparison import distinct
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import divide_keyed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch

_CELL, _TIME = "cell", "time"
Keys = dict[str, "pa.Array"]
"""Key columns: the attributes of the keys by their names in the state, with one row for each tuple."""


class KeysWithin:
    """The keys of the tuples that passed, kept while event time allows a duplicate (EV59)."""

    state_key = "passed"
    """The name of the keys in the stored state."""

    def __init__(self, operator: Operator, within: float, discard_age: float, types: Sequence[pa.DataType]) -> None:
        """Start with no remembered keys.

        Args:
            operator: the operator.
            within: the seconds within which a tuple is a duplicate.
            discard_age: the seconds behind the watermark from which on a tuple is too late.
            types: the types of the parts of a key.

        Raises:
            ValueError: there is no event time, or a length of time is not a whole number of ticks.
        """
        self._timed = EventTimeInput(operator, "within", discard_age=discard_age)
        self._times = PassedTimes(types, self._timed.ticks("within", within))

    def forget(self) -> None:
        """Forget all keys."""
        self._times.passed.clear()

    def judge(
        self, batch: TupleBatch, keys: Keys, unfit: Collection[int], unequal: np.ndarray | None
    ) -> tuple[np.ndarray, ...]:
        """Return masks of the new tuples, of the duplicates and of late tuples; remember the keys of the new ones.

        Advance the watermark, count late tuples, and forget the keys that no later tuple can repeat. A tuple without a
        time is in the mask of late tuples.

        Args:
            batch: the tuples.
            keys: the parts of the tuples' keys.
            unfit: places of tuples that fail if they are new, so that their keys are not remembered.
            unequal: a mask of the tuples whose key equals no key, which are new unless they are late, and are not
                remembered; None for none.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54).
        """
        moments = self._timed.moments(batch)
        times, late = self._timed.judge(batch, moments)
        self._timed.advance(moments)
        fresh = np.zeros(len(batch), bool) if unequal is None else unequal & ~late
        judged = np.flatnonzero(~late & ~fresh)
        keys, times = {name: values.take(pa.array(judged)) for name, values in keys.items()}, times[judged]
        alone = np.flatnonzero(np.isin(judged, list(unfit))).tolist()
        for begin, end in itertools.pairwise(sorted({0, len(judged), *alone, *(place + 1 for place in alone)})):
            part, own = {name: values.slice(begin, end - begin) for name, values in keys.items()}, times[begin:end]
            new = ~self._times.known(part, own) if begin in alone else self._times.judge(part, own)
            fresh[judged[begin:end]] = new
        if len(moments.steps):
            self._times.forget(self._timed.reached(self._times.within))
        return fresh, ~fresh & ~late, late

    def dump(self) -> State:
        """Return the state: the keys, each with the times at which it passed, and the watermark."""
        return {"passed": self._times.passed, **self._timed.dump()}

    def load(self, state: State) -> None:
        """Restore the keys and the watermark that `dump` returned.

        Raises:
            StateError: the state counts the ticks of another attribute.
        """
        self._timed.load(state)
        self._times.passed = state["passed"]

    @staticmethod
    def divide(states: Sequence[State], channels: Callable[[KeyedState], np.ndarray], width: int) -> Sequence[State]:
        """Divide states among channels; see `RememberedKeys.divide`.

        Raises:
            RescaleError: the states have different watermarks, or two of them have the same key.
        """
        refuse_different_watermarks(states)
        parts = [state["passed"] for state in states]
        divided = divide_keyed(parts, [channels(part) for part in parts], width)
        return [{"passed": part, **least_watermark(states)} for part in divided]


class PassedTimes:
    """For each key, the event times of the tuples that were let through.

    Two times of a key differ by more than `within` ticks, so an interval (*cell*) of `within + 1` ticks holds at most
    one. A duplicate of a new tuple can only be in the new tuple's cell or in a neighbouring one.
    """

    def __init__(self, types: Sequence[pa.DataType], within: int) -> None:
        """Start with no remembered times.

        Args:
            types: the types of the parts of a key.
            within: the greatest distance in ticks between a time and its duplicate.
        """
        self.within = within
        parts = [(str(number), kind) for number, kind in enumerate(types)]
        self.passed = KeyedState(pa.schema([*parts, (_CELL, pa.int64())]), pa.schema([(_TIME, pa.int64())]))

    def known(self, keys: Keys, times: np.ndarray) -> np.ndarray:
        """Return a mask of the tuples that are duplicates of tuples that passed in an earlier call."""
        known, cells = np.zeros(len(times), bool), times // (self.within + 1)
        low, high = shifted(times, -self.within), shifted(times, self.within)
        if not len(self.passed):
            return known
        for beside in (0, -1, 1) if self.within else (0,):
            rows = self.passed.index.find(self._cells(keys, cells + beside))
            found = np.flatnonzero(rows >= 0)
            passed = self.passed.column(_TIME)[rows[found]]
            known[found] |= (passed >= low[found]) & (passed <= high[found])
        return known

    def judge(self, keys: Keys, times: np.ndarray) -> np.ndarray:
        """Return a mask of the tuples that pass, judged in order of arrival, and remember their times."""
        passes = ~self.known(keys, times)
        new = np.flatnonzero(passes)
        chosen = {name: part.take(pa.array(new)) for name, part in keys.items()}
        codes = distinct(list(chosen.values()), len(new))[1]
        passes[new] = first_apart(codes, times[new], self.within)
        new = np.flatnonzero(passes)
        cells = times[new] // (self.within + 1)
        rows = self.passed.rows_of(self._cells({name: part.take(pa.array(new)) for name, part in keys.items()}, cells))
        self.passed.column(_TIME)[rows] = times[new]
        return passes

    def forget(self, before: int) -> None:
        """Forget all times before a time in ticks."""
        rows = self.passed.rows()
        self.passed.delete_rows(rows[self.passed.column(_TIME)[rows] < before])

    def _cells(self, keys: Keys, cells: np.ndarray) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*keys.values(), pa.array(cells)], schema=self.passed.keys_schema)


def first_apart(codes: np.ndarray, times: np.ndarray, within: int) -> np.ndarray:
    """Return a mask of the tuples that pass: no earlier tuple with the same key that passed is within the distance.

    >>> first_apart(np.zeros(5, int), np.array([0, 8, 12, 20, 24]), 10).tolist()
    [True, False, True, False, True]

    Args:
        codes: the number of each tuple's key.
        times: the times, in order of arrival.
        within: the greatest distance in time at which a tuple is a duplicate.
    """
    passes = np.zeros(len(times), bool)
    order = np.lexsort((times, codes))
    undecided = order
    while len(undecided):
        numbers, own = codes[undecided], times[undecided]
        near = np.flatnonzero((numbers[1:] == numbers[:-1]) & (own[1:] <= shifted(own[:-1], within)))
        runs = np.ones(len(undecided), bool)
        runs[near + 1] = False
        starts = np.flatnonzero(runs)
        # a run is a series of tuples, each near the next one; the one that arrived first has no earlier tuple near it
        first = np.minimum.reduceat(undecided, starts)
        passes[first] = True
        if len(starts) == len(undecided):
            break
        run = np.cumsum(runs) - 1
        near_first = (own >= shifted(times[first], -within)[run]) & (own <= shifted(times[first], within)[run])
        rest = undecided[~near_first]
        if 2 * len(rest) > len(undecided):
            _decide(codes, times, within, np.sort(rest), passes)
            break
        undecided = rest
    return passes


def _decide(codes: np.ndarray, times: np.ndarray, within: int, undecided: np.ndarray, passes: np.ndarray) -> None:
    """Decide about the undecided tuples one by one, in order of arrival, and set their values in `passes`."""
    passed: dict[tuple[int, int], int] = {}
    for place, code, time in zip(undecided.tolist(), codes[undecided].tolist(), times[undecided].tolist(), strict=True):
        cell = time // (within + 1)
        beside = (passed.get((code, each)) for each in (cell, cell - 1, cell + 1))
        if all(other is None or abs(time - other) > within for other in beside):
            passed[code, cell] = time
            passes[place] = True
