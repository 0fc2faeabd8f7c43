"""Recoveries: the course of every failure of a unit, from the last sign of life to the first new commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streams_orchestration.runtime.units.unit_status import PHASES, UnitEvent, phases_of


@dataclass(frozen=True, slots=True)
class Recovery:
    """One failure, or one requested reset, and what became of it."""

    at: dict[str, float]
    """Unix seconds of its moments that have come so far: failed, detected, asked, began, done, committed."""
    cause: str | None = None
    epoch: int = 0
    """The complete one that it went back to."""
    given_up: bool = False
    """The attempts were used up."""

    @property
    def began(self) -> float:
        """Unix seconds when it began: the last sign of life before the failure."""
        return min(self.at.values())

    @property
    def ended(self) -> float | None:
        """Unix seconds when the unit worked again; None before."""
        return None if "done" not in self.at else max(self.at.values())

    @property
    def phases(self) -> dict[str, float]:
        """Return the seconds of each phase: detect, decide, hosts, restart, first commit."""
        return phases_of(self.at)


MOMENTS = {"taken up": "asked", "reset began": "began", "reset done": "done", "first commit": "committed"}
"""Kind of an event -> the moment that it is."""


def recoveries(events: Iterable[UnitEvent]) -> tuple[Recovery, ...]:
    """Return the recoveries that these events are about.

    An attempt that failed is a recovery that has no end; the next attempt is one of its own.

    Args:
        events: of one unit, the oldest first; earlier ones may be missing.
    """
    recoveries: list[Recovery] = []
    for event in events:
        if event.kind == "unhealthy":
            at = {"failed": event.at - (event.seconds or 0.0), "detected": event.at}
            recoveries.append(Recovery(at, event.cause, event.epoch))
        elif event.kind == "attempts used up":
            if recoveries:
                recoveries[-1] = replace(recoveries[-1], given_up=True)
        elif (moment := MOMENTS.get(event.kind)) is not None:
            last = recoveries[-1].at if recoveries else {}
            fits = bool(last) and not any(later in last for later in PHASES[PHASES.index(moment) :])
            if moment == "began" and not fits:
                recoveries.append(Recovery(dict.fromkeys(PHASES[:4], event.at), event.cause, event.epoch))
            elif fits:
                recoveries[-1] = replace(recoveries[-1], at=last | {moment: event.at})
    return tuple(recoveries)
