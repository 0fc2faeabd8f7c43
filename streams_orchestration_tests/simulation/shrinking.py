"""Shrinking: from a run that went wrong to one with few faults and few steps out of order that goes wrong as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams_orchestration_tests.simulation.choices import Made

Choice = tuple[str, int]
"""The stream of a choice, and its number there."""
FAULTS = "fault"
"""The stream in which faults are chosen."""


def shrunk(made: Made, is_wrong: Callable[[Made], bool], tries: int = 100) -> Made:
    """Return fewer choices that still make a run wrong, by delta debugging.

    First each other stream is left out as a whole, then faults in halves, quarters and so on, then the other choices.
    Two thirds of the tries are for the faults.

    Args:
        made: the choices of a wrong run that are not 0.
        is_wrong: runs with choices, and returns True if that went wrong.
        tries: most runs.

    >>> faults = {"fault": {number: 1 for number in range(64)}, "schedule": {number: 1 for number in range(900)}}
    >>> shrunk(faults, lambda made: {5, 40} <= made.get("fault", {}).keys())
    {'fault': {5: 1, 40: 1}}
    """
    left = {stream: sorted(of) for stream, of in made.items()}
    for stream in sorted(made.keys() - {FAULTS}):
        tries -= 1
        if is_wrong(_only(made, left | {stream: []})):
            left[stream] = []
    for stream, share in ((FAULTS, 2 / 3), *((stream, 1.0) for stream in sorted(left.keys() - {FAULTS}))):
        most = int(tries * share)
        for used, fewer in enumerate(_candidates(left.get(stream, ()))):
            if used >= most:
                break
            tries -= 1
            if is_wrong(_only(made, left | {stream: fewer.numbers})):
                left[stream] = fewer.numbers
                fewer.taken = True
    return _only(made, left)


class _Fewer:
    """Some numbers that may be enough; the caller says whether they are."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers, self.taken = numbers, False


def _candidates(numbers: list[int] | tuple[()]) -> Iterator[_Fewer]:
    """Yield what is left without each part of some numbers, whose parts become smaller when none can be left out."""
    left, size = list(numbers), max(len(numbers) // 2, 1)
    while left:
        start, removed = 0, False
        while start < len(left):
            fewer = _Fewer(left[:start] + left[start + size :])
            yield fewer
            if fewer.taken:
                left, removed = fewer.numbers, True
            else:
                start += size
        if size == 1 and not removed:
            return
        size = max(size // 2, 1)


def _only(made: Made, left: dict[str, list[int]]) -> Made:
    return {stream: {number: made[stream][number] for number in numbers} for stream, numbers in left.items() if numbers}
