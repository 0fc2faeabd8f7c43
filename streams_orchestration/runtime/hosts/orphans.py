"""Orphans: processes left behind by hosts that ended. They are found by the records in the catalog, and killed."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.processes.processes import ProcessIdentity, is_here, kill, living, process_space

GRACE_SECONDS = 3.0
"""Seconds in which the engine's process and the workers of a host that ended usually end by themselves."""

log = logging.getLogger("streams.orphans")

_a, _h, _p = tables.application, tables.host, tables.process
_FORGET = delete(_p).where(_p.c.application == bindparam("of"), _p.c.incarnation == bindparam("mine"))
_RECORD = insert(_p)
_PROCESSES = select(_p).where(_p.c.application == bindparam("of"))
_HOSTS = select(_h).where(_h.c.application == bindparam("of"))
_STATE = select(_a.c.state).where(_a.c.name == bindparam("of"))


@dataclass(frozen=True, slots=True)
class Orphan:
    """The processes that one incarnation of a host left behind, and that were killed."""

    application: str
    host: int
    processes: tuple[ProcessIdentity, ...]
    reason: str

    def __str__(self) -> str:
        pids: dict[str, list[str]] = defaultdict(list)
        for process in self.processes:
            pids[process.command.partition(" ")[0].rpartition("/")[2]].append(str(process.pid))
        what = ", ".join(f"{program} (pid {', '.join(numbers)})" for program, numbers in pids.items())
        return f"{self.application}: stopped leftover processes of host {self.host}, {self.reason}: {what}"


def record_processes(
    connection: Connection, application: str, host: int, incarnation: str, processes: Iterable[ProcessIdentity]
) -> None:
    """Replace the recorded processes of one incarnation of a host."""
    connection.execute(_FORGET, {"of": application, "mine": incarnation})
    mine = {"application": application, "host": host, "incarnation": incarnation, "space": process_space()}
    rows = [
        mine | {"pid": process.pid, "started": process.started, "command": process.command} for process in processes
    ]
    if rows:
        connection.execute(_RECORD, rows)


def stop_orphans(catalog: Catalog, application: str) -> tuple[Orphan, ...]:
    """Kill the processes left behind by hosts of an application that ended or were restarted since; return them.

    The killed processes of each host are logged, and the records of its processes are deleted. Processes of a host that
    has ended first have `GRACE_SECONDS` to end. Without a catalog nothing is done.

    In a stopped application, processes of live hosts are killed, too. Processes of other machines are not touched. A
    process of this machine is killed only if it has the pid, start time and command line that its host recorded.
    """
    if not catalog.exists:
        return ()
    mine = {"of": application}
    with catalog.read() as connection:
        rows = connection.execute(_PROCESSES, mine).all()
        hosts = HostRow.all(connection, _HOSTS, mine)
        stopped = connection.scalar(_STATE, mine) == "STOPPED"
    current = {host.id: host for host in hosts}
    groups: dict[tuple[int, str], list[ProcessIdentity]] = defaultdict(list)
    for row in filter(lambda row: is_here(row.space), rows):
        groups[row.host, row.incarnation].append(ProcessIdentity(row.pid, row.started, row.command))
    orphans: list[Orphan] = []
    for (number, incarnation), processes in groups.items():
        host = current.get(number)
        if host is None or host.incarnation != incarnation:
            reason = "which was restarted since" if host is not None else "which is no longer wanted"
        elif host.pid is None and host.state == "STARTING":
            continue  # the process that started the host has not recorded it yet
        elif not any(each.pid == host.pid for each in living(processes)):
            reason = "which is gone"
        elif stopped:
            reason = "whose application is stopped"
        else:
            continue
        left = living(processes)
        left = living(left, GRACE_SECONDS if left and reason == "which is gone" else 0.0)
        for process in left:
            kill(process.pid, process.started)
        if left:
            orphans.append(Orphan(application, number, left, reason))
            log.info("%s", orphans[-1])
        with catalog.write() as connection:
            connection.execute(_FORGET, {"of": application, "mine": incarnation})
    return tuple(orphans)
