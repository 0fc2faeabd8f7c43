"""Transactions of the catalog and changes of files, each as a whole: what comes of a step.

The functions do what `commits.py`, `reset.py`, `publishing.py`, `controller.py` and `garbage.py` do.
"""

from __future__ import annotations

from streams_orchestration_tests.protocol.queries import anew, is_between
from streams_orchestration_tests.protocol.setting import OUTSIDE, Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import (
    Boundary,
    File,
    Pe,
    Piece,
    Resets,
    Unit,
    ViolationError,
    World,
    put,
)


def commit(setting: Setting, world: World, pe: int, number: int) -> World:
    """`commits.commit_batch`: refused, or true as a whole."""
    t = setting.topology
    flight, row = world.flights[pe][number], world.pes[pe]
    unit_number = t.unit_of[pe]
    unit = world.units[unit_number]
    flights = tuple(each for each in world.flights[pe] if each is not flight)
    world = world.with_flights(pe, flights)
    if (flight.generation != unit.generation and setting.fenced) or flight.batch != row.batch + 1:
        return world
    if flight.swept:
        message = f"PE {pe}: a commit names files that were removed as garbage"
        raise ViolationError(message)
    written = flight.written
    if flight.items and t.readers[pe]:
        piece = Piece(written, flight.batch, flight.epoch, flight.items, flight.watermark)
        if any(other.number == written for other in world.streams[pe]):
            return world  # the catalog has a key for that
        world = world._replace(streams=put(world.streams, pe, (*world.streams[pe], piece)))
        written += 1
    elif flight.items:
        file = File(flight.batch, flight.epoch, flight.items)
        world = world._replace(files=put(world.files, pe, (*world.files[pe], file)))
    before = row
    row = Pe(
        flight.batch, flight.epoch + flight.boundary, t.inflows(pe) <= set(flight.done), flight.final,
        flight.inputs, flight.offset, flight.done, written, flight.state, flight.batch, flight.closed, flight.flushed,
        flight.entries, flight.watermark, flight.late,
    )  # fmt: skip
    if t.query(pe) and not (flight.boundary and setting.links_in_commit):
        row = row._replace(state=before.state, stored=before.stored, closed=before.closed)
    world = world._replace(pes=put(world.pes, pe, row))
    if t.feeds[pe] and row.exhausted:
        unit = _announced_end(t, world, unit_number)
        world = world.with_unit(unit_number, unit)
    if flight.boundary:
        boundaries = (*world.boundaries[pe], Boundary(flight.epoch, row))
        world = world._replace(boundaries=put(world.boundaries, pe, boundaries))
        if all(world.pes[member].epoch > flight.epoch for member in t.members[unit_number]):
            following = flight.epoch + 1
            # the sources have ended: the last epoch is closed as soon as the one before is complete
            trigger = following if unit.last == following else unit.trigger
            unit = unit._replace(completed=flight.epoch, current=following, trigger=trigger, resets=Resets())
            world = world.with_unit(unit_number, unit)
    return world


def _announced_end(t: Topology, world: World, number: int) -> Unit:
    unit = world.units[number]
    members = t.members[number]
    waiting = any(t.feeds[pe] and not world.pes[pe].exhausted for pe in members)
    if unit.last is not None or t.programs[members[0]].autonomous or waiting:
        return unit
    if unit.trigger > unit.completed:
        return unit._replace(last=unit.current + 1)
    return unit._replace(last=unit.current, trigger=unit.current)


def counted(setting: Setting, before: Resets, cause: str) -> Resets:
    """`region_record.RegionRecord.count`: one more reset, forced where its cause has none left."""
    if len(setting.causes) == 1:
        return before
    spent = dict(before.spent)
    if cause not in ("", OUTSIDE, before.cause):
        before = before._replace(left=max(Resets().left - spent.get(cause, 0), 0))
    now = before._replace(total=before.total + 1, cause=cause or before.cause)
    if now.cause != OUTSIDE:
        if not now.left:
            now, spent = now._replace(left=Resets().left), {}
        now = now._replace(left=now.left - 1)
    spent[now.cause] = spent.get(now.cause, 0) + 1
    return now._replace(spent=tuple(sorted(spent.items())))


def reset(setting: Setting, world: World, number: int, cause: int = 0) -> World:
    """`reset.reset_unit`; what is in flight goes on to be, without knowing of it."""
    t, unit = setting.topology, world.units[number]
    pes, streams, files = list(world.pes), list(world.streams), list(world.files)
    boundaries, flights = list(world.boundaries), list(world.flights)
    for pe in t.members[number]:
        row = Pe(inputs=(0,) * len(t.reads[pe]), epoch=unit.current + 1)
        cut = next((b for b in boundaries[pe] if b.epoch == unit.completed), None)
        if cut is not None:
            row = cut.pe if cut.pe.final else cut.pe._replace(epoch=unit.current + 1)
        elif unit.completed and setting.boundary_commits:
            message = f"PE {pe}: its commit of the cut is gone"
            raise ViolationError(message)
        # numbers of segments are never used twice
        row = row._replace(written=world.pes[pe].written)
        if not setting.watermarks_go_back:
            row = row._replace(entries=world.pes[pe].entries, watermark=world.pes[pe].watermark)
        pes[pe] = row
        streams[pe] = tuple(piece for piece in streams[pe] if piece.batch <= row.batch)
        files[pe] = tuple(file for file in files[pe] if file.batch <= row.batch)
        boundaries[pe] = tuple(b for b in boundaries[pe] if b.pe.batch <= row.batch)
        flights[pe] = tuple(sorted(flight._replace(current=False) for flight in flights[pe]))
    last = unit.last if unit.last == unit.completed else None
    resets = counted(setting, unit.resets, setting.causes[cause])
    unit = Unit(unit.generation + 1, unit.completed, unit.completed, last, unit.done, unit.current + 1, resets)
    world = world._replace(
        pes=tuple(pes), streams=tuple(streams), files=tuple(files), boundaries=tuple(boundaries),
        flights=tuple(flights),
    )  # fmt: skip
    return anew(setting, world.with_unit(number, unit), t.members[number])


def new_host(setting: Setting, world: World, pe: int) -> World:
    """`control.start_missing_hosts` of a host that was taken for dead; the new one sweeps what no commit names."""
    number = setting.topology.unit_of[pe]
    members = setting.topology.members[number]
    if setting.starts_at_boundary and any(is_between(setting.topology, world, each) for each in members):
        world = reset(setting, world, number)
    unit = world.units[number]
    flights = list(world.flights)
    if setting.fenced_start:
        # every PE of the unit goes on in the new generation
        for member in members:
            flights[member] = tuple(flight._replace(current=False) for flight in flights[member])
        unit = unit._replace(generation=unit.generation + 1)
    flights[pe] = tuple(sorted(flight._replace(current=False, swept=True) for flight in flights[pe]))
    return anew(setting, world._replace(flights=tuple(flights)).with_unit(number, unit), members)


def move(world: World, pe: int, number: int) -> World:
    """`publishing.publish_files` up to the rename."""
    file = world.files[pe][number]
    files = put(world.files[pe], number, file._replace(moved=True))
    visible = (*world.visible[pe], *file.items)
    return world._replace(files=put(world.files, pe, files), visible=put(world.visible, pe, visible))


def mark(world: World, pe: int) -> World:
    """`publishing.publish_files` after the renames."""
    kept = tuple(file for file in world.files[pe] if not file.moved)
    return world._replace(files=put(world.files, pe, kept))


def collected(setting: Setting, world: World) -> World:
    """`garbage.collect_garbage`, as early as it can come: what it takes too much is missed at once.

    What is in flight and will be refused whenever it comes - generations only grow - is forgotten, too, so that
    worlds which differ in nothing else are one.
    """
    t = setting.topology
    if setting.fenced and setting.forgets:
        for pe, flights in enumerate(world.flights):
            generation = world.units[t.unit_of[pe]].generation
            kept = tuple(flight for flight in flights if flight.generation == generation)
            if len(kept) < len(flights):
                world = world.with_flights(pe, kept)
    for pe, pieces in enumerate(world.streams):
        if pieces:
            first = min(_needed(setting, world, reader)[t.reads[reader].index(pe)] for reader in t.readers[pe])
            if pieces[0].number < first:
                kept = tuple(piece for piece in pieces if piece.number >= first)
                world = world._replace(streams=put(world.streams, pe, kept))
        boundaries, epoch = world.boundaries[pe], _kept_epoch(setting, world, pe)
        if boundaries and boundaries[0].epoch < epoch:
            kept = tuple(boundary for boundary in boundaries if boundary.epoch >= epoch)
            world = world._replace(boundaries=put(world.boundaries, pe, kept))
    return world


def _needed(setting: Setting, world: World, reader: int) -> tuple[int, ...]:
    """Return the number of the first segment that a reader can need, of every stream."""
    if not setting.keeps_cut:
        return world.pes[reader].inputs
    epoch = _kept_epoch(setting, world, reader)
    cut = next((b for b in world.boundaries[reader] if b.epoch == epoch), None)
    return cut.pe.inputs if cut is not None else (0,) * len(world.pes[reader].inputs)


def _kept_epoch(setting: Setting, world: World, pe: int) -> int:
    """Return the epoch of the first cut that a PE can still go back to."""
    unit = setting.topology.unit_of[pe]
    return world.shown(unit) if setting.keeps_cut_on_trial else world.units[unit].completed
