"""Ends a host whose machine cannot use files of its sinks for long, so that it is started on another machine.

PEs that cannot use files fail, which resets their unit. If no batch needs these files, as at the end of an application,
no PE fails: then the results of complete epochs would never be visible, or files would be left.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import UnusableFilesError
from streams_orchestration.runtime.storage.broken_disks import FileFailure
from streams_orchestration.runtime.units.broken_disks import read_failed
from streams_orchestration.runtime.units.host_requirements import read_requirements, refusal

WAITS = Pauses(first=60.0, longest=300.0)
"""Seconds for which files cannot be used before a host ends.

The seconds double with each earlier reset of the host for unusable files, up to the longest wait: the other machines
may have been repaired since their resets. If such resets were at least as frequent on its machine as on another one
that takes it, the host ends after the first wait.
"""

_h = tables.host
_HOST = select(_h).where(_h.c.application == bindparam("of"), _h.c.id == bindparam("host"))
_MACHINES = select(tables.machine)


def require_usable_files(
    catalog: Catalog, application: str, number: int, failures: Iterable[FileFailure | None]
) -> None:
    """Check that a host can use the files of its machine, or that no other machine would take it.

    A host that no agent has started passes. A failure has to last for `WAITS.first` seconds, and longer after earlier
    resets of the host for unusable files, unless another machine was at least as reliable.

    Raises:
        UnusableFilesError: files could not be used for long, and another machine takes the host.
    """
    longest = max((failure for failure in failures if failure is not None), default=None)
    if longest is None or longest.seconds < WAITS.first:
        return
    with catalog.read() as connection:
        host = HostRow.one_or_none(connection, _HOST, {"of": application, "host": number})
        if host is None or host.machine is None or not _moves(connection, host, longest.seconds):
            return
    message = f"files could not be used on {host.machine} for {longest.seconds:.0f} s: {longest.reason}"
    raise UnusableFilesError(message)


def _moves(connection: Connection, host: HostRow, seconds: float) -> bool:
    machines = MachineRow.all(connection, _MACHINES)
    failed = read_failed(connection, host.application, [machine.name for machine in machines])
    numbers, required, now = failed[host.id], read_requirements(host.id, host.requirements), clock.now()
    others = [each.name for each in machines if each.name != host.machine and refusal(required, each, now) is None]
    if not others:
        return False
    is_better = min(numbers[name] for name in others) <= numbers[host.machine or ""]
    return is_better or seconds >= WAITS.after(1 + numbers.total())
