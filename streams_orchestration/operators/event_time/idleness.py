"""Decides by the clock whether a source or its partitions are idle.

Only this part of event time depends on a clock (EV51).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.tuples.watermarks import Watermarks

MAX_CALL_GAP_SECONDS = 1.0
"""The largest time in seconds between two calls of `declare_idle` that counts as idleness, beyond the pause that the
source asked for. So time without calls of the source, as during back-pressure or a drain, does not count.
"""


class Idleness:
    """The time since the last tuple of each partition. A partition without tuples for too long is declared idle."""

    def __init__(self, clock: Clock, after: float) -> None:
        """Start the measurement for a source; no time has passed yet.

        Args:
            clock: the clock of the source.
            after: the seconds without a tuple after which a partition is idle.
        """
        self._clock = clock
        self._after = after
        self._quiet: dict[str, float] = {}
        """Map each partition to the seconds for which it was at its end without a new tuple."""
        self._counts: dict[str, int] = {}
        self._called: float | None = None
        self._pause = 0.0
        self._earlier: list[IdleDecision] = []

    def repeat(self, decisions: list[IdleDecision]) -> None:
        """Divide the decisions from before a reset into repeated and pending ones; forget decisions of the last batch.

        Call it before the source is called.
        """
        partitions = self._clock.partitions
        self._earlier = [each for each in decisions if each.number < partitions.decided]
        partitions.pending = [each for each in decisions if each.number >= partitions.decided]
        partitions.made.clear()

    def decisions(self, epoch: int) -> list[IdleDecision]:
        """Return all decisions that a later reset may have to repeat.

        The decisions of this batch get the batch's epoch.
        """
        partitions = self._clock.partitions
        made = [replace(each, epoch=epoch) for each in partitions.made]
        return [*self._earlier, *made, *partitions.pending]

    def declare_idle(self, now: float, at_end: Collection[str] | None) -> list[Watermarks]:
        """Declare the partitions idle that had no tuples for long enough, and return the resulting watermarks.

        Decisions from before a reset are repeated first if they are due, and discarded if they cannot become due. While
        one is pending, no partition is declared idle.

        Args:
            now: the time of the source's last call, in seconds.
            at_end: the partitions that have no further tuples now; None if the source cannot know, since its server
                cannot be reached. Until then no idle time is counted.
        """
        partitions = self._clock.partitions
        found = [self._clock.settle()]
        if at_end is None:
            self._called = None
            return [each for each in found if each is not None]
        passed = 0.0 if self._called is None else min(now - self._called, self._pause + MAX_CALL_GAP_SECONDS)
        counts, self._called = partitions.counts, now
        self._quiet = {
            name: self._quiet[name] + passed if name in self._quiet and self._counts.get(name) == count else 0.0
            for name, count in counts.items()
            if name in at_end
        }
        self._counts = counts
        partitions.give_up(at_end)
        if not partitions.pending:
            found.append(self._clock.rest([name for name, time in self._quiet.items() if time >= self._after]))
        return [each for each in found if each is not None]

    def pause(self, pause: float | None) -> float | None:
        """Return the seconds until the next call of the source: at most until the next partition becomes idle.

        `declare_idle` uses the result, too. None stays None.

        Args:
            pause: the seconds that the source asks for; None if it leaves the pause to the caller.
        """
        active = self._clock.partitions.counts
        left = [max(self._after - time, 0.0) for name, time in self._quiet.items() if name in active]
        if pause is not None and left:
            pause = min(pause, *left) if min(left) else pause
        self._pause = pause or 0.0
        return pause
