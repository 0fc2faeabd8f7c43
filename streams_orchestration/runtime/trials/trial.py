"""The trial of a redeploy: decides whether the new plan works, and carries out the decision.

The units that it has restarted complete epochs, which nothing outside of them sees (`unit.shown_epoch`). When each has
completed an epoch in which it has read the first outputs of the other units on trial (see `_is_proved`), all epochs
become visible, and the previous plan is deleted. If a unit cannot do so, the previous plan is restored. Nothing of
a trial is kept in memory: any process that observes the units of the application can decide it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.kept_rows import PreviousPlan
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow, TrialRow, UnitRow
from streams_orchestration.runtime.catalog.states import TrialState
from streams_orchestration.runtime.catalog.trial_transitions import (
    note_plan_taken_back,
    pass_trial,
    replace_trial,
    revert_trial,
)
from streams_orchestration.runtime.catalog.trials import is_trial_under_way, read_trial
from streams_orchestration.runtime.catalog.unit_transitions import hide_epochs, show_epochs
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.sinks.retraction import remove_all_retracted
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration.runtime.trials.previous_plan import restore_plan
from streams_orchestration.runtime.units.health import explain_host_failure, failure_of_pe, health_of
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.status import HostStatus


class TrialVerdict(NamedTuple):
    """The verdict on an open trial."""

    state: TrialState
    """The state in which the trial is to be."""
    cause: str = ""
    """The failure for which the trial is to be reverted, in words; empty if it is not."""


def open_trial(
    connection: Connection, application: str, units: Collection[str], within: float, before: PreviousPlan
) -> list[str]:
    """Put a redeploy on trial, in its transaction, in place of an earlier trial.

    A redeploy that begins no unit has nothing to prove, and has passed at once.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        units: the units that begin with the new plan; the epochs that they complete are not shown to others.
        within: the seconds that the trial may take.
        before: the previous plan.

    Returns:
        Files that only the previous plan named, if the trial has passed.
    """
    hide_epochs(connection, application, units)
    replace_trial(connection, application, within, before)
    if units:
        return []
    trial = read_trial(connection, application)
    assert trial is not None
    return close_passed_trial(connection, trial)


def close_trial_if_decided(catalog: Catalog, application: str) -> None:
    """Close the open trial of an application if it can be decided: keep the new plan, or restore the previous one.

    Files that the catalog no longer names, and retracted outputs, are removed. Nothing is done if there is no open
    trial, or the application is not wanted to run.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    with catalog.read() as connection:
        if not is_trial_under_way(connection, application):
            return
        trial = read_trial(connection, application)
        if trial is None or judge_trial(connection, trial).state == "OPEN":
            return
    garbage: list[str] = []
    with catalog.write() as connection:
        trial = read_trial(connection, application)
        if trial is not None and trial.state == "OPEN":
            verdict = judge_trial(connection, trial)
            if verdict.state == "REVERTED":
                garbage = revert(connection, trial, verdict.cause)
            elif verdict.state == "PASSED":
                garbage = close_passed_trial(connection, trial)
    remove_all_retracted(catalog, application, garbage)


def revert_open(catalog: Catalog, application: str, cause: str) -> bool:
    """Revert the open trial; return False if no trial is open.

    Files that the catalog no longer names, and retracted outputs, are removed.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    with catalog.write() as connection:
        trial = read_trial(connection, application)
        if trial is None or trial.state != "OPEN":
            return False
        garbage = revert(connection, trial, cause)
    remove_all_retracted(catalog, application, garbage)
    return True


def revert(connection: Connection, trial: TrialRow, cause: str) -> list[str]:
    """End an open trial by restoring the previous plan; return the files that the catalog no longer names.

    Args:
        connection: a connection in a write transaction.
        trial: the open trial.
        cause: the reason for the revert, in words; it is stored with the trial.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    assert trial.before is not None
    revert_trial(connection, trial.application, cause)
    return restore_plan(connection, trial.application, PreviousPlan.load(trial.before))


def record_revert(connection: Connection, redeployment: Redeployment) -> None:
    """Record in the trial of a manual revert the plan that it reverted; do nothing if no plan was replaced.

    The connection is in a write transaction.
    """
    if redeployment.before != redeployment.after:
        note_plan_taken_back(connection, redeployment.application, redeployment.before)


def close_passed_trial(connection: Connection, trial: TrialRow) -> list[str]:
    """Close a trial that has passed, with its pause, and show its epochs.

    Return the files that only the previous plan named.
    """
    assert trial.before is not None
    application = trial.application
    pause = _pause(connection, application, PreviousPlan.load(trial.before).committed_at)
    pass_trial(connection, application, pause)
    show_epochs(connection, application)
    named = state_files(connection, application)
    return [path for path in trial.files if path not in named]


def _pause(connection: Connection, application: str, before: Mapping[str, float]) -> float | None:
    """Return the longest pause of a unit, in seconds: from its last commit before the redeploy to its first after.

    None if no unit has commits both before and after.
    """
    c, p, u = tables.commit, tables.pe, tables.unit
    firsts = connection.execute(
        select(p.c.unit, func.min(c.c.committed_at).label("at"))
        .join(c, (c.c.application == p.c.application) & (c.c.pe == p.c.id))
        .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .where(p.c.application == application, c.c.epoch > u.c.shown_epoch)
        .group_by(p.c.unit)
    )
    return max((row.at - before[row.unit] for row in firsts if row.unit in before), default=None)


def judge_trial(connection: Connection, trial: TrialRow) -> TrialVerdict:
    """Return the verdict on an open trial; its state is `OPEN` while the trial is undecided."""
    now = clock.now()
    tried = _read_tried(connection, trial.application)
    if cause := _failed(tried, now):
        return TrialVerdict("REVERTED", cause)
    unproved = [unit for unit in tried.units if not _is_proved(connection, tried, unit)]
    if not unproved:
        return TrialVerdict("PASSED")
    if now < trial.until:
        return TrialVerdict("OPEN")
    reason = _reason(tried, unproved[0], now)
    return TrialVerdict("REVERTED", f"{unproved[0].name} has completed no epoch within {trial.within:g} s{reason}")


@dataclass(frozen=True, slots=True)
class _Tried:
    """The units on trial, with their PEs and the hosts of these."""

    units: Sequence[UnitRow]
    pes: Sequence[PeRow]
    hosts: Sequence[HostRow]

    def pes_of(self, unit: UnitRow) -> list[PeRow]:
        """Return the PEs of one of the units."""
        return [pe for pe in self.pes if pe.unit == unit.name]


def _read_tried(connection: Connection, application: str) -> _Tried:
    u, p, h = tables.unit, tables.pe, tables.host
    units = UnitRow.all(connection, select(u).where(u.c.application == application, u.c.shown_epoch.is_not(None)))
    pes = PeRow.all(connection, select(p).where(p.c.application == application, p.c.unit.in_([x.name for x in units])))
    hosts = HostRow.all(connection, select(h).where(h.c.application == application, h.c.id.in_({x.host for x in pes})))
    return _Tried(units, pes, hosts)


def _failed(tried: _Tried, now: float) -> str:
    """Return a failure that ends a trial at once, in words; empty if there is none.

    It is a failure of an operator, a permanent error, a host that does not come up, or a unit without attempts left.
    The question is whether the new plan may be the cause. `find_failures` answers another one: whether a unit needs a
    reset. A host that came up and then died needs one, for instance, and does not end the trial.
    """
    for pe in tried.pes:
        failure = failure_of_pe(pe)
        if failure is not None and (pe.permanent or pe.failures is not None):
            return failure.reason
    for host in tried.hosts:
        came_up = host.state not in ("STARTING", "FAILED")
        if not came_up and (reason := explain_host_failure(HostStatus.of(host, now), now)) is not None:
            return reason
    exhausted = next((unit for unit in tried.units if unit.state == LIMIT), None)
    return "" if exhausted is None else f"{exhausted.name} was reset too often: {exhausted.cause}"


def _reason(tried: _Tried, unit: UnitRow, now: float) -> str:
    """Return the known reason why a unit makes no progress, after a colon; empty if it is not known."""
    pes = [pe for pe in tried.pes_of(unit) if not pe.final]
    numbers = {pe.host for pe in tried.pes_of(unit)}
    mine = [host for host in tried.hosts if host.id in numbers]
    cause = health_of([HostStatus.of(host, now) for host in mine], pes, now).cause
    reasons = [] if cause is None else [cause.reason]
    reasons += [f"host {host.id} is {host.state}" for host in mine if host.state in ("WAITING", "STARTING", "STOPPED")]
    reasons += [unit.cause] if unit.cause else []
    return f": {reasons[0]}" if reasons else ""


def _is_proved(connection: Connection, tried: _Tried, unit: UnitRow) -> bool:
    """Return True if a unit has ended, or has completed an epoch and read the first outputs of other units on trial.

    A PE in no region whose sources, if any, have ended may complete no epoch; instead it has to run.
    """
    members = tried.pes_of(unit)
    if all(pe.final for pe in members):
        return True
    first = members[0]
    waits = not first.position["sources"] or set(first.position["sources"]) <= set(first.position["exhausted"])
    idle = unit.region is None and waits and first.state == "RUNNING" and first.running == unit.generation
    if unit.completed_epoch <= unit.shown and not idle:
        return False
    return all(_has_read(connection, tried, unit, pe) for pe in members)


def _has_read(connection: Connection, tried: _Tried, unit: UnitRow, pe: PeRow) -> bool:
    """Return True if a PE, by its last complete epoch, had read the first epoch with tuples of other units on trial.

    Without a complete epoch its present position counts.
    """
    c, s = tables.commit, tables.segment
    cut = (c.c.application == pe.application, c.c.pe == pe.id, c.c.epoch == unit.completed_epoch, c.c.boundary)
    position = connection.scalar(select(c.c.position).where(*cut)) or pe.position
    completed = {other.name: other.completed_epoch for other in tried.units}
    shown = {other.name: other.shown for other in tried.units}
    for other in tried.pes:
        streams = position["inputs"].keys() & other.position["outputs"].keys() if other.unit != unit.name else ()
        for stream in streams:
            mine = (s.c.application == pe.application, s.c.stream == stream, s.c.pe == other.id, ~s.c.retracted)
            first = select(func.min(s.c.epoch)).where(
                *mine, s.c.epoch > shown[other.unit], s.c.epoch <= completed[other.unit]
            )
            last = connection.scalar(select(func.max(s.c.number)).where(*mine, s.c.epoch == first.scalar_subquery()))
            if last is not None and position["inputs"][stream] <= last:
                return False
    return True
