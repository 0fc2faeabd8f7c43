"""Values of maps: a dict, or `RepeatedKeys` for a map that has a key more than once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class RepeatedKeys(dict[Any, Any]):
    """A map that has a key more than once, as `from_json` makes it. A lookup finds the first value of a key.

    >>> one, other = RepeatedKeys([("k", 1), ("k", 2)]), RepeatedKeys([("k", 1), ("k", 3)])
    >>> one["k"], one == other, one != other
    (1, False, True)
    """

    def __init__(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        super().__init__(reversed(pairs))
        self._pairs = tuple(pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def keys(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Return the keys of all pairs, in order, with repeated keys."""
        return tuple(key for key, _ in self._pairs)

    def values(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Return the values in the order of the keys."""
        return tuple(value for _, value in self._pairs)

    def items(self) -> tuple[tuple[Any, Any], ...]:  # type: ignore[override]
        """Return all pairs of the map, in order, with repeated keys."""
        return self._pairs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RepeatedKeys) and self._pairs == other._pairs

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def map_from(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of the pairs, or `RepeatedKeys` if a key occurs more than once."""
    pairs = list(pairs)
    once = dict(pairs)
    return once if len(once) == len(pairs) else RepeatedKeys(pairs)
