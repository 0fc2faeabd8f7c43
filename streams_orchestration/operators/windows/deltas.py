"""Finds tuples that are too far beyond others, by an attribute: for many sequences of tuples at once.

Differences are those of the values themselves, exact for whole numbers. A sequence lies between two of its `bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams_orchestration.operators.libraries import np

SHORT = 128
"""Tuples in a sequence up to which all sequences are gone through together, one tuple of each at a time."""
Before = Callable[[Any, Any], Any]
"""Returns for places, and numbers of the values to find, whether each place comes before its value."""
_LARGEST = (1 << 63) - 1


def comparable(values: np.ndarray) -> np.ndarray:
    """Return values whose differences are exact: Python integers if those may exceed 64 bits."""
    if values.dtype.kind != "i" or not len(values):
        return values
    span = int(values.max()) - int(values.min())
    return values.astype(object) if span > _LARGEST else values


def exceeds(later: np.ndarray, earlier: np.ndarray, size: float) -> np.ndarray:
    """Return which values are more than `size` beyond others."""
    with np.errstate(invalid="ignore"):  # of infinities
        return np.asarray(later - earlier > size, bool)


def restarts(values: np.ndarray, bounds: np.ndarray, held: np.ndarray, firsts: np.ndarray, size: float) -> np.ndarray:
    """Return which tuples are more than `size` beyond the first tuple of their window, and so start the next window.

    Args:
        values: the values of the tuples, sequence by sequence.
        bounds: the bounds of the sequences.
        held: whether a window of the sequence is open already.
        firsts: the value of its first tuple.
        size: the size of a window.
    """
    result = np.zeros(len(values), bool)
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
        # the first tuple of a window is beyond all before it: it is where the maximum so far rises
        tops = np.maximum.accumulate(own)
        nexts, place = _beyond(tops, own, size).tolist(), 0
        if held[number]:
            place = int(_beyond(tops, firsts[number : number + 1], size)[0])
            if place < len(own):
                result[begin + place] = True
        while place < len(own) and (place := nexts[place]) < len(own):
            result[begin + place] = True
    return result


def left_by(values: np.ndarray, bounds: np.ndarray, tuples: np.ndarray, size: float) -> np.ndarray:
    """Return for tuples that arrive the first one of their sequence that has not left the window then.

    The oldest tuple leaves, and the next, as long as the one that arrives is more than `size` beyond it.

    Args:
        values: the values of the tuples, sequence by sequence.
        bounds: the bounds of the sequences.
        tuples: the arriving tuples in order: the last ones of each sequence.
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
    # who has left does not come back; sequences follow one another, so their places rise as well
    return np.maximum.accumulate(leaving) if len(leaving) else leaving


def _beyond(tops: np.ndarray, firsts: np.ndarray, size: float) -> np.ndarray:
    """Return for every value the index of the first of rising ones that is more than `size` beyond it."""
    guess = np.searchsorted(tops, _shifted(firsts, size), side="right")
    return _corrected(guess, len(tops), lambda at, which: ~exceeds(tops[at], firsts[which], size))


def _reaching(tops: np.ndarray, arriving: np.ndarray, size: float) -> np.ndarray:
    """Return for every value the index of the first of rising ones that it is no more than `size` beyond."""
    guess = np.searchsorted(tops, _shifted(arriving, -size), side="left")
    return _corrected(guess, len(tops), lambda at, which: exceeds(arriving[which], tops[at], size))


def _shifted(values: np.ndarray, by: float) -> np.ndarray:
    """Return approximately shifted values; beyond 64 bits the result is arbitrary."""
    return values + (int(max(min(by, _LARGEST), -_LARGEST)) if values.dtype.kind == "i" else by)


def _corrected(guess: np.ndarray, end: int, before: Before) -> np.ndarray:
    """Return the first places that do not come `before`, where rounding has led to others."""
    which, low, high = np.arange(len(guess)), np.maximum(guess - 1, 0), np.minimum(guess, max(end - 1, 0))
    if not end:
        return guess
    wrong = np.flatnonzero(((guess > 0) & ~before(low, which)) | ((guess < end) & before(high, which)))
    if len(wrong):
        zeros = np.zeros(len(wrong), np.int64)
        guess[wrong] = _first(zeros, zeros + end, lambda at, some: before(at, wrong[some]))
    return guess


def _first(low: np.ndarray, high: np.ndarray, before: Before) -> np.ndarray:
    """Search all ranges by bisection for the first place that is not `before` the wanted one."""
    low, high = low.copy(), high.copy()
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) // 2
        on = before(middle, open_)
        low[open_[on]] = middle[on] + 1
        high[open_[~on]] = middle[~on]
        open_ = open_[low[open_] < high[open_]]
    return low
