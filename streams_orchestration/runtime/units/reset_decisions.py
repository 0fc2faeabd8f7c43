"""Decides for all units at once which resets to request.

`decide_resets` is pure, so all processes decide alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.status import UnitsStatus

RETRIES = Pauses(first=30.0, longest=600.0)
"""Pauses after which a reset that changed nothing is requested again."""
REASON_LENGTH = 200
"""The most characters of the reason of a known failure."""
SENSOR_GRACE_SECONDS = 0.5
"""Seconds for which a command or op leaves a failed unit to Dagster's sensor before it resets the unit itself."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """The last known failure of a unit, and the resets that were requested for it. Times are unix seconds."""

    life: str
    """The life of the application, as in `UnitsStatus`."""
    generation: int
    gone: tuple[tuple[int, float], ...]
    """Hosts of the unit that did not work, each with the unix time of its launch."""
    met_at: float
    """The time of the check that first found this failure; set again when further hosts have failed."""
    reason: str
    """The reason of the failure at that check, cut if it is long."""
    number: int = 0
    """The number of resets requested in this generation."""
    tries: int = 0
    """The number of resets in this generation that were requested for exactly this failure."""
    asked_at: float = 0.0
    """The time of the last request in unix seconds."""

    @property
    def key(self) -> str:
        """The key of the last requested reset of the unit, by which a second process sees that it was requested."""
        return f"{self.life}:{self.generation}:{self.number}"


@dataclass(frozen=True, slots=True)
class ResetDecisions:
    """The decisions of one check of all units."""

    met: tuple[UnitFailure, ...]
    """Failures that did not exist at the last check."""
    resets: tuple[UnitFailure, ...]
    """The failures whose resets are to be requested.

    Failures of units with all hosts present come first, since their resets begin at once.
    """
    exhausted: tuple[UnitFailure, ...]
    """Failures of units that are no longer reset."""
    known: dict[str, KnownFailure]
    """The state to pass to the next check."""


def decide_resets(
    status: UnitsStatus, now: float, known: Mapping[str, KnownFailure], *, patience: float = 0.0
) -> ResetDecisions:
    """Decide on every unit by itself: none waits for the reset of another one, nor for its own earlier reset.

    A failure is a generation that has failed, or whose hosts are gone. So a host that dies during a reset is a new
    failure, and is answered at once. A failure that stays although a reset was requested is answered again, after a
    growing pause (`RETRIES`). No failure is answered before its `due_at`. An exhausted failure is not answered.

    Args:
        status: the status as read from the catalog.
        now: unix seconds.
        known: the `known` of the last check; empty at the first one.
        patience: seconds in which other processes may answer a failure first.
    """
    kept = dict(known)
    met: list[UnitFailure] = []
    resets: list[UnitFailure] = []
    exhausted: list[UnitFailure] = []
    for failure in find_failures(status, now):
        last = kept.get(failure.unit)
        if last is None or (last.life, last.generation) != (status.life, failure.generation):
            last = KnownFailure(status.life, failure.generation, failure.gone, now, _reason(failure))
            met.append(failure)
        elif not set(failure.gone) <= set(last.gone):
            last = replace(last, gone=failure.gone, met_at=now, reason=_reason(failure), tries=0)
            met.append(failure)
        kept[failure.unit] = last
        if failure.exhausted:
            exhausted.append(failure)
        elif now >= max(_due(last, patience), failure.due_at):
            kept[failure.unit] = replace(last, number=last.number + 1, tries=last.tries + 1, asked_at=now)
            resets.append(failure)
    resets.sort(key=lambda failure: bool(failure.gone))
    return ResetDecisions(tuple(met), tuple(resets), tuple(exhausted), kept)


class Resetter:
    """Requests the resets of an application in each check of a loop, and keeps its known failures between checks."""

    def __init__(self, request: Callable[[UnitFailure], object], patience: float) -> None:
        """Initialise it with the call that requests a reset, and the `patience` of `decide_resets`."""
        self._request = request
        self._patience = patience
        self._known: Mapping[str, KnownFailure] = {}

    def request_resets(self, status: UnitsStatus, now: float) -> ResetDecisions:
        """Call `decide_resets`, request the resets that are due, and return the decisions.

        If a request raises an error, the check is forgotten, and the next check requests its resets again.
        """
        decisions = decide_resets(status, now, self._known, patience=self._patience)
        for failure in decisions.resets:
            self._request(failure)
        self._known = decisions.known
        return decisions


def _reason(failure: UnitFailure) -> str:
    return failure.cause.reason[:REASON_LENGTH]


def _due(last: KnownFailure, patience: float) -> float:
    if last.tries == 0:
        return last.met_at + patience
    return last.asked_at + RETRIES.after(last.tries)
