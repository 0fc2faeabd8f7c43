"""Prediction of the pause that a redeploy causes in the units that change, from measurements of the application."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow
from streams_orchestration.runtime.catalog.trials import read_trial

_BEFORE_LAUNCH = "command"
_OF_QUERIES = ("queries", "workers", "first batch")
"""Phases of a host's start that a running host repeats for new queries."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of an application, in seconds."""

    pause: float | None = None
    """Pause of its last redeploy; None if it was never redeployed, or the redeploy was reverted or is on trial."""
    batch: float = 0.0
    """Average duration of a micro-batch of the slowest changing PE."""
    starts: tuple[Mapping[str, float], ...] = ()
    """The phases of the last start of each host."""


def predicted_pause(measured: Measured, *, new_host: bool) -> float | None:
    """Return the predicted seconds between the last commit before a redeploy and the first commit after it.

    None without measurements.

    On running hosts, this is the pause of the last redeploy, or otherwise the longest start of queries up to the first
    batch. If a new host is needed, it is at least the longest start of a host. It is at least `batch` in any case.

    Args:
        measured: measurements of the application.
        new_host: True if the new plan needs a host that does not exist yet.
    """
    whole = max((sum(_seconds_without(phases, _BEFORE_LAUNCH)) for phases in measured.starts), default=None)
    queries = max((sum(phases.get(name, 0.0) for name in _OF_QUERIES) for phases in measured.starts), default=None)
    known = [each for each in ((whole,) if new_host else ()) if each is not None]
    if measured.pause is not None:
        known.append(measured.pause)
    elif queries is not None:
        known.append(queries)
    return max(*known, measured.batch) if known else None


def _seconds_without(phases: Mapping[str, float], left_out: str) -> list[float]:
    return [seconds for name, seconds in phases.items() if name != left_out]


def read_prediction(connection: Connection, redeployment: Redeployment) -> float | None:
    """Return the predicted pause in seconds; None if no unit is restarted, or nothing was measured."""
    restarted = {each.unit for each in redeployment.units if each.action == "restart"}
    if not restarted:
        return None
    application, h, p = redeployment.application, tables.host, tables.pe
    hosts = HostRow.all(connection, select(h).where(h.c.application == application))
    pes = PeRow.all(connection, select(p).where(p.c.application == application, p.c.unit.in_(restarted)))
    trial = read_trial(connection, application)
    measured = Measured(
        pause=None if trial is None else trial.pause,
        batch=_slowest(pes),
        starts=tuple(host.start_up for host in hosts if host.start_up),
    )
    return predicted_pause(measured, new_host=not set(redeployment.numbering.hosts.values()) <= {x.id for x in hosts})


def _slowest(pes: Iterable[PeRow]) -> float:
    return max((pe.busy_seconds / (pe.batch + 1) for pe in pes if pe.batch >= 0), default=0.0)
