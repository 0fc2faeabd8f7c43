"""PEs that are queries of Spark's, as the model takes them: their state is a checkpoint that commits name.

What the functions do is what `engine/spark/frames/` does. Spark writes the checkpoint of a batch before the catalog
commits it, so it may be ahead by one batch. A query that starts anew begins with the checkpoint that a commit names.
"""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Flight, Pe, Query, ViolationError, World, put


def queried(flight: Flight, query: Query, *, flushed: bool) -> Flight:
    """Return the flight after a batch of a query: its tuples come out when its windows are closed."""
    late = query.closed
    state = query.state if late else tuple(sorted((*query.state, *flight.items)))
    return flight._replace(
        items=query.state if flight.final and query.closed else (),
        state=state,
        closed=flushed,
        flushed=flushed,
    )


def run(topology: Topology, world: World, pe: int, flight: Flight) -> World:
    """Run the tasks of a batch, which moves a query's checkpoint to it."""
    world = world.with_flights(pe, (*world.flights[pe], flight))
    if not topology.query(pe):
        return world
    query = Query(flight.batch, flight.state, flight.closed)
    return world._replace(queries=put(world.queries, pe, query))


def anew(setting: Setting, world: World, pes: Iterable[int]) -> World:
    """`FrameQuery._restore`: queries begin with the newest checkpoint that a commit names, or with an empty one."""
    for pe in pes:
        if setting.topology.query(pe) and setting.cuts_back:
            row = world.pes[pe]
            query = Query(row.batch if row.stored < 0 else row.stored, row.state, row.closed)
            world = world._replace(queries=put(world.queries, pe, query))
    return world


def is_between(topology: Topology, world: World, pe: int) -> bool:
    """Return True if the last commit of a query ended no epoch, so that it names no checkpoint."""
    row = world.pes[pe]
    return bool(topology.query(pe)) and row.batch >= 0 and row.stored != row.batch


def is_unlinked(world: World, pe: int) -> bool:
    """Return True if the last commit of a query ended an epoch whose checkpoint is not named yet."""
    row = world.pes[pe]
    return row.stored != row.batch and any(boundary.pe.batch == row.batch for boundary in world.boundaries[pe])


def link(world: World, pe: int) -> World:
    """Name the checkpoint in a transaction of its own; in the product, the commits name it."""
    row, query = world.pes[pe], world.queries[pe]
    linked = row._replace(state=query.state, stored=row.batch, closed=query.closed)
    boundaries = tuple(
        boundary._replace(pe=linked) if boundary.pe.batch == row.batch else boundary
        for boundary in world.boundaries[pe]
    )
    return world._replace(pes=put(world.pes, pe, linked), boundaries=put(world.boundaries, pe, boundaries))


def refuse_apart(world: World, pe: int, cut: Pe) -> None:
    """Raises ViolationError: a query does not stand where it should, or its cut has no checkpoint."""
    row, query = world.pes[pe], world.queries[pe]
    working = any(flight.current for flight in world.flights[pe])
    if query.batch != row.batch + working:
        message = f"PE {pe}: Spark stands at batch {query.batch}, the catalog at {row.batch}"
        raise ViolationError(message)
    if cut.stored != cut.batch:
        message = f"PE {pe}: the checkpoint of its cut is that of batch {cut.stored}, its cut batch {cut.batch}"
        raise ViolationError(message)
