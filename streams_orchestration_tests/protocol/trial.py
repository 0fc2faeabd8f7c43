"""The trial of a redeploy as the model takes it: it passes, or the previous plan is restored.

What the functions do is what `trials/trial.py` and `trials/previous_plan.py` do.
"""

from __future__ import annotations

from streams_orchestration_tests.protocol.queries import anew
from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Boundary, Unit, World


def seen_epoch(setting: Setting, world: World, unit: int, reader: int | None = None) -> int:
    """Return the last complete epoch of a unit that another unit sees, or everybody when None.

    Units on trial see one another, since they would be reverted together.
    """
    early = reader in world.tried or not setting.shows_after_trial
    return world.units[unit].completed if early else world.shown(unit)


def is_passed(topology: Topology, world: World) -> bool:
    """`trial.judge_trial`: every unit on trial has proved itself."""
    return all(_is_proved(topology, world, unit) for unit in world.tried)


def _is_proved(topology: Topology, world: World, unit: int) -> bool:
    members = topology.members[unit]
    if all(world.pes[pe].final for pe in members):
        return True
    (first,) = members[:1]
    waits = not topology.tuples[first] or topology.source(first) in world.pes[first].done
    idle = topology.programs[first].autonomous and waits
    if world.units[unit].completed <= world.shown(unit) and not idle:
        return False
    return all(_has_read(topology, world, pe) for pe in members)


def _has_read(topology: Topology, world: World, pe: int) -> bool:
    """Return True if a PE has read the first epoch in which each unit on trial gave it tuples."""
    unit = topology.unit_of[pe]
    cut = next((b.pe for b in world.boundaries[pe] if b.epoch == world.units[unit].completed), world.pes[pe])
    for producer, read in zip(topology.reads[pe], cut.inputs, strict=True):
        other = topology.unit_of[producer]
        if other == unit or other not in world.tried:
            continue
        epochs = world.shown(other), world.units[other].completed
        given = [piece for piece in world.streams[producer] if epochs[0] < piece.epoch <= epochs[1]]
        if given and read <= max(piece.number for piece in given if piece.epoch == given[0].epoch):
            return False
    return True


def passed(world: World) -> World:
    """`trial.close_passed_trial`: completed epochs become visible, and nothing restores the previous plan."""
    return world._replace(tried=(), before=())


def revert(setting: Setting, world: World) -> World:
    """`previous_plan.restore_plan`: the previous plan continues at its cut, with higher numbers than the trial used."""
    topology = setting.topology
    tried = [pe for unit in world.tried for pe in topology.members[unit]]
    epoch = max(
        world.last_epoch, *(world.units[unit].current for unit in world.tried), *(world.pes[pe].epoch for pe in tried)
    )
    batch = 1 + max(world.last_batch, *(world.pes[pe].batch for pe in tried))
    generation = 1 + max(unit.generation for unit in world.units)
    if not setting.numbers_grow:
        epoch, batch = world.last_epoch, world.last_batch
        generation = world.units[world.tried[0]].generation
    pes, streams, files = list(world.pes), list(world.streams), list(world.files)
    boundaries, flights, units = list(world.boundaries), list(world.flights), list(world.units)
    for pe, row in zip(sorted(tried), world.before, strict=True):
        # numbers of segments are never used twice
        stored = batch if setting.renumbers else row.stored
        pes[pe] = row._replace(batch=batch, epoch=epoch + 1, written=world.pes[pe].written, stored=stored)
        streams[pe] = tuple(piece for piece in streams[pe] if piece.batch <= world.last_batch)
        files[pe] = tuple(file for file in files[pe] if file.batch <= world.last_batch)
        boundaries[pe] = (Boundary(epoch, pes[pe]),) if setting.boundary_commits else ()
        flights[pe] = tuple(sorted(flight._replace(current=False) for flight in flights[pe]))
    for number in world.tried:
        units[number] = begun(topology, world._replace(pes=tuple(pes)), number, epoch, generation)
    world = world._replace(
        pes=tuple(pes), units=tuple(units), streams=tuple(streams), files=tuple(files), boundaries=tuple(boundaries),
        flights=tuple(flights), plan=world.plan - 1, last_epoch=epoch, last_batch=batch, tried=(), before=(),
    )  # fmt: skip
    return anew(setting, world, tried)


def begun(topology: Topology, world: World, number: int, epoch: int, generation: int) -> Unit:
    """Return the row of a unit whose PEs begin behind a boundary commit."""
    members = topology.members[number]
    finished = all(world.pes[pe].final for pe in members)
    ended = all(world.pes[pe].exhausted for pe in members)
    last = epoch if finished else epoch + 1 if ended else None
    closes = ended and not finished and not topology.programs[members[0]].autonomous
    return Unit(generation, epoch + closes, epoch, last, current=epoch + 1)
