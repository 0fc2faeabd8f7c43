"""Decides that a source, or some of its partitions, are idle. Only here does event time depend on a clock (EV51)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.watermarks import Watermarks

LOOK_SECONDS = 1.0
"""The time between two looks counts up to this much beyond the pause that the source asked for. So the clock stands
still while the source is not called, as during back-pressure or a drain."""


class Idleness:
    """The time since the last tuple of each partition, and the decision that a partition is idle."""

    def __init__(self, clock: Clock, after: float) -> None:
        """Make the measurement of a source; no time has passed yet.

        Args:
            clock: the clock of the source.
            after: the seconds without a tuple after which a partition is idle.
        """
        self._clock = clock
        self._after = after
        self._quiet: dict[str, float] = {}
        """The seconds for which each partition was at its end without a new tuple."""
        self._counts: dict[str, int] = {}
        self._looked: float | None = None
        self._pause = 0.0
        self._earlier: list[IdleDecision] = []

    def repeat(self, decisions: list[IdleDecision]) -> None:
        """Note the decisions from before a reset, and repeat those that are pending; call it before the source."""
        partitions = self._clock.partitions
        self._earlier = [each for each in decisions if each.number < partitions.decided]
        partitions.pending = [each for each in decisions if each.number >= partitions.decided]
        partitions.made.clear()

    def decisions(self, epoch: int) -> list[IdleDecision]:
        """Return all decisions that a later reset may repeat, with the epochs of those made.

        Args:
            epoch: the epoch of the batch.
        """
        partitions = self._clock.partitions
        made = [replace(each, epoch=epoch) for each in partitions.made]
        return [*self._earlier, *made, *partitions.pending]

    def look(self, now: float, at_end: Collection[str] | None) -> list[Watermarks]:
        """Return the watermarks that follow from the time that has passed.

        Args:
            now: the time of the source's last call, in seconds.
            at_end: the partitions that have no further tuples now; None if the source cannot know, since its server
                cannot be reached. The clock stands still until it can.
        """
        partitions = self._clock.partitions
        found = [self._clock.settle()]
        if at_end is None:
            self._looked = None
            return [each for each in found if each is not None]
        passed = 0.0 if self._looked is None else min(now - self._looked, self._pause + LOOK_SECONDS)
        counts, self._looked = partitions.counts, now
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
        """Return the seconds until the source is called again: at most until the next partition becomes idle.

        Args:
            pause: the seconds that the source asks for; None for some short time.
        """
        active = self._clock.partitions.counts
        left = [max(self._after - time, 0.0) for name, time in self._quiet.items() if name in active]
        if pause is not None and left:
            pause = min(pause, *left) if min(left) else pause
        self._pause = pause or 0.0
        return pause
