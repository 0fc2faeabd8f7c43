"""Watermarks of a stream, as places between the tuples of a batch and values (EV15, EV41)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streams_orchestration.operators.libraries import np

IDLE = -(2**63)
"""The value of an entry that says that the stream is idle from there on, until its next tuple (EV51)."""
END = 2**63 - 1
"""The greatest watermark: the stream has ended (EV25)."""


@dataclass(frozen=True, slots=True, eq=False)
class Watermarks:
    """The watermarks among the tuples of one batch, in their order.

    Values ascend, except for `IDLE`. A watermark of value x promises that all later tuples have a time of at least x,
    or are late (EV15).
    """

    places: np.ndarray
    """Per watermark the number of tuples of the batch in front of it; ascending int64."""
    values: np.ndarray
    """Per watermark its value in ticks, `IDLE` or `END`; int64."""

    @classmethod
    def of(cls, *watermarks: tuple[int, int]) -> Watermarks:
        """Return watermarks that are given as pairs of place and value.

        >>> Watermarks.of((0, 10), (3, 25))
        Watermarks.of((0, 10), (3, 25))
        """
        pairs = np.array(watermarks, np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1])

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.places.tolist(), self.values.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"Watermarks.of({', '.join(map(repr, self))})"

    def encoded(self) -> bytes:
        """Return the watermarks as bytes: all places, then all values, as little-endian int64."""
        return np.concatenate((self.places, self.values)).astype("<i8").tobytes()

    @classmethod
    def decoded(cls, data: bytes) -> Watermarks:
        """Return the watermarks that `encoded` has made bytes of.

        >>> Watermarks.decoded(Watermarks.of((0, 10), (3, IDLE)).encoded())
        Watermarks.of((0, 10), (3, -9223372036854775808))
        """
        places, values = np.frombuffer(data, "<i8").reshape(2, -1)
        return cls(places, values)

    def filtered(self, mask: np.ndarray) -> Watermarks:
        """Return the watermarks among the tuples where the mask is true.

        >>> Watermarks.of((1, 10), (3, 25)).filtered(np.array([False, True, True]))
        Watermarks.of((0, 10), (2, 25))
        """
        kept = np.zeros(len(mask) + 1, np.int64)
        np.cumsum(mask, out=kept[1:])
        return Watermarks(kept[self.places], self.values)

    def taken(self, indexes: np.ndarray) -> Watermarks:
        """Return the watermarks among the tuples at ascending positions; a position may come several times.

        >>> Watermarks.of((1, 10), (3, 25)).taken(np.array([0, 0, 2]))
        Watermarks.of((2, 10), (3, 25))
        """
        return Watermarks(np.searchsorted(indexes, self.places, side="left").astype(np.int64), self.values)

    def sliced(self, start: int, length: int) -> Watermarks:
        """Return the watermarks behind the tuples of a slice; those in front of all tuples belong to the first slice.

        >>> Watermarks.of((0, 5), (2, 10), (4, 25)).sliced(2, 2)
        Watermarks.of((2, 25))
        """
        behind = (self.places > start) if start else (self.places >= 0)
        mine = behind & (self.places <= start + length)
        return Watermarks(self.places[mine] - start, self.values[mine])

    def singly(self) -> Iterator[Watermarks]:
        """Yield each watermark by itself."""
        return (Watermarks(self.places[i : i + 1], self.values[i : i + 1]) for i in range(len(self)))

    def rest(self, first: int) -> Watermarks:
        """Return the watermarks from number `first` on, with all positions set to 0."""
        values = self.values[first:]
        return Watermarks(np.zeros(len(values), np.int64), values)


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark among the items of a stream, for tests: the time that it promises."""

    value: Any
    """A value of the event-time attribute's type; `END` for the end of the stream."""


@dataclass(frozen=True, slots=True)
class Idle:
    """The beginning of an idle time among the items of a stream, for tests (EV51)."""
