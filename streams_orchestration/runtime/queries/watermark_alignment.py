"""The drift of sources: a source that is too far ahead of its event-time graph is not read (EV65).

Each commit has the watermarks of the sources in graphs with a `maxDrift`. A planner compares the watermarks of its own
sources with the other watermarks of their graphs. The slowest source of a graph never waits, so a graph never stops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.runtime.catalog import tables

_p = tables.pe
_POSITIONS = select(_p.c.position).where(_p.c.application == bindparam("of"), _p.c.feeds)


def counted_clocks(clocks: Mapping[str, int], passed: Collection[str]) -> dict[str, int]:
    """Return the watermarks of the sources for which others wait, without idle sources and those without more input.

    Args:
        clocks: the watermarks of sources, as in `Position`.
        passed: the sources that are exhausted, or have reached the end of the bounded run.
    """
    return {name: value for name, value in clocks.items() if value not in (IDLE, END) and name not in passed}


def read_clocks(connection: Connection, application: str, run: str | None) -> dict[str, int]:
    """Return the watermarks of an application's sources that others wait for, from the last commits.

    Args:
        connection: the connection of a transaction.
        application: the name of the application.
        run: the id of the bounded run; None for an unbounded run.
    """
    clocks: dict[str, int] = {}
    for position in connection.scalars(_POSITIONS, {"of": application}):
        through = {name for name, reached in position.get("reached", {}).items() if reached == run}
        clocks |= counted_clocks(position.get("clocks", {}), through.union(position["exhausted"]))
    return clocks


def slowest_peer(role: EventTimeRole, clocks: Mapping[str, int]) -> str | None:
    """Return the source with the least watermark among the other sources of the graph; None if no other has one.

    Of several, it is the first one of the role's peers.
    """
    return min((peer for peer in role.peers if peer in clocks), key=clocks.__getitem__, default=None)


def source_behind(source: str, role: EventTimeRole, clocks: Mapping[str, int]) -> str | None:
    """Return the source that a source must wait for, since its own watermark is too far ahead.

    None if it need not wait, also without a `maxDrift`.

    >>> role = EventTimeRole("at", 1, "outputEventTime", 0, 0, max_drift=10, peers=("Left", "Right"))
    >>> source_behind("Own", role, {"Own": 31, "Left": 20, "Right": 25})
    'Left'
    >>> source_behind("Own", role, {"Own": 30, "Left": 20, "Right": 25}) is None
    True

    Args:
        source: the name of the source.
        role: its role.
        clocks: the watermarks of sources that count; without one of its own a source is read.
    """
    slowest = slowest_peer(role, clocks)
    if slowest is None or role.max_drift is None or source not in clocks:
        return None
    return slowest if clocks[source] - clocks[slowest] > role.max_drift else None
