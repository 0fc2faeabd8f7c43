"""A host that cannot use files of its machine: its failures are counted, and it ends if another machine takes it.

PEs that cannot use files fail, which resets their unit. These resets are counted for each host and machine, in a region
over epochs, too. After `MOVE_AFTER` of them, the host is started on another machine, if one takes it that has failed
less often (`deployment/host_relocation.py`).

If no batch needs the files, as at the end of an application, no PE fails: then the results of complete epochs would
never be visible, or files would be left. So a host ends by itself if it cannot use files for long
(`require_usable_files`). Its ends are counted, too: a host that ends on all other machines returns to the one that it
has left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import UnusableFilesError
from streams_orchestration.runtime.storage.unusable_files import FileFailure
from streams_orchestration.runtime.units.host_requirements import read_requirements, refusal

MOVE_AFTER = 3
"""Resets after which a host leaves a machine whose files it cannot use."""
WAITS = Pauses(first=60.0, longest=300.0)
"""Seconds for which files cannot be used before a host ends.

The seconds double with each earlier reset of the host for unusable files, up to the longest wait: the other machines
may have been repaired since their resets. If such resets were at least as frequent on its machine as on another one
that takes it, the host ends after the first wait.
"""

_h = tables.host
_HOST = select(_h).where(_h.c.application == bindparam("of"), _h.c.id == bindparam("host"))
_MACHINES = select(tables.machine)


def read_failed(connection: Connection, application: str, machines: Iterable[str]) -> Mapping[int, Counter[str]]:
    """Return how many ends and resets unusable files have caused, by host of the application and machine.

    The ends and resets since the last complete epoch of each unit count. In a region, earlier ones count as well, if
    the first of them was less than `LATELY_SECONDS` before that epoch. A machine without any has 0.
    """
    p, u = tables.pe, tables.unit
    names = list(machines)
    rows = select(p.c.host, p.c.unit).where(p.c.application == application).distinct()
    hosts = defaultdict[str, set[int]](set)
    for host, unit in connection.execute(rows):
        hosts[unit].add(host)
    failed = defaultdict[int, Counter[str]](Counter)
    for host in {host for members in hosts.values() for host in members}:
        failed[host] = Counter(dict.fromkeys(names, 0))
    for unit, counts in connection.execute(select(u.c.name, u.c.tries).where(u.c.application == application)):
        for tries in counts:
            kind = tries.kind
            if tries.lately and isinstance(kind, FilesKind) and kind.host in hosts[unit] and kind.machine in names:
                failed[kind.host][kind.machine] += tries.number
    return failed


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
