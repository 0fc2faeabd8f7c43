"""The acts that change rows of hosts, a function for each; no other module changes these rows.

Dropping an application deletes its rows of all tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, CursorResult, bindparam, delete, insert, select, update

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.catalog.states import HostState
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.processes.processes import ProcessIdentity, process_space

_UP = ("STARTING", "RUNNING")
"""States of a host whose process may be alive."""

_a, _h = tables.application, tables.host
_life = select(_a.c.life).where(_a.c.name == bindparam("of")).scalar_subquery()
_WAITS_FOR_PROCESS = (_h.c.state == "STARTING") & _h.c.pid.is_(None)
_OWN = update(_h).where(
    *(_h.c.application == bindparam("of"), _h.c.id == bindparam("host"), _h.c.incarnation == bindparam("mine")),
    _life == bindparam("lived"),
)


def insert_host(
    connection: Connection, application: str, host: int, requirements: Mapping[str, Any] | None, entered_at: float = 0.0
) -> None:
    """Insert a host as STOPPED.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        host: the number of the host.
        requirements: see `stored_requirements`.
        entered_at: the time in unix seconds from which the host counts as failed if nobody starts it; 0 for the hosts
            of a first plan, whose start is waited for without a limit.
    """
    values = {"state": "STOPPED", "requirements": requirements, "launched_at": entered_at}
    connection.execute(insert(_h).values(application=application, id=host, **values))


def set_requirements(
    connection: Connection, application: str, host: int, requirements: Mapping[str, Any] | None
) -> None:
    """Set the requirements of a host; see `stored_requirements`."""
    connection.execute(update(_h).where(*_is(application, host)).values(requirements=requirements))


def delete_hosts(connection: Connection, application: str, hosts: Collection[int]) -> None:
    """Delete hosts; their processes then end."""
    connection.execute(delete(_h).where(_h.c.application == application, _h.c.id.in_(hosts)))


def claim_host(
    connection: Connection, host: HostRow, incarnation: str, machine: MachineRow | None, asked_at: float | None = None
) -> None:
    """Mark a host as STARTING with a new incarnation, which fences off its last process; count the launch.

    Args:
        connection: a connection in a write transaction.
        host: the row of the host.
        incarnation: the new incarnation.
        machine: the machine whose agent is to start the host; None if this process starts it on this machine.
        asked_at: the time of the command in unix seconds; None without one.
    """
    where = {"machine": None, "space": process_space()}
    if machine is not None:
        where = {"machine": machine.name, "space": machine.space}
    values = {**_before_start("STARTING", incarnation), **where, "asked_at": asked_at, "launches": _h.c.launches + 1}
    connection.execute(update(_h).where(*_is(host.application, host.id)).values(**values))


def return_claim(connection: Connection, former: HostRow, incarnation: str) -> bool:
    """Set the columns of a claimed host to their values before the claim; return False if it is no longer claimed.

    Args:
        connection: a connection in a write transaction.
        former: the row of the host before the claim.
        incarnation: the incarnation of the claim.
    """
    names = (*_before_start("STARTING", incarnation), "machine", "space", "asked_at", "launches")
    claimed = (*_is(former.application, former.id), _h.c.incarnation == incarnation, _WAITS_FOR_PROCESS)
    returned: CursorResult[tuple[()]] = connection.execute(
        update(_h).where(*claimed).values({name: getattr(former, name) for name in names})
    )
    return returned.rowcount > 0


def enter_process(
    connection: Connection, application: str, host: int, claimed: str | None, process: ProcessIdentity, incarnation: str
) -> bool:
    """Record the process of a claimed host; return False if the host was stopped or claimed by others meanwhile.

    A host that has reported the process itself is claimed still.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        host: the number of the host.
        claimed: the incarnation of the claim.
        process: the process, on this machine.
        incarnation: the incarnation that the process has.
    """
    mine = (*_is(application, host), _h.c.incarnation == claimed)
    values = {"incarnation": incarnation, "pid": process.pid, "process_started": process.started}
    entered: CursorResult[tuple[()]] = connection.execute(
        update(_h).where(*mine, _WAITS_FOR_PROCESS | (_h.c.pid == process.pid)).values(**values, space=process_space())
    )
    return entered.rowcount > 0


def make_host_wait(connection: Connection, host: HostRow, reason: str) -> None:
    """Mark a host as WAITING until a machine takes it.

    Args:
        connection: a connection in a write transaction.
        host: the row of the host.
        reason: the reason why no machine takes it now.
    """
    values = {**_before_start("WAITING", world.new_id()), "error": reason, "machine": None, "space": process_space()}
    connection.execute(update(_h).where(*_is(host.application, host.id)).values(**values))


def fail_host(connection: Connection, host: HostRow, error: str) -> None:
    """Record why a host has failed, unless the host has recorded its end itself, waits, or was replaced."""
    mine = (*_is(host.application, host.id), _h.c.incarnation == host.incarnation, _h.c.state.in_(_UP))
    connection.execute(update(_h).where(*mine).values(state="FAILED", error=error))


def fail_hosts_of_last_boot(connection: Connection, machine: str) -> None:
    """Record that the hosts of this machine have failed whose processes ran before it was restarted."""
    gone = (_h.c.machine == machine, _h.c.space != process_space(), _h.c.state.in_(_UP), _h.c.pid.is_not(None))
    error = f"machine {machine} was restarted"
    connection.execute(update(_h).where(*gone).values(state="FAILED", error=error))


def stop_hosts(connection: Connection, application: str) -> None:
    """Mark all hosts of an application as STOPPED, except for complete ones.

    The error of a failed host stays; a host that waits for a machine no longer does.
    """
    mine = (_h.c.application == application, _h.c.state != "COMPLETED")
    connection.execute(update(_h).where(*mine, _h.c.state == "WAITING").values(error=None))
    connection.execute(update(_h).where(*mine).values(state="STOPPED"))


def forget_launches(connection: Connection, application: str) -> None:
    """Set the number of failed launches in a row of an application's hosts to 0, since the application starts again."""
    connection.execute(update(_h).where(_h.c.application == application).values(launches=0))


def set_times(connection: Connection, host: HostRow, times: Mapping[str, float]) -> None:
    """Set times of a host that lie in the future since the clock was set back; there is at least one."""
    connection.execute(update(_h).where(*_is(host.application, host.id)).values(**times))


@dataclass(frozen=True, slots=True)
class OwnHost:
    """The host that a process is. Its reports write nothing once another incarnation or another life has begun."""

    application: str
    host: int
    incarnation: str
    life: str
    """The life of the application in which the process was started."""


def report_beat(connection: Connection, me: OwnHost) -> None:
    """Write a heartbeat and nothing else; every other report of a host writes one as well."""
    _report(connection, me)


def report_up(connection: Connection, me: OwnHost, pid: int, started: float | None) -> None:
    """Record that a host runs, and the pid and start time of its process on this machine.

    Failed launches before this one no longer count, and a failure that others have recorded meanwhile is over.
    """
    own = {"pid": pid, "process_started": started, "space": process_space()}
    _report(connection, me, state="RUNNING", error=None, launches=0, **own)


def report_start_up(connection: Connection, me: OwnHost, seconds: Mapping[str, float]) -> None:
    """Record the seconds of a host up to its first committed batch, by phase."""
    _report(connection, me, start_up=dict(seconds))


def report_storage(connection: Connection, me: OwnHost, error: str | None, since: float | None) -> None:
    """Record why and since when a host does not reach the storage; None if it reaches it."""
    _report(connection, me, storage_error=error, storage_failed_at=since)


def report_end(connection: Connection, me: OwnHost, state: HostState, error: str | None) -> None:
    """Record the state with which a host ends, and the error if it has failed."""
    _report(connection, me, state=state, error=error)


def report_end_for_files(connection: Connection, me: OwnHost, error: str, reason: str) -> None:
    """Record that a host has failed since it could not use a file, so that it is started on another machine."""
    files = {"storage_error": reason, "storage_failed_at": clock.now()}
    _report(connection, me, state="FAILED", error=error, **files)


def _report(connection: Connection, me: OwnHost, **values: Any) -> None:
    mine = {"of": me.application, "host": me.host, "mine": me.incarnation, "lived": me.life}
    connection.execute(_OWN, {**mine, **values, "heartbeat_at": clock.now()})


def _before_start(state: HostState, incarnation: str) -> dict[str, Any]:
    """Return the columns of a host that is to be started: nothing of its last process is left in them."""
    return {
        "state": state,
        "incarnation": incarnation,
        "error": None,
        "launched_at": clock.now(),
        "pid": None,
        "process_started": None,
        "heartbeat_at": None,
        "start_up": None,
        "storage_error": None,
        "storage_failed_at": None,
    }


def _is(application: str, host: int) -> tuple[ColumnElement[bool], ...]:
    return _h.c.application == application, _h.c.id == host
