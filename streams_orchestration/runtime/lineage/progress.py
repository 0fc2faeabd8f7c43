"""Decides which event of OpenLineage is due, from the state of an application in the catalog. Its functions are pure.

An application that runs from its start to its end has one run: START, RUNNING now and then, and COMPLETE, ABORT or
FAIL. A run that has ended is never continued: an application that runs again gets a new run, also after a forced reset.

>>> started = RunMoment("RUNNING", 10.0, None, (), {"region-0": 0}, at=11.0)
>>> run = LineageRunRow("flights", "1", 10.0, "START", {})
>>> next_step(None, started, None), next_step(run, started, None)
('BEGIN', None)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from streams_orchestration.runtime.catalog.rows import LineageRunRow

EventName = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL"]
NextStep = EventName | Literal["BEGIN"]
"""The next step: an event to send, or BEGIN to enter a new run into the catalog first."""
ENDS = ("COMPLETE", "ABORT", "FAIL")
RUNNING_SECONDS = 60.0
"""Least seconds between two RUNNING events if the later one reports only new cuts."""


@dataclass(frozen=True, slots=True)
class RunMoment:
    """The facts about an application at one moment, from which the next event follows. Times are unix seconds."""

    state: Literal["RUNNING", "ENDING", "COMPLETE", "ABORT"]
    """The state; ENDING says that the application is no longer wanted, but its hosts have not ended yet."""
    started_at: float
    failure: str | None
    """The reason in words why a unit is no longer reset; None while all units run or are being reset."""
    condition: tuple[object, ...]
    """Facts whose change makes a RUNNING event due at once."""
    epochs: Mapping[str, int]
    """Unit -> its last complete epoch."""
    at: float


def next_step(run: LineageRunRow | None, moment: RunMoment, told: RunMoment | None) -> NextStep | None:
    """Return the next step, or None if nothing is due.

    If the application was started again before the end of its latest run was sent, that run is ended by ABORT first.
    `run` is the latest run, and `moment` is the application now. `told` is the application when this process sent the
    last event of the run; None if this process sent none.
    """
    over = run is None or run.event in ENDS
    if run is not None and run.started_at != moment.started_at and not over:
        return "ABORT"  # the end of the former run could not be sent
    if over or run is None:
        fresh = run is None or run.started_at != moment.started_at
        runs = moment.state == "RUNNING" and moment.failure is None
        return "BEGIN" if runs or (fresh and moment.state != "ENDING") else None
    if run.event == "":
        return "START"
    if moment.state in ("COMPLETE", "ABORT"):
        return moment.state
    if moment.failure is not None:
        return "FAIL"
    if moment.state == "ENDING":
        return None
    return "RUNNING" if _has_changed(run, moment, told) else None


def _has_changed(run: LineageRunRow, moment: RunMoment, told: RunMoment | None) -> bool:
    if told is None:
        return run.event == "RUNNING" or any(moment.epochs.values())
    if moment.condition != told.condition:
        return True
    waited = run.event == "START" or moment.at - told.at >= RUNNING_SECONDS
    return waited and moment.epochs != told.epochs
