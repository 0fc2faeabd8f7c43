"""A redeploy as the model takes it: units are held, drained to their cuts, carried over, and switched to another plan.

The functions do what `holding.py`, `state_migration.py` and `switching.py` do. Operators, PEs and units stay as they
are; where a topology has channels, the splitter of the next plan sends every tuple to another one.
"""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration_tests.protocol import watermarks
from streams_orchestration_tests.protocol.queries import anew
from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.trial import begun, passed
from streams_orchestration_tests.protocol.world import Boundary, Items, Pe, World


def members(topology: Topology, units: Iterable[int]) -> list[int]:
    """Return the PEs of some units."""
    return sorted(pe for unit in units for pe in topology.members[unit])


def is_at_cut(topology: Topology, world: World, number: int) -> bool:
    """`holding.at_cut`: every PE of a unit has committed nothing since the last complete epoch."""
    unit = world.units[number]
    return unit.trigger <= unit.completed and all(
        world.pes[pe].batch < 0
        or any(b.epoch == unit.completed and b.pe.batch == world.pes[pe].batch for b in world.boundaries[pe])
        for pe in topology.members[number]
    )


def is_under_way(topology: Topology, world: World) -> bool:
    """`holding.describe_held_work`: something of the held units is not at rest."""
    if not all(is_at_cut(topology, world, unit) for unit in world.held):
        return True
    for pe in members(topology, world.held):
        for producer, read in zip(topology.reads[pe], world.pes[pe].inputs, strict=True):
            unit = topology.unit_of[producer]
            between = unit in world.held and unit != topology.unit_of[pe]
            if between and any(piece.number >= read for piece in world.streams[producer]):
                return True
        if world.files[pe]:
            return True
    return False


def hold(world: World, units: tuple[int, ...]) -> World:
    """`holding.hold_units`."""
    return world._replace(redeploys=world.redeploys - 1, held=units)


def release(world: World) -> World:
    """`holding.release_units`, or the hold ends by itself since its process has died."""
    return world._replace(held=(), carried=(), carried_at=0)


def carry(topology: Topology, world: World) -> World:
    """`Carrier.carry`: the states of the cut are read."""
    return world._replace(carried=_rows(topology, world), carried_at=_generation(world))


def _rows(topology: Topology, world: World) -> tuple[Pe, ...]:
    return tuple(world.pes[pe] for pe in members(topology, world.held))


def _cut(rows: Iterable[Pe]) -> list[Pe]:
    """`state_migration.CommonCut`: a reset that takes nothing back renumbers epochs, and leaves the cut."""
    return [row._replace(epoch=0) for row in rows]


def _generation(world: World) -> int:
    """Return the highest one of all units."""
    return max(unit.generation for unit in world.units)


def is_refused(setting: Setting, world: World) -> bool:
    """`switching.switch` refuses what has gone on meanwhile, `rescaling.prove` refuses keys that would not be found."""
    topology = setting.topology
    held = members(topology, world.held)
    gone_on = (_cut(world.carried), world.carried_at) != (_cut(_rows(topology, world)), _generation(world))
    if setting.looks_again and gone_on:
        return True
    states = divided(setting, world)
    lost = any(
        topology.channel(world.plan + 1, item) != pe for pe in topology.channels if pe in held for item in states[pe]
    )
    return setting.proves and lost


def divided(setting: Setting, world: World) -> dict[int, Items]:
    """`rescaling.divide_states`: what the PEs of the held units remember in the new plan."""
    topology = setting.topology
    states = {pe: row.state for pe, row in zip(members(topology, world.held), world.carried, strict=True)}
    together = [item for pe in topology.channels if pe in states for item in states[pe]]
    if setting.divides:
        for pe in topology.channels:
            if pe in states:
                own = (item for item in together if topology.channel(world.plan + 1, item) == pe)
                states[pe] = tuple(sorted(own))
    return states


def switch(setting: Setting, world: World) -> World:
    """`switching.switch`: every PE of the held units begins with a boundary commit, higher than all before."""
    topology = setting.topology
    held = members(topology, world.held)
    epoch = max(world.last_epoch, *(world.units[unit].completed for unit in world.held))
    batch = max(world.last_batch, *(row.batch for row in world.carried)) + 1
    generation = _generation(world) + 1
    states = divided(setting, world)
    pes, streams, units = list(world.pes), list(world.streams), list(world.units)
    boundaries, flights = list(world.boundaries), list(world.flights)
    finished = {unit for unit in world.held if all(world.pes[pe].final for pe in topology.members[unit])}
    for pe, row in zip(held, world.carried, strict=True):
        exhausted = topology.inflows(pe) <= set(row.done)
        pes[pe] = Pe(
            batch, epoch + 1, exhausted, topology.unit_of[pe] in finished, row.inputs, row.offset, row.done,
            row.written, states[pe], batch if setting.renumbers else row.stored, row.closed, row.flushed,
            *watermarks.switched(setting, row), row.late,
        )  # fmt: skip
        boundaries[pe] = (Boundary(epoch, pes[pe]),) if setting.boundary_commits else ()
        if set(topology.readers[pe]) <= set(held):
            streams[pe] = ()
        flights[pe] = tuple(sorted(flight._replace(current=False) for flight in flights[pe]))
    for unit in world.held:
        units[unit] = begun(topology, world._replace(pes=tuple(pes)), unit, epoch, generation)
    world = world._replace(
        pes=tuple(pes), units=tuple(units), streams=tuple(streams), boundaries=tuple(boundaries),
        flights=tuple(flights), plan=world.plan + 1, last_epoch=epoch, last_batch=batch,
        held=(), carried=(), carried_at=0, tried=world.held, before=world.carried,
    )  # fmt: skip
    world = anew(setting, world, held)
    return world if setting.trials else passed(world)
