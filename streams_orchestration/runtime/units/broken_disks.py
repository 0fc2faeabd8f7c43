"""Resets for files that a machine cannot use: they are counted for each host and machine, in a region over epochs, too.

After `MOVE_AFTER` of them, the host is started on another machine, if one takes it that has failed less often. Ends
of a host for such files are counted, too: a host that ends on all other machines returns to the one that it has left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind

MOVE_AFTER = 3
"""Resets after which a host leaves a machine whose files it cannot use."""


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
