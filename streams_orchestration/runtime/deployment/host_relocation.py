"""Leaving a machine: a host whose PEs cannot use files there is started on another machine, if one takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, desc, select

from streams_orchestration.model.brief import plural
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.catalog.states import EventKind
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.machines.placing import arrange, residents
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.units.controller import unit_row
from streams_orchestration.runtime.units.health import explain_pe_failure
from streams_orchestration.runtime.units.host_requirements import read_requirements, refusal
from streams_orchestration.runtime.units.unit_store import log_event, record_of
from streams_orchestration.runtime.units.unusable_files import MOVE_AFTER, read_failed

_DECISIONS: tuple[EventKind, ...] = ("host leaves", "host stays")


@dataclass(frozen=True, slots=True)
class MoveDecision:
    """The decision whether a host leaves its machine."""

    kind: EventKind
    reason: str
    """The decision in sentences without a last full stop, with the remedy if the host stays."""


def decide_and_record_moves(catalog: Catalog, application: str, unit: str) -> dict[int, str]:
    """Decide which hosts of a failed unit leave their machines, and record each new decision as an event of the unit.

    A host leaves its machine after `MOVE_AFTER` resets for files that it cannot use there, if another machine takes it
    where there were at least `MOVE_AFTER` fewer of them.

    Returns:
        The hosts to start on another machine, each with the reason.

    Raises:
        StreamsRuntimeError: a redeploy has removed the unit meanwhile.
    """
    with catalog.read() as connection:
        if not _decide(connection, application, unit):
            return {}
    with catalog.write_unit(application, unit) as connection:
        decisions = _decide(connection, application, unit)
        for decision in decisions.values():
            _record(connection, application, unit, decision)
    return {host: decision.reason for host, decision in decisions.items() if decision.kind == "host leaves"}


def _decide(connection: Connection, application: str, unit: str) -> dict[int, MoveDecision]:
    """Return a decision for each host of a unit that could not use files of its machine in `MOVE_AFTER` resets.

    There are none without registered machines.
    """
    h, p = tables.host, tables.pe
    failed_pes = (p.c.application == application, p.c.unit == unit, p.c.state == "FAILED", ~p.c.final)
    pes = connection.execute(select(p.c.id, p.c.host, p.c.kind, p.c.error).where(*failed_pes).order_by(p.c.id)).all()
    machines = registered(connection)
    if not pes or not machines:
        return {}
    failed = read_failed(connection, application, [machine.name for machine in machines])
    rows = HostRow.all(connection, select(h).where(h.c.machine.is_not(None) | (h.c.application == application)))
    hosts = {row.id: row for row in rows if row.application == application and row.state != "FAILED"}
    decisions: dict[int, MoveDecision] = {}
    for pe in pes:
        host = hosts.get(pe.host)
        if host is None or host.machine is None or pe.kind != FilesKind(host.id, host.machine):
            continue
        if failed[host.id][host.machine] >= MOVE_AFTER:
            cause = explain_pe_failure(pe.id, pe.error).rstrip(".")
            decisions[host.id] = _decision(host, rows, machines, failed, cause)
    return decisions


def _decision(
    host: HostRow,
    rows: Sequence[HostRow],
    machines: Sequence[MachineRow],
    failed: Mapping[int, Mapping[str, int]],
    cause: str,
) -> MoveDecision:
    now, numbers = clock.now(), failed[host.id]
    assert host.machine is not None
    found = arrange(residents(rows, host.application, [host.id], now, failed), machines, now).machines.get(host.id)
    here = numbers.get(host.machine, 0)
    if found is not None and found.name != host.machine and numbers.get(found.name, 0) + MOVE_AFTER <= here:
        resets = plural(here, "reset")
        reason = f"host {host.id} leaves {host.machine}, where files could not be used in {resets}: {cause}"
        return MoveDecision("host leaves", reason)
    why = _explain_no_move(host, machines, numbers, now)
    remedy = f"Repair the disk or the mount on {host.machine}, or let another machine take the host"
    return MoveDecision(
        "host stays", f"Host {host.id} stays on {host.machine}, whose files it cannot use: {why}. {remedy}"
    )


def _explain_no_move(host: HostRow, machines: Sequence[MachineRow], failed: Mapping[str, int], now: float) -> str:
    """Return why no other machine is better for a host."""
    others = [machine for machine in machines if machine.name != host.machine]
    if not others:
        return "there is no other machine"
    required = read_requirements(host.id, host.requirements)
    reasons = {machine.name: refusal(required, machine, now) for machine in others}
    refused = [f"{name} {reason}" for name, reason in reasons.items() if reason is not None]
    refused += [f"{name} has failed, too" for name, reason in reasons.items() if reason is None and failed.get(name)]
    if len(refused) < len(others):
        refused.append("hosts that are to be apart would share a machine")
    return f"no other machine takes it, since {', '.join(refused)}"


def _record(connection: Connection, application: str, unit: str, decision: MoveDecision) -> None:
    """Log a decision, unless it is the last one since the last complete epoch.

    Raises StreamsRuntimeError if the unit no longer exists.
    """
    e, row = tables.unit_event, unit_row(connection, application, unit)
    mine = (e.c.application == application, e.c.unit == unit, e.c.kind.in_(_DECISIONS))
    last = connection.execute(select(e.c.kind, e.c.epoch, e.c.cause).where(*mine).order_by(desc(e.c.number))).first()
    if last is None or tuple(last) != (decision.kind, row.completed_epoch, decision.reason):
        log_event(
            connection,
            row,
            record_of(row),
            decision.kind,
            clock.now(),
            generation=row.generation,
            cause=decision.reason,
        )
