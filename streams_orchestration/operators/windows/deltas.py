"""Windows by differences of values: finds the tuples that exceed a delta, for many sequences of tuples at once.

The tuples of all sequences are in one array, and sequence i goes from `bounds[i]` to `bounds[i + 1]`. Differences of
integers are exact. Numbers may be objects with an order, sums and differences, as `DecimalNumber`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams_orchestration.operators.loading.libraries import np

SHORT = 128
"""Sequences up to this length are processed together, one tuple of each at a time."""
Before = Callable[[Any, Any], Any]
"""A predicate for searches by bisection. It takes positions and, for each, the index of its search, and returns a mask
of the positions before the result of that search.
"""
_LARGEST = (1 << 63) - 1


def comparable(values: np.ndarray) -> np.ndarray:
    """Return values whose differences are exact: Python integers if differences may exceed 64 bits."""
    if values.dtype.kind != "i" or not len(values):
        return values
    span = int(values.max()) - int(values.min())
    return values.astype(object) if span > _LARGEST else values


def exceeds(later: np.ndarray, earlier: np.ndarray, size: Any) -> np.ndarray:
    """Return a mask that is True where a value is greater than the earlier value by more than `size`."""
    with np.errstate(invalid="ignore"):  # a difference of infinities is NaN
        return np.asarray(later - earlier > size, bool)


def restarts(values: np.ndarray, bounds: np.ndarray, held: np.ndarray, firsts: np.ndarray, size: Any) -> np.ndarray:
    """Return a mask of the tuples that begin a new tumbling window.

    Such a tuple is more than `size` greater than the first tuple of the window that is open when it arrives.

    Args:
        values: the values of the tuples, sequence by sequence.
        bounds: the bounds of the sequences.
        held: for each sequence, whether a window is already open.
        firsts: for each sequence, the value of the first tuple in its open window.
        size: the size of a window.
    """
    result = np.zeros(len(values), bool)
    if values.dtype.kind == "O" and len(values):  # any number will do where no window is open
        firsts = np.where(held, firsts, values[0])
    begins, lengths = bounds[:-1], np.diff(bounds)
    short = np.flatnonzero(lengths <= SHORT)
    reached, started = firsts[short], held[short].copy()
    for place in range(int(lengths[short].max(initial=0))):
        some = np.flatnonzero(lengths[short] > place)
        at = begins[short[some]] + place
        beyond = exceeds(values[at], reached[some], size) & started[some]
        result[at] = beyond
        new = beyond | ~started[some]
        reached[some[new]] = values[at[new]]
        started[some] = True
    for number in np.flatnonzero(lengths > SHORT).tolist():
        begin, end = int(bounds[number]), int(bounds[number + 1])
        own = values[begin:end]
        # the first tuple of a window exceeds all before it, so it is where the running maximum rises
        tops = np.maximum.accumulate(own)
        nexts, place = _beyond(tops, own, size).tolist(), 0
        if held[number]:
            place = int(_beyond(tops, firsts[number : number + 1], size)[0])
            if place < len(own):
                result[begin + place] = True
        while place < len(own) and (place := nexts[place]) < len(own):
            result[begin + place] = True
    return result


def left_by(values: np.ndarray, bounds: np.ndarray, tuples: np.ndarray, size: Any) -> np.ndarray:
    """Return the first tuple of its sequence that is still in the window when a tuple arrives, by arriving tuple.

    When a tuple arrives, the oldest tuples leave one by one, as long as it is more than `size` greater than the oldest.

    Args:
        values: the values of the tuples, sequence by sequence.
        bounds: the bounds of the sequences.
        tuples: the indexes of arriving tuples in order, which are the last ones of each sequence.
        size: the size of a window.
    """
    sequences = np.searchsorted(bounds, tuples, side="right") - 1
    begins, lengths = bounds[:-1], np.diff(bounds)
    tops = values.copy()
    short = np.flatnonzero(lengths <= SHORT)
    for place in range(1, int(lengths[short].max(initial=0))):
        at = begins[short[lengths[short] > place]] + place
        tops[at] = np.maximum(tops[at], tops[at - 1])
    brief = lengths[sequences] <= SHORT
    leaving = np.empty(len(tuples), np.int64)
    some = tuples[brief]
    leaving[brief] = _first(
        begins[sequences[brief]], some, lambda at, which: exceeds(values[some[which]], tops[at], size)
    )
    for number in np.flatnonzero(lengths > SHORT).tolist():
        begin, end = int(bounds[number]), int(bounds[number + 1])
        first, last = np.searchsorted(tuples, (begin, end)).tolist()
        own, arriving = np.maximum.accumulate(values[begin:end]), values[tuples[first:last]]
        leaving[first:last] = begin + _reaching(own, arriving, size)
    # a tuple that has left does not return, and sequences follow one another, so the result is ascending
    return np.maximum.accumulate(leaving) if len(leaving) else leaving


def _beyond(tops: np.ndarray, firsts: np.ndarray, size: Any) -> np.ndarray:
    """Return the first index at which the ascending `tops` exceed each value of `firsts` by more than `size`.

    The index is the length of `tops` if they never do.
    """
    guess = np.searchsorted(tops, _shifted(firsts, size), side="right")
    return _corrected(guess, len(tops), lambda at, which: ~exceeds(tops[at], firsts[which], size))


def _reaching(tops: np.ndarray, arriving: np.ndarray, size: Any) -> np.ndarray:
    """Return the first index at which the ascending `tops` are at most `size` below each arriving value."""
    guess = np.searchsorted(tops, _shifted(arriving, -size), side="left")
    return _corrected(guess, len(tops), lambda at, which: exceeds(arriving[which], tops[at], size))


def _shifted(values: np.ndarray, by: Any) -> np.ndarray:
    """Return values plus an amount, up to rounding; a sum that needs more than 64 bits is arbitrary."""
    return values + (int(max(min(by, _LARGEST), -_LARGEST)) if values.dtype.kind == "i" else by)


def _corrected(guess: np.ndarray, end: int, before: Before) -> np.ndarray:
    """Correct guessed places: each becomes the first place for which `before` is false.

    Rounding may have shifted guesses.
    """
    which = np.arange(len(guess))
    low = np.maximum(guess - 1, 0)
    high = np.minimum(guess, max(end - 1, 0))
    if not end:
        return guess
    wrong = np.flatnonzero(((guess > 0) & ~before(low, which)) | ((guess < end) & before(high, which)))
    if len(wrong):
        zeros = np.zeros(len(wrong), np.int64)
        guess[wrong] = _first(zeros, zeros + end, lambda at, some: before(at, wrong[some]))
    return guess


def _first(low: np.ndarray, high: np.ndarray, before: Before) -> np.ndarray:
    """Find by bisection, in each range from `low` to `high`, the first place for which `before` is false."""
    low, high = low.copy(), high.copy()
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) // 2
        on = before(middle, open_)
        low[open_[on]] = middle[on] + 1
        high[open_[~on]] = middle[~on]
        open_ = open_[low[open_] < high[open_]]
    return low
