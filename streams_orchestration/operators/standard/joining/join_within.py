"""The two sides of a Join with `within`, whose tuples meet by event time (EV57)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.event_time.moments import NEVER, Moments, shifted
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.keys.comparison import key_batch, whole_key_batch
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.joining.join_side import known_keys
from streams_orchestration.operators.states.key_index import KeyIndex, hashes_of
from streams_orchestration.operators.states.rescaling import Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.windows.rescaling import divide_log

_NOT_ENTERED = -2
"""The value in place of an index row for a tuple whose key is not in the index yet."""
_MANY = 8
"""If tuples without an index row are more than this many times the sought keys, or vice versa, keys are first compared;
see `_may_be_among`.
"""
_ONE_BY_ONE = 32
"""Up to this many integers are each compared with all others; other keys are compared by hash."""
_OFTEN = 64
"""The average number of hash comparisons for each tuple after which all keys are entered into the index. Both cost
about the same.
"""
_FITS = 2**62
"""The limit for products of integers, which must fit into 64 bits."""


class Partners(NamedTuple):
    """The partners of tuples: the tuples of the other side with an equal key and a time in the range."""

    which: np.ndarray
    """The tuples that may have partners, ascending."""
    keys: np.ndarray
    """For every tuple of `which`, the row of its key in the index."""
    first: np.ndarray
    """For every tuple of `which`, the position in `places` of its first partner."""
    counts: np.ndarray
    """For every tuple of `which`, the number of its partners."""
    places: np.ndarray
    """Places in the log of the other side, ordered by key and time."""

    @property
    def total(self) -> int:
        """The number of pairs."""
        return int(self.counts.sum())

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs as numbers of tuples and places in the log, ordered by both times."""
        starts = np.repeat(self.first - (np.cumsum(self.counts) - self.counts), self.counts)
        return np.repeat(self.which, self.counts), self.places[starts + np.arange(len(starts))]


class Leaving(NamedTuple):
    """Tuples that leave an outer side without a partner, to be submitted. An inner side submits none."""

    moments: np.ndarray
    ranks: np.ndarray
    """The order among tuples that leave at the same moment. It is the row in the batch for a tuple that leaves on
    arrival, otherwise the greatest watermark at which the tuple stays.
    """
    places: np.ndarray


class TimedSide:
    """The tuples of one stream that may still meet others. On an outer side, matched tuples are flagged."""

    def __init__(
        self, schema: pa.Schema, role: EventTimeRole, keys: list[str], index: KeyIndex, wait: int, *, outer: bool
    ) -> None:
        """Start with no tuples.

        Args:
            schema: the type of the tuples.
            role: the role of the Join.
            keys: the attributes that are compared with attributes of the other side.
            index: the index of the keys of both sides.
            wait: a tuple stays until the watermark is this many ticks beyond its time.
            outer: True if tuples that never met another one are submitted.
        """
        self.role = role
        self.keys = keys
        self.wait = wait
        self.outer = outer
        self.log = TupleLog(schema, {"key": np.int64, "time": np.int64})
        """For each tuple, the row of its key in the index, and its time.

        The row is -1 if a part of the key is null, `_NOT_ENTERED` if the key is not in the index yet, 0 without keys.
        """
        self.index = index
        """The index of the keys of both sides. A key is entered at the latest when the other side looks for it."""
        self._oldest = NEVER
        """A lower bound of the times of all tuples."""
        self._skipped = 0
        """The number of keys that were compared by hash instead of being entered, since all keys were last entered."""

    def forget_keys(self) -> None:
        """Forget the index rows of all tuples, since the index was cleared."""
        self.log.notes["key"][: self.log.size] = _NOT_ENTERED

    def partners(self, keys: list[pa.Array], times: np.ndarray, least: int, greatest: int) -> Partners:
        """Find the tuples of this side with the given keys and with times in a range around the given ones.

        Keys of this side may be entered into the index.

        Args:
            keys: the parts of the keys.
            times: the time that belongs to each key.
            least: the least difference of the time of a partner and the time of the key, in ticks.
            greatest: the greatest one.
        """
        nothing = Partners(*np.zeros((5, 0), np.int64))
        if not len(times) or not len(self.log):
            return nothing
        own = self.log.notes["time"][: self.log.size]
        earliest, latest = shifted(times.min(keepdims=True), least), shifted(times.max(keepdims=True), greatest)
        alive = self.log.alive[: self.log.size]
        which = known_keys(keys) if keys else np.arange(len(times))
        if keys and len(which) <= _ONE_BY_ONE and pa.types.is_integer(keys[0].type):
            few = key_batch(keys, which)
            places = np.flatnonzero(alive & self.log.tested(self.keys, lambda each: _may_be_among(_keys_of(each), few)))
            places = places[(own[places] >= earliest) & (own[places] <= latest)]
        else:
            places = np.flatnonzero(alive & (own >= earliest) & (own <= latest))
        if not len(places):
            return nothing
        which, wanted = self._find(keys, which, places) if keys else (which, np.zeros_like(which))
        low, high, own = shifted(times[which], least), shifted(times[which], greatest), own[places]
        codes: np.ndarray = self.log.notes["key"][places]
        concerned = np.zeros(self.index.rows + 2, bool)
        concerned[wanted] = True
        met = concerned[codes]
        if not met.any():
            return nothing
        places, codes, own = places[met], codes[met], own[met]
        span, own, low, high = _numbered(own, low, high, self.index.rows + 1)
        ranked, order = _sorted(codes * span + own, span * (self.index.rows + 1))
        first = np.searchsorted(ranked, wanted * span + low)
        last = np.searchsorted(ranked, wanted * span + high, side="right")
        return Partners(which, wanted, first, np.maximum(last - first, 0), places[order])

    def _find(self, keys: list[pa.Array], which: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Enter keys of the log into the index, then return the sought keys that it has, and their rows there.

        Args:
            keys: the parts of all keys.
            which: the positions of the sought keys among them.
            places: the places in the log of the tuples in the time range.

        Returns:
            Positions of sought keys, and the row of each in the index.
        """
        sought = whole_key_batch(keys) if len(which) == len(keys[0]) else key_batch(keys, which)
        if len(places) * _MANY < len(which):
            few = _keys_of(self.log.take(places, self.keys))
            near = np.flatnonzero(_may_be_among(sought, few))
            which, sought = which[near], sought.take(pa.array(near))
        self._enter(places, sought)
        rows = self.index.find(sought)
        return which[rows >= 0], rows[rows >= 0]

    def insert(self, tuples: pa.RecordBatch, times: np.ndarray, partners: Partners) -> np.ndarray:
        """Add tuples, whose partners were sought, and return their places in the log."""
        if len(times):
            self._oldest = min(self._oldest, int(times.min()))
        rows = np.full(tuples.num_rows, _NOT_ENTERED if self.keys else 0)
        rows[partners.which] = partners.keys
        return self.log.append(tuples, key=rows, time=times)

    def _enter(self, places: np.ndarray, sought: pa.RecordBatch) -> None:
        """Enter the keys at some places of the log into the index.

        Keys that cannot equal a sought key may be left out.

        All keys are entered if many keys are sought, or if comparisons have become too costly.
        """
        places = places[self.log.notes["key"][places] == _NOT_ENTERED]
        if not len(places):
            return
        tuples = self.log.take(places, self.keys)
        if sought.num_rows * _MANY < len(places) and self._skipped < len(places) * _OFTEN:
            near = np.flatnonzero(_may_be_among(_keys_of(tuples), sought))
            self._skipped += len(places) - len(near)
            places, tuples = places[near], tuples.take(pa.array(near))
        else:
            self._skipped = 0
        self.log.notes["key"][places] = self._index(tuples)

    def meet(self, places: np.ndarray) -> None:
        """Flag tuples as matched, if this is an outer side."""
        if self.outer:
            self.log.flag(places)

    @property
    def waits(self) -> bool:
        """True if there is an unmatched tuple that may be submitted later."""
        return self.outer and not self.log.flags[self.log.places()].all()

    def leave(self, moments: Moments, came: np.ndarray) -> Leaving:
        """Remove the tuples that can get no partner after a batch, and return the unmatched ones of an outer side.

        Args:
            moments: the moments of the batch.
            came: the places of the batch's tuples if they are of this side.
        """
        nothing = np.zeros(0, np.int64)
        least = moments.least_left(self.wait)
        if not len(self.log) or self._oldest >= least:
            return Leaving(nothing, nothing, nothing)
        times, alive = self.log.notes["time"][: self.log.size], self.log.alive[: self.log.size]
        places = np.flatnonzero(alive & moments.outlived(times, self.wait))
        # while tuples leave, others soon follow; if none does, it is worth looking for the oldest one
        self._oldest = least if len(places) else int(times.min(where=alive, initial=NEVER))
        self.log.remove(places)
        if not self.outer:
            return Leaving(nothing, nothing, nothing)
        places = places[~self.log.flags[places]]
        bounds = shifted(times[places], self.wait)
        at = moments.passing(bounds)
        if len(came):
            new = int(np.searchsorted(places, came[0]))
            which = places[new:] - came[0]
            at_once = moments.current[which] > bounds[new:]
            at[new:] = np.where(at_once, moments.arrivals[which], at[new:])
            bounds[new:] = np.where(at_once, which, bounds[new:])
        return Leaving(at, bounds, places)

    def _index(self, tuples: pa.RecordBatch) -> np.ndarray:
        """Enter the keys of tuples into the index, and return the row of each; -1 if a part of the key is null."""
        keys = [tuples.column(name) for name in self.keys]
        rows, known = np.full(tuples.num_rows, -1), known_keys(keys)
        rows[known] = self.index.add(key_batch(keys, known))
        return rows

    def load(self, log: TupleLog) -> None:
        """Restore the tuples from a checkpoint; their keys are not in the index yet."""
        self.log = log
        tuples = log.take(np.arange(log.size))
        entered = np.full(log.size, _NOT_ENTERED if self.keys else 0)
        log.notes = {"key": entered, "time": times_of(tuples, self.role).copy()}
        self._oldest = int(log.notes["time"].min()) if log.size else NEVER


def _keys_of(tuples: pa.RecordBatch) -> pa.RecordBatch:
    return whole_key_batch(tuples.columns)


def _may_be_among(keys: pa.RecordBatch, few: pa.RecordBatch) -> np.ndarray:
    """Return a mask that is true for every key that equals one of a few others, and for few other keys."""
    first, wanted = keys.column(0), few.column(0)
    if pa.types.is_integer(first.type) and not first.null_count and few.num_rows <= _ONE_BY_ONE:
        return np.isin(first.to_numpy(), wanted.to_numpy(), kind="sort")
    slots = np.uint64((1 << (few.num_rows * _MANY).bit_length() + _MANY) - 1)
    sought = np.zeros(int(slots) + 1, bool)
    sought[hashes_of(few) & slots] = True
    return sought[hashes_of(keys) & slots]


def _sorted(numbers: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort numbers, and return them with the position that each had before; equal numbers keep their order.

    Args:
        numbers: the numbers, at least 0.
        limit: a number above all of them.
    """
    bits = len(numbers).bit_length()
    if limit < _FITS >> bits:  # sorting is quicker than finding the order
        packed = np.sort(numbers << bits | np.arange(len(numbers)))
        return packed >> bits, packed & ((1 << bits) - 1)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], order


def _numbered(
    times: np.ndarray, low: np.ndarray, high: np.ndarray, keys: int
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Convert times and range bounds to small numbers in the same order.

    Returns:
        A number greater than all results, the times (at least 0), the lower bounds (at least 0), and the upper bounds
            (at least -1). The product of the first number and `keys` fits into 64 bits.
    """
    least, most = int(times.min()), int(times.max())
    low, high = np.maximum(low, least), np.minimum(high, most)
    span = most - least + 2
    if span * keys < _FITS:
        return span, times - least, np.minimum(low, most + 1) - least, np.maximum(high, least - 1) - least
    distinct = np.unique(times)
    above = np.searchsorted(distinct, high, side="right") - 1
    return len(distinct) + 1, np.searchsorted(distinct, times), np.searchsorted(distinct, low), above


def divided_sides(states: Sequence[State], names: Mapping[int, str], route: Route) -> list[dict[str, Any]]:
    """Divide the tuples of both sides of several replicas among new channels.

    Args:
        states: the states of the former replicas, at least one.
        names: input port -> the name of its log in a state.
        route: the route of the tuples.

    Returns:
        For each new channel, the logs of both sides by their names in a state.
    """
    divided: list[dict[str, Any]] = [{} for _ in range(route.width)]
    for port, name in names.items():
        logs = [divide_log(state[name], route, port) for state in states]
        for channel, own in enumerate(divided):
            log = own[name] = TupleLog(states[0][name].schema)
            for part in (each[channel] for each in logs):
                log.flag(log.append(part.tuples)[part.flags])
    return divided
