"""The choices of a run: which process goes on, how long a step takes, which fault comes where.

Choices are made in named streams, so that one fault less does not change the schedule of what follows. A choice of 0
is always the harmless one: no fault, the shortest step. The choices that are not 0 make a run's replay file.

>>> choices = Choices(7)
>>> first = [choices.pick("schedule", (1, 1, 1)) for _ in range(4)]
>>> again = Choices.replay(choices.made)
>>> [again.pick("schedule", (1, 1, 1)) for _ in range(4)] == first
True
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

Made = dict[str, dict[int, int]]
"""Stream -> number of the choice in it -> the option that was taken; those that took option 0 are left out."""

SUMS = 1_000
"""Weights whose sums are kept."""


class Choices:
    """Choices from a seed.

    Args:
        seed: of the run.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._streams: dict[str, _Stream] = {}
        self._given: Mapping[str, Mapping[int, int]] = {}
        self._limits: Mapping[str, int] = {}
        """Stream -> number of the first choice that is not given."""
        self._sums: dict[int, tuple[Sequence[float], tuple[float, ...]]] = {}
        self.made: Made = {}

    @classmethod
    def replay(cls, made: Mapping[str, Mapping[int, int]]) -> Choices:
        """Return the choices of another run; a choice that the other run has not made takes option 0."""
        choices = cls(None)
        choices._given = made
        return choices

    @classmethod
    def varied(cls, made: Mapping[str, Mapping[int, int]], seed: int, share: float) -> Choices:
        """Return the choices of another run up to a share of it, and then others.

        Args:
            made: the choices of the other run that are not 0.
            seed: of the choices that follow.
            share: the share, from 0 to 1.
        """
        choices = cls(seed)
        choices._given = made
        choices._limits = {stream: int(share * max(of)) for stream, of in made.items()}
        return choices

    def pick(self, stream: str, weights: Sequence[float]) -> int:
        """Choose one of several options.

        Args:
            stream: name of the stream.
            weights: how often each option comes, relative to the others.
        """
        of = self._streams.get(stream)
        if of is None:
            of = self._streams[stream] = self._stream(stream)
        number = of.count
        of.count = number + 1
        if number < of.limit:
            option = of.given.get(number, 0)
            option = option if option < len(weights) and weights[option] else 0
        else:
            known = self._sums.get(id(weights))
            sums = known[1] if known is not None and known[0] is weights else self._sums_of(weights)
            at = of.random() * sums[-1]
            option = 0 if at < sums[0] else bisect_right(sums, at, 0, len(sums) - 1)
        if option:
            self.made.setdefault(stream, {})[number] = option
        return option

    def _stream(self, name: str) -> _Stream:
        limit = inf if self._seed is None else self._limits.get(name, 0)
        return _Stream(random.Random(f"{self._seed} {name}").random, self._given.get(name, {}), limit)

    def _sums_of(self, weights: Sequence[float]) -> tuple[float, ...]:
        """Return the sums of the first weights, of all numbers of them; weights do not change."""
        if len(self._sums) > SUMS:
            self._sums.clear()
        sums = tuple(accumulate(weights))
        self._sums[id(weights)] = weights, sums
        return sums


@dataclass(slots=True)
class _Stream:
    """A stream of choices."""

    random: Callable[[], float]
    given: Mapping[int, int]
    limit: float
    """Number of the first choice that is not given."""
    count: int = 0
