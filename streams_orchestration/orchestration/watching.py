"""What one look at a running application leads to: resets to request, progress to record; pure, so easy to test."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from streams_orchestration.orchestration.cut_checks import Judgement, judge
from streams_orchestration.runtime.regions.failures import UnitFailure
from streams_orchestration.runtime.regions.healing import Known, ResetRequest, heal
from streams_orchestration.runtime.status import ApplicationStatus, SinkStatus

REPORT_INTERVAL = 60.0
"""Seconds between two records of progress; Dagster keeps events for ever."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What one look leaves for the next; a sensor's cursor. Times are unix seconds."""

    known: dict[str, Known] = field(default_factory=dict)
    """Of every unit, the failure that was last met."""
    state: str = ""
    """State of the application, its exhausted units and the resets of all, when last recorded."""
    epochs: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Rows per sink when last recorded."""
    reported_at: float = 0.0
    away: bool = False
    """The catalog could not be used at the last look."""
    behind: bool = False
    """Some unit had completed no epoch when it was last recorded."""
    checks: dict[str, bool] = field(default_factory=dict)
    """Check -> whether it passed when it was last recorded."""

    @classmethod
    def load(cls, cursor: str | None) -> Memory:
        """From a cursor; one that cannot be read counts as none."""
        try:
            fields = json.loads(cursor or "{}")
            fields["known"] = {unit: _known(known) for unit, known in fields.get("known", {}).items()}
            return cls(**fields)
        except (ValueError, TypeError, AttributeError, KeyError):
            return cls()

    def dump(self) -> str:
        """As a cursor."""
        return json.dumps(asdict(self), separators=(",", ":"))


def _known(fields: dict[str, Any]) -> Known:
    known = Known(**fields)
    return replace(known, gone=tuple((host, launched) for host, launched in known.gone))


@dataclass(frozen=True, slots=True)
class Look:
    """The outcome of one look."""

    resets: tuple[ResetRequest, ...]
    exhausted: tuple[UnitFailure, ...]
    """Failed units that have no attempt left."""
    report: bool
    """The state or an epoch has changed and is to be recorded."""
    sinks: tuple[SinkStatus, ...]
    """Sinks that have published since the last record."""
    advanced: bool
    """Every unit that is not complete has completed an epoch since the last record."""
    checks: tuple[Judgement, ...]
    """Those that pass no more, or again."""
    memory: Memory


def look(status: ApplicationStatus, now: float, memory: Memory) -> Look:
    """Judge an application: which resets to request (see `heal`), and what to record."""
    healing = heal(status, now, memory.known)
    counted = (f"{unit.name}:{unit.resets}" for unit in status.units if unit.resets)
    state = " ".join([status.state, *(failure.unit for failure in healing.exhausted), *counted])
    epochs = {unit.name: unit.completed_epoch for unit in status.units}
    sinks = tuple(sink for sink in status.sinks if sink.rows != memory.rows.get(sink.operator, 0))
    advanced = all(
        unit.state == "COMPLETED" or unit.completed_epoch > memory.epochs.get(unit.name, -1) for unit in status.units
    )
    judged = judge(status, now)
    checks = tuple(check for check in judged if memory.checks.get(check.name) != check.passed)
    passed = {check.name: check.passed for check in judged}
    changed = state != memory.state
    due = now - memory.reported_at >= REPORT_INTERVAL
    back = memory.behind and advanced
    report = changed or back or (due and (epochs != memory.epochs or bool(sinks)))
    if not report:
        kept = replace(memory, known=healing.known, away=False, checks=passed)
        return Look(healing.resets, healing.exhausted, False, (), False, checks, kept)
    rows = {sink.operator: sink.rows for sink in status.sinks}
    kept = Memory(healing.known, state, epochs, rows, now, behind=not advanced, checks=passed)
    return Look(healing.resets, healing.exhausted, True, sinks, advanced, checks, kept)
