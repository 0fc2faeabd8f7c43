"""Shrinking: from a run that went wrong to one with few faults and few steps out of order that goes wrong as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streams_orchestration_tests.simulation.choices import Made

FAULTS = "fault"
"""The stream in which faults are chosen."""
TRIES = 100
"""Most runs in which a wrong run is shrunk."""


def shrunk(made: Made, again: Callable[[Made], Made | None], tries: int = TRIES) -> Made:
    """Return fewer choices that still make a run wrong.

    A run ends when it goes wrong, so the choices that it would have made after that fall off first. Then each stream
    but that of the faults is left out as a whole. Then only the first faults are kept, as few as bisection finds; the
    others are left out in halves, quarters and so on, and so are the other choices. Two thirds of the tries are for the
    faults.

    Args:
        made: the choices of a wrong run that are not 0.
        again: runs with choices; returns the choices that the run has made if it went wrong, else None.
        tries: most runs.

    >>> faults = {"fault": {number: 1 for number in range(64)}, "schedule": {number: 1 for number in range(900)}}
    >>> shrunk(faults, lambda made: made if {5, 40} <= made.get("fault", {}).keys() else None)
    {'fault': {5: 1, 40: 1}}
    """
    shrinker = _Shrinker(made, again, tries)
    shrinker.tries_without(())
    for stream in sorted(made.keys() - {FAULTS}):
        shrinker.tries_without((stream,))
    shrinker.reserve = tries // 3
    shrinker.keep_first(FAULTS)
    shrinker.leave_out(FAULTS)
    shrinker.reserve = 0
    for stream in sorted(shrinker.made, key=lambda stream: (stream != FAULTS, stream)):
        shrinker.leave_out(stream)
    return shrinker.made


@dataclass
class _Shrinker:
    """The fewest choices that were found, and the runs that may still be made."""

    made: Made
    again: Callable[[Made], Made | None]
    left: int
    reserve: int = 0
    """Runs that are kept for later."""

    def _is_enough(self, made: Made) -> bool:
        """Run with some of the choices, and keep them if that goes wrong."""
        if self.left <= self.reserve:
            return False
        self.left -= 1
        found = self.again(made)
        if found is not None:
            self.made = found
        return found is not None

    def tries_without(self, streams: Sequence[str]) -> bool:
        """Try without some streams."""
        return self._is_enough({stream: of for stream, of in self.made.items() if stream not in streams})

    def _is_enough_of(self, stream: str, numbers: Sequence[int]) -> bool:
        of = self.made[stream]
        return self._is_enough(self.made | {stream: {number: of[number] for number in numbers}})

    def _numbers(self, stream: str) -> list[int]:
        return sorted(self.made.get(stream, {}))

    def keep_first(self, stream: str) -> None:
        """Find by bisection how many of the first choices are enough."""
        low, high = 0, len(self._numbers(stream))
        while low < high:
            middle = (low + high) // 2
            if self._is_enough_of(stream, self._numbers(stream)[:middle]):
                high = min(middle, len(self._numbers(stream)))
            else:
                low = middle + 1

    def leave_out(self, stream: str) -> None:
        """Leave out parts, which become smaller when none can be left out."""
        size = max(len(self._numbers(stream)) // 2, 1)
        while self._numbers(stream) and self.left > self.reserve:
            start, removed = 0, False
            while start < len(numbers := self._numbers(stream)):
                if self._is_enough_of(stream, numbers[:start] + numbers[start + size :]):
                    removed = True
                else:
                    start += size
            if size == 1 and not removed:
                return
            size = max(size // 2, 1)
