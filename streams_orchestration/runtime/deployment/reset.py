"""Reset: all PEs of a unit go back to the unit's last complete epoch, and continue in a new generation.

Every step is idempotent: if a process dies during a reset, the next call of any process completes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy import select

from streams_orchestration.model.brief import plural
from streams_orchestration.model.names import nearest
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import fail_host
from streams_orchestration.runtime.catalog.rows import HostRow, UnitRow
from streams_orchestration.runtime.catalog.states import ENDED, heard_at, state_in_effect
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.control import start_missing_hosts
from streams_orchestration.runtime.deployment.host_relocation import decide_and_record_moves
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.processes.processes import is_here, kill
from streams_orchestration.runtime.settings.limits import HEARTBEAT_LIMIT
from streams_orchestration.runtime.sinks.retraction import remove_all_retracted
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.units.controller import advance_unit, mark_taken_up, unit_row
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.failures import UnitFailure, is_late
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.reading import application_row, read_units
from streams_orchestration.runtime.units.region_events import ResetRequested
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY


class NotResetError(StreamsRuntimeError):
    """The unit cannot be reset; nothing was changed, except that failed hosts may be started again."""


@dataclass(frozen=True, slots=True)
class UnitReset:
    """The outcome of a request to reset a unit."""

    generation: int
    """The generation of the unit now."""
    begun: bool
    """True if the failed generation is over; False if the reset begins when all hosts run, or the unit has ended."""


def reset_unit(
    catalog: Catalog,
    application: str,
    unit: str,
    *,
    generation: int | None = None,
    force: bool = False,
) -> UnitReset:
    """Reset a unit to its cut, and make it run again.

    If all its hosts live, the unit is at the cut when this function returns. One transaction raises the generation,
    which fences off commits of the old one, and drops the commits after the cut with their files. Otherwise, missing
    hosts are started first, and the first process that sees them up makes that transaction (B12). Hosts of the
    application that have failed or hang are killed before, and retracted outputs are removed.

    Args:
        catalog: the catalog.
        application: name of the application.
        unit: `region-0`, or `pe-3` for a PE in no region.
        generation: the failed generation; None for the current one. If the unit has a later one already, it is not
            reset again, but missing hosts are started.
        force: reset even if no attempts are left, and add the configured number of attempts to the limit (B3). Also
            reset if a file of the cut seems to be missing.

    Raises:
        NotResetError: the application is stopped, the unit does not exist, no attempts are left, or a file that the cut
            needs is missing. If no attempts are left, failed hosts are started again all the same.
        NotDeployedError: the application is not deployed.
        HostLaunchError, JavaError: a missing host could not be started on this machine.
        OtherVersionError: another version of the product wrote the program of a PE.
        StreamsRuntimeError: hosts would end with this process, and no machine is registered, so nothing was changed; a
            redeploy has removed a unit meanwhile; or a rule of the protocol is broken.
    """
    prepare_reset(catalog, application, unit, generation=generation, force=force)
    row, begun = begin_reset(catalog, application, unit, generation=generation, force=force)
    remove_all_retracted(catalog, application)  # hosts do this as well, in case this process dies
    # also if the unit was reset before: that call may have died before it launched the hosts
    start_missing_hosts(catalog, application)
    if row.state == LIMIT and not force:
        raise _no_attempt_left(catalog, row)
    return UnitReset(row.generation, begun)


def reset_failed_unit(catalog: Catalog, failure: UnitFailure) -> UnitReset:
    """Begin the reset that a failure needs, unless its unit has a later generation.

    For errors see `reset_unit`.
    """
    return reset_unit(catalog, failure.application, failure.unit, generation=failure.generation)


def prepare_reset(catalog: Catalog, application: str, unit: str, *, generation: int | None, force: bool) -> None:
    """Refuse a reset that is not possible, then end the hosts that cannot take part in it.

    Nothing is changed of the unit, but it is recorded which files of its cut are lost or have returned.

    Raises:
        NotResetError: the application is stopped, the unit does not exist, or a file that the cut needs is missing.
        NotDeployedError: the application is not deployed.
        StreamsRuntimeError: hosts would end with this process, and no machine is registered; a redeploy has removed the
            unit meanwhile; or a rule of the protocol is broken.
    """
    require_lasting_hosts(catalog, application)
    _require_unit(catalog, application, unit)
    if not force:
        _check_and_record_cut(catalog, application, unit)
    _end_hosts(catalog, _find_unusable_hosts_and_record_moves(catalog, application, unit, generation))


def _no_attempt_left(catalog: Catalog, row: UnitRow) -> NotResetError:
    places = read_units(catalog, row.application).log_places
    return NotResetError(
        f"{row.application}: {row.name} was reset {plural(row.attempts, 'time')} in a row without completing an epoch. "
        f"Fix the cause, which its logs show ({places}), then use `streams reset {row.application} --unit "
        f"{row.name} --force`."
    )


def _require_unit(catalog: Catalog, application: str, unit: str) -> None:
    """Raise NotResetError if the application is stopped or has no such unit, NotDeployedError if it is not deployed."""
    u = tables.unit
    with catalog.read() as connection:
        row = application_row(connection, catalog.home, application)
        names = connection.scalars(select(u.c.name).where(u.c.application == application)).all()
    if state_in_effect(row.wanted, row.state) == "STOPPED":
        message = f"{application} is stopped; run or deploy it again, and it continues from its last commits"
        raise NotResetError(message)
    if unit not in names:
        message = f"{application}: there is no unit {unit}{nearest(unit, names)}"
        raise NotResetError(message)


def _check_and_record_cut(catalog: Catalog, application: str, unit: str) -> None:
    """Check the files of a unit's cut, and record which are lost or have returned; raise NotResetError for a lost one.

    A truncated file counts as lost. The records are events of the unit.
    """
    lost = check_and_record_cuts(catalog, application, [unit]).get(unit)
    if lost is not None:
        message = f"{application}: {lost}. {LOST_REMEDY}"
        raise NotResetError(message)


def begin_reset(
    catalog: Catalog, application: str, unit: str, *, generation: int | None, force: bool
) -> tuple[UnitRow, bool]:
    """Update a unit, record that its reset is taken up, and begin the reset if every host lives.

    One transaction does so from one reading of the unit's health, so no reset begins without a host that has just died.
    With `force`, the reset begins even if no attempt is left, and further attempts are allowed. Files that the catalog
    then no longer names are removed.

    A unit that has ended is not reset, nor is one whose generation is later than the given one after the update. If
    none is given, it is the generation before the update. A drain or reset whose time is over ends by its timer
    instead, also with `force`.

    Returns:
        The row of the unit now, and True if the failed generation is over.

    Raises:
        StreamsRuntimeError: the unit no longer exists.
    """
    with catalog.write_unit(application, unit) as connection:
        row, now = unit_row(connection, application, unit), clock.now()
        failed = row.generation if generation is None else generation
        (facts,) = read_facts(connection, [row], now)
        garbage = advance_unit(connection, facts, now)  # a failure is recorded before its reset is taken up
        row = unit_row(connection, application, unit)
        if row.state not in ENDED and row.generation <= failed:
            mark_taken_up(connection, row)
            health, facts = facts.health, replace(facts, unit=unit_row(connection, application, unit))
            request = ResetRequested(force=force, healthy=health.up, failure=health.failure)
            event = None if is_late(row, now) else request  # its timer ends it
            garbage += advance_unit(connection, facts, now, event)
            row = unit_row(connection, application, unit)
    remove_files(catalog.store, garbage)
    return row, row.generation > failed


def _find_unusable_hosts_and_record_moves(
    catalog: Catalog, application: str, unit: str, generation: int | None
) -> list[tuple[HostRow, str | None]]:
    """Return the hosts of an application that are to end before a reset; record which of them leave their machines.

    Failed hosts are to end, and hosts without a heartbeat for more than `HEARTBEAT_LIMIT` seconds. Three other kinds of
    hosts are to end for a reason, which is returned with them:

    1. hosts that did not react to the reset of the unit, if it has timed out;
    2. hosts that cannot reach the storage on a machine that is draining, since they would never reach a cut at which
       they could be moved;
    3. hosts that leave a machine whose files they cannot use.

    If a generation is given, kinds 1 and 3 count only while the unit has that generation.
    """
    h, p = tables.host, tables.pe
    now = clock.now()
    with catalog.read() as connection:
        row = unit_row(connection, application, unit)
        hosts = HostRow.all(connection, select(h).where(h.c.application == application))
        mute = select(p.c.host).where(
            p.c.application == application, p.c.unit == unit, ~p.c.final, p.c.running != row.generation
        )
        late = row.timer == "reset" and is_late(row, now)
        stuck = connection.scalars(mute).all() if late else ()
        drained = {machine.name for machine in registered(connection) if machine.state == "DRAINING"}
    cut_off = (host.id for host in hosts if host.machine in drained and host.storage_failed_at is not None)
    reasons = dict.fromkeys(cut_off, "it has no storage")
    if generation in (None, row.generation):
        reasons |= dict.fromkeys(stuck, "it did not answer a reset")
        reasons |= decide_and_record_moves(catalog, application, unit)
    return [
        (host, reasons.get(host.id))
        for host in hosts
        if host.id in reasons
        or host.state == "FAILED"
        or now - heard_at(host.launched_at, host.heartbeat_at) > HEARTBEAT_LIMIT
    ]


def _end_hosts(catalog: Catalog, hosts: Iterable[tuple[HostRow, str | None]]) -> None:
    """Kill hosts on this machine, so that `start_missing_hosts` starts them again.

    Hosts on other machines are marked as failed if there is a reason beside their row.
    """
    for host, reason in hosts:
        if is_here(host.space):
            kill(host.pid, host.process_started)
        elif reason is not None:  # the agent of its machine kills it once it is replaced
            with catalog.write() as connection:
                fail_host(connection, host, reason)
