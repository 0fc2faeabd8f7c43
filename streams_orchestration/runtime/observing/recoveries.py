"""Recoveries: the course of each failure of a unit, from the last sign of life to the first new commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streams_orchestration.runtime.catalog.rows import UnitEventRow
from streams_orchestration.runtime.catalog.states import EventKind
from streams_orchestration.runtime.catalog.unit_columns import Moment
from streams_orchestration.runtime.units.unit_status import PHASES, phases_of


@dataclass(frozen=True, slots=True)
class Recovery:
    """One failure, or one requested reset, and its outcome."""

    at: dict[Moment, float]
    """Moment -> its unix seconds, for those reached so far: failed, detected, asked, began, done, committed."""
    cause: str | None = None
    """The cause in words; None if it is not known."""
    epoch: int = 0
    """The complete epoch that the unit went back to."""
    given_up: bool = False
    """True if no attempt was left."""

    @property
    def began(self) -> float:
        """The time of the last sign of life before the failure, or of the request of a reset, in unix seconds."""
        return min(self.at.values())

    @property
    def ended(self) -> float | None:
        """The time of the first commit after the reset in unix seconds, or of the reset's end before that commit.

        None before the reset is done.
        """
        return None if "done" not in self.at else max(self.at.values())

    @property
    def phases(self) -> dict[str, float]:
        """The seconds of each phase: detect, decide, hosts, restart, first commit; see `phases_of`."""
        return phases_of(self.at)


MOMENTS: dict[EventKind, Moment] = {
    "taken up": "asked",
    "reset began": "began",
    "reset done": "done",
    "first commit": "committed",
}
"""Kind of an event -> the moment that it marks."""


def find_recoveries(events: Iterable[UnitEventRow]) -> tuple[Recovery, ...]:
    """Return the recoveries that events are about.

    An attempt that failed is a recovery without an end; the next attempt is a recovery of its own. Events that belong
    to no recovery are ignored.

    Args:
        events: the events of one unit, the oldest first; earlier ones may be missing.
    """
    found: list[Recovery] = []
    for event in events:
        if event.kind == "unhealthy":
            at: dict[Moment, float] = {"failed": event.at - (event.seconds or 0.0), "detected": event.at}
            found.append(Recovery(at, event.cause, event.epoch))
        elif event.kind == "attempts used up":
            if found:
                found[-1] = replace(found[-1], given_up=True)
        elif (moment := MOMENTS.get(event.kind)) is not None:
            last = found[-1].at if found else {}
            fits = bool(last) and not any(later in last for later in PHASES[PHASES.index(moment) :])
            if moment == "began" and not fits:
                found.append(Recovery(dict.fromkeys(PHASES[:4], event.at), event.cause, event.epoch))
            elif fits:
                found[-1] = replace(found[-1], at=last | {moment: event.at})
    return tuple(found)
