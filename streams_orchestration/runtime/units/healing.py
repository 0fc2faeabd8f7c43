"""Healing: decides for all units at once which resets to request; pure, so that all processes decide alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streams_orchestration.runtime.units.failures import UnitFailure, failures
from streams_orchestration.runtime.units.status import UnitsStatus

FIRST_RETRY = 30.0
"""Seconds after which a reset that changed nothing is requested again; doubled every time."""
LAST_RETRY = 600.0


@dataclass(frozen=True, slots=True)
class Known:
    """The failure of a unit that was last met, and the resets requested because of it. Times are unix seconds."""

    deployment: int
    generation: int
    gone: tuple[tuple[int, float], ...]
    """Hosts of the unit that did not work, each with the unix time of its launch."""
    met_at: float
    number: int = 0
    """Resets requested in this generation."""
    tries: int = 0
    """Number of these resets that were requested for this very failure."""
    asked_at: float = 0.0
    """Unix seconds of the last one."""


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """A reset to be begun."""

    key: str
    """Identifies the deployment, the failure and the attempt, so that no second process answers the same one."""
    failure: UnitFailure


@dataclass(frozen=True, slots=True)
class Healing:
    """The decisions of one look at all units."""

    met: tuple[UnitFailure, ...]
    """Failures that were not there at the last look."""
    resets: tuple[ResetRequest, ...]
    """First those of units whose hosts are all there: these begin at once, the others wait for a start."""
    exhausted: tuple[UnitFailure, ...]
    """Units that are not to be reset any more."""
    known: dict[str, Known]
    """State to pass to the next look."""


def heal(status: UnitsStatus, now: float, known: Mapping[str, Known], *, patience: float = 0.0) -> Healing:
    """Judge every unit by itself: none waits for the reset of another one, nor for an earlier one of its own.

    A failure is a generation that went wrong, or hosts of it that are gone: one that dies while the reset is under way
    is a new failure, and is answered at once. One that stays as it is although a reset was requested is answered
    again, after a time that grows.

    Args:
        status: as read from the catalog.
        now: unix seconds.
        known: what the last look has left; nothing at the first one.
        patience: seconds in which others may answer a failure first.
    """
    deployment = int(status.deployed_at)
    kept = dict(known)
    met: list[UnitFailure] = []
    resets: list[ResetRequest] = []
    exhausted: list[UnitFailure] = []
    for failure in failures(status, now):
        last = kept.get(failure.unit)
        if last is None or (last.deployment, last.generation) != (deployment, failure.generation):
            last = Known(deployment, failure.generation, failure.gone, now)
            met.append(failure)
        elif not set(failure.gone) <= set(last.gone):
            last = replace(last, gone=failure.gone, met_at=now, tries=0)
            met.append(failure)
        kept[failure.unit] = last
        if failure.exhausted:
            exhausted.append(failure)
        elif now >= max(_due(last, patience), failure.due_at):
            kept[failure.unit] = replace(last, number=last.number + 1, tries=last.tries + 1, asked_at=now)
            key = f"{status.application}:{deployment}:{failure.unit}:{failure.generation}:{last.number}"
            resets.append(ResetRequest(key, failure))
    resets.sort(key=lambda request: bool(request.failure.gone))
    return Healing(tuple(met), tuple(resets), tuple(exhausted), kept)


def _due(last: Known, patience: float) -> float:
    if last.tries == 0:
        return last.met_at + patience
    return last.asked_at + min(FIRST_RETRY * 2 ** (last.tries - 1), LAST_RETRY)
