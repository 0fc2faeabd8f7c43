"""Watermarks of a stream: each has a position between the tuples of a batch, and a value (EV15, EV41)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streams_orchestration.operators.loading.libraries import np, pa

IDLE = -(2**63)
"""The value of an entry that declares the stream idle until its next tuple (EV51)."""
END = 2**63 - 1
"""The greatest watermark: the stream has ended (EV25)."""


class Watermarks:
    """The watermarks among the tuples of one batch, in their order. They never change.

    Values ascend, except for `IDLE`. A watermark of value x promises that all later tuples have a time of at least x,
    or are late (EV15).
    """

    __slots__ = ("_places", "rise", "values")

    def __init__(
        self,
        places: np.ndarray | tuple[pa.BooleanArray | np.ndarray, Watermarks],
        values: np.ndarray,
        rise: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Make watermarks.

        Args:
            places: the places; or the tuples that are left, by a mask or by ascending positions, and the watermarks
                among all tuples. The places are then computed when they are first read: many operators, such as most
                sinks, read the values only.
            values: the values.
            rise: True if the values are known to ascend strictly, so that no value is `IDLE`.
        """
        self._places = places
        self.values = values
        """The value of each watermark in ticks, `IDLE` or `END`; int64."""
        self.rise = rise
        """True if the values are known to ascend strictly, so that no value is `IDLE`."""

    @property
    def places(self) -> np.ndarray:
        """The number of tuples of the batch before each watermark; ascending int64."""
        if isinstance(self._places, tuple):
            left, among_all = self._places
            count_before = _taken_before if isinstance(left, np.ndarray) else _kept_before
            self._places = count_before(left, among_all.places)
        return self._places

    @classmethod
    def of(cls, *watermarks: tuple[int, int]) -> Watermarks:
        """Return watermarks that are given as pairs of place and value.

        >>> Watermarks.of((0, 10), (3, 25))
        Watermarks.of((0, 10), (3, 25))
        """
        pairs = np.array(watermarks, np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1])

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.places.tolist(), self.values.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"Watermarks.of({', '.join(map(repr, self))})"

    def encoded(self) -> bytes:
        """Return the watermarks as bytes: all places, then all values, as little-endian int64."""
        return np.concatenate((self.places, self.values)).astype("<i8").tobytes()

    @classmethod
    def decoded(cls, data: bytes) -> Watermarks:
        """Return the watermarks that `encoded` has converted to bytes.

        >>> Watermarks.decoded(Watermarks.of((0, 10), (3, IDLE)).encoded())
        Watermarks.of((0, 10), (3, -9223372036854775808))
        """
        places, values = np.frombuffer(data, "<i8").reshape(2, -1)
        return cls(places, values, rising(values))

    def filtered(self, mask: pa.BooleanArray) -> Watermarks:
        """Return the watermarks among the tuples where the mask is true; null counts as false.

        >>> Watermarks.of((1, 10), (3, 25)).filtered(pa.array([False, True, True]))
        Watermarks.of((0, 10), (2, 25))
        """
        return Watermarks((mask, self), self.values, self.rise)

    def taken(self, indexes: np.ndarray) -> Watermarks:
        """Return the watermarks among the tuples at ascending positions; a position may come several times.

        >>> Watermarks.of((1, 10), (3, 25)).taken(np.array([0, 0, 2]))
        Watermarks.of((2, 10), (3, 25))
        """
        return Watermarks((indexes, self), self.values, self.rise)

    def sliced(self, start: int, length: int) -> Watermarks:
        """Return the watermarks after the tuples of a slice; those in front of all tuples belong to the first slice.

        >>> Watermarks.of((0, 5), (2, 10), (4, 25)).sliced(2, 2)
        Watermarks.of((2, 25))
        """
        behind = (self.places > start) if start else (self.places >= 0)
        mine = behind & (self.places <= start + length)
        return Watermarks(self.places[mine] - start, self.values[mine], self.rise)

    def singly(self) -> Iterator[Watermarks]:
        """Yield each watermark as an object of its own."""
        return (Watermarks(self.places[i : i + 1], self.values[i : i + 1]) for i in range(len(self)))

    def part(self, first: int, last: int, removed: int) -> Watermarks | None:
        """Return the watermarks from number `first` up to, but not including, number `last`; None without any.

        >>> Watermarks.of((0, 5), (2, 10), (4, 25)).part(1, 3, removed=2)
        Watermarks.of((0, 10), (2, 25))

        Args:
            first: the number of the first watermark.
            last: one more than the number of the last watermark.
            removed: the number of tuples in front that were removed, by which the positions are reduced.
        """
        if last <= first:
            return None
        return Watermarks(self.places[first:last] - removed, self.values[first:last], self.rise)

    def rest(self, first: int) -> Watermarks:
        """Return the watermarks from number `first` on, with all positions set to 0."""
        values = self.values[first:]
        return Watermarks(np.zeros(len(values), np.int64), values, self.rise)


def rising(values: np.ndarray) -> bool:
    """Return True if the values of watermarks ascend strictly, and none is `IDLE`."""
    return bool(len(values)) and values[0] != IDLE and np.count_nonzero(values[1:] > values[:-1]) == len(values) - 1


def _kept_before(mask: pa.BooleanArray, places: np.ndarray) -> np.ndarray:
    """Return the number of tuples before each place where the mask is true."""
    if mask.offset or mask.null_count or not len(mask):
        kept = np.zeros(len(mask) + 1, np.int64)
        np.cumsum(mask.fill_null(fill_value=False).to_numpy(zero_copy_only=False), out=kept[1:])
        return kept[places]
    return _ones_before(mask.buffers()[1].to_pybytes(), places)


def _taken_before(indexes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the number of ascending positions before each place."""
    return np.searchsorted(indexes, places, side="left").astype(np.int64)


@functools.cache
def _bits_from() -> np.ndarray:
    """Return the masks with a bit of a word and all higher bits, by bit."""
    return np.array([(1 << 64) - (1 << bit) for bit in range(64)], np.uint64)


def _ones_before(bitmap: bytes, places: np.ndarray) -> np.ndarray:
    """Return per place the number of ones before it, in a bitmap whose least bits are first."""
    words = np.frombuffer(bitmap + bytes(16 - len(bitmap) % 8), "<u8")
    at = places >> 6
    behind = words[at] & _bits_from()[places & 63]
    return np.bitwise_count(words).cumsum(dtype=np.int64)[at] - np.bitwise_count(behind)


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark among the rows of a test. It promises that no earlier tuple follows."""

    value: Any
    """A value of the event-time attribute's type; `END` for the end of the stream."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A marker among the rows of a test: the stream becomes idle (EV51)."""
