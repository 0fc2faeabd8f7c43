"""What can happen next: every step is one transaction of the catalog, one look at it, or one change of files.

`plan_batch` is the product's own. What the other steps do is what `commits.py`, `reset.py`, `publishing.py`,
`controller.py` and `garbage.py` do; `test_model.py` holds them against each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from streams_orchestration.runtime.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.programs.batches import BatchPlan, Position, Segment
from streams_orchestration.runtime.queries.planning import PeView, StreamView, plan_batch
from streams_orchestration_tests.protocol.switching import (
    carry,
    hold,
    is_at_cut,
    is_refused,
    is_under_way,
    release,
    switch,
)
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Boundary, File, Flight, Pe, Piece, Unit, ViolationError, World

HELD = OUTSTANDING_LIMIT // 2
"""A segment that waits counts as so many, so that two of them hold a producer up."""

Step = tuple[str, int, int]
"""What happens; the PE or the unit; a number that tells alternatives from each other."""
Outcome = Callable[[], World]
"""What the world is after a step; raises ViolationError when the step must not be possible."""
FAULTS = ("reset", "new host")


@dataclass(frozen=True)
class Protocol:
    """What can happen to an application, and with which of the protocol's parts switched off."""

    topology: Topology
    epochs: int = 2
    """Epochs that the period ends before nothing else is possible."""
    faults: int = 1
    kinds: tuple[str, ...] = FAULTS
    """Of faults. What has crashed does nothing any more, which needs no step; what follows a crash does."""
    fenced: bool = True
    """A commit of another generation is refused."""
    fenced_start: bool = True
    """A host that is started anew has a generation of its own."""
    aligned: bool = True
    """An epoch ends at a PE when all its streams have come to the boundary."""
    publishes_complete_epochs: bool = True
    """A file becomes visible when its epoch is complete, and not before."""
    keeps_cut: bool = True
    """Garbage is what lies before the cut, not what was read."""
    waits_for_outsiders: bool = False
    """A PE is held up by consumers outside of its region, which cannot read yet what it writes."""
    forgets: bool = True
    """What will be refused is not looked at any more."""
    redeploys: int = 0
    """That may be begun; each changes one unit, or all."""
    boundary_commits: bool = True
    """A switch leaves a commit in every PE that a reset can go back to."""
    looks_again: bool = True
    """A switch is refused when anything was committed since states were carried over."""
    divides: bool = True
    """States go where the new splitter sends the tuples of their keys; else they stay where the old one did."""
    proves: bool = True
    """A switch is refused when a key lies elsewhere than where its tuples will go."""
    _plans: dict[PeView | tuple, BatchPlan | None] = field(default_factory=dict, compare=False, repr=False)

    def start(self) -> World:
        """Nothing has happened yet."""
        t = self.topology
        none = ((),) * len(t.programs)
        pes = tuple(Pe(inputs=(0,) * len(reads)) for reads in t.reads)
        return World(pes, (Unit(),) * len(t.units), none, none, none, none, none, self.faults, self.redeploys)

    def steps(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        """Everything that can happen, and what it makes of the world."""
        progress = False
        for step, outcome in self._progress(world):
            progress = True
            yield step, outcome
        for number, unit in enumerate(world.units):
            # what is held closes its epoch at once, and ends none without need
            wanted = not is_at_cut(self.topology, world, number) if number in world.held else not progress
            if self._triggers(number, unit) and (unit.trigger < self.epochs or wanted):
                triggered = unit._replace(trigger=unit.current)
                yield ("trigger", number, 0), partial(self._with_unit, world, number, triggered)
        for pe, flights in enumerate(world.flights):
            for number, flight in enumerate(flights):
                if not flight.current:
                    yield ("late commit", pe, number), partial(self._commit, world, pe, number)
        yield from self._redeploys(world)
        if world.faults:
            yield from self._faults(world._replace(faults=world.faults - 1))

    def after(self, outcome: Outcome) -> World:
        """The world after a step."""
        return self._collected(outcome())

    def complete(self, world: World) -> bool:
        """All has come to its end."""
        return all(unit.done for unit in world.units)

    def _triggers(self, number: int, unit: Unit) -> bool:
        """The period of a region that is PROCESSING has passed."""
        region = not self.topology.programs[self.topology.members[number][0]].autonomous
        return region and unit.last is None and unit.trigger == unit.completed and not unit.done

    def _progress(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        t = self.topology
        for pe, flights in enumerate(world.flights):
            working = next((number for number, flight in enumerate(flights) if flight.current), None)
            if working is not None:
                yield ("commit", pe, working), partial(self._commit, world, pe, working)
                continue
            for number, flight in enumerate(self.begin(world, pe)):
                yield ("begin", pe, number), partial(self._with_flights, world, pe, (*flights, flight))
        for pe in t.sinks:
            completed = world.units[t.unit_of[pe]].completed
            for number, file in enumerate(world.files[pe]):
                if not file.moved and (file.epoch <= completed or not self.publishes_complete_epochs):
                    yield ("move", pe, number), partial(self._move, world, pe, number)
                    break
            if any(file.moved for file in world.files[pe]):
                yield ("mark", pe, 0), partial(self._mark, world, pe)
        for number, unit in enumerate(world.units):
            members = t.members[number]
            if not unit.done and all(world.pes[pe].final and not world.files[pe] for pe in members):
                yield ("complete", number, 0), partial(self._with_unit, world, number, unit._replace(done=True))

    def _redeploys(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        """A redeploy begins, goes on, or dies."""
        units = range(len(self.topology.units))
        changes = [(unit,) for unit in units] + [tuple(units)] * (len(units) > 1)
        if not world.held:
            for number, change in enumerate(changes if world.redeploys else ()):
                if not any(world.units[unit].done for unit in change):
                    yield ("hold", number, 0), partial(hold, world, change)
        elif is_under_way(self.topology, world) or not world.carried:
            yield ("release", 0, 0), partial(release, world)
            if not is_under_way(self.topology, world):
                yield ("carry", 0, 0), partial(carry, self.topology, world)
        elif is_refused(self, world):
            yield ("refuse", 0, 0), partial(release, world)
        else:
            yield ("release", 0, 0), partial(release, world)
            yield ("switch", 0, 0), partial(switch, self, world)

    def _faults(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        if "reset" in self.kinds:
            for number, unit in enumerate(world.units):
                if not unit.done:
                    yield ("reset", number, 0), partial(self._reset, world, number)
        if "new host" in self.kinds:
            for pe, flights in enumerate(world.flights):
                if any(flight.current for flight in flights):
                    yield ("new host", pe, 0), partial(self._new_host, world, pe)

    # --- a batch

    def begin(self, world: World, pe: int) -> Iterator[Flight]:
        """Plan a batch and run its tasks; a source may make one tuple or all, a reader take one segment or all."""
        t, row = self.topology, world.pes[pe]
        seen: set[Flight] = set()
        for limit in (1, None) if t.reads[pe] else (None,):
            view = self.view(world, pe)
            plan = self._planned(pe, view, limit)
            if plan is None:
                return
            taken = tuple(
                item
                for stream, producer, before in zip(t.programs[pe].inputs, t.reads[pe], row.inputs, strict=True)
                for piece in world.streams[producer]
                if before <= piece.number < plan.position.inputs[stream.stream]
                for item in piece.items
                if t.takes(world.plan, pe, item)
            )
            left = t.tuples[pe] - row.offset if any(given.sources for given in plan.inputs) else 0
            for count in range(1, left + 1) if left else (0,):
                made = tuple(10 * pe + 10 + row.offset + number for number in range(count))
                ended = (_source(t, pe),) if count and count == left else ()
                flight = Flight(
                    plan.generation, plan.batch, plan.epoch, plan.boundary, plan.final,
                    inputs=tuple(plan.position.inputs[stream.stream] for stream in t.programs[pe].inputs),
                    offset=row.offset + count,
                    done=tuple(sorted({*plan.position.exhausted, *ended})),
                    written=plan.position.outputs.get(_stream(t, pe), 0),
                    items=made + taken,
                    state=tuple(sorted((*row.state, *made, *taken))),
                )  # fmt: skip
                if flight not in seen:
                    seen.add(flight)
                    yield flight

    def view(self, world: World, pe: int) -> PeView:
        """`views.read_view`."""
        t, row = self.topology, world.pes[pe]
        unit = world.units[t.unit_of[pe]]
        streams = {}
        for stream, producer, read in zip(t.programs[pe].inputs, t.reads[pe], row.inputs, strict=True):
            writer, completed = world.pes[producer], world.units[t.unit_of[producer]].completed
            shown = [p for p in world.streams[producer] if p.number >= read]
            ended = writer.final
            if stream.foreign:
                shown = [p for p in shown if p.epoch <= completed]
                ended = writer.final and completed >= writer.epoch - 1
            pieces = tuple(
                (p.number, p.epoch if self.aligned or stream.foreign else row.epoch, _segment(stream.stream, p))
                for p in shown
            )
            streams[stream.stream] = StreamView(pieces, writer.epoch if self.aligned else row.epoch + 1, ended)
        behind = [self._behind(world, pe, reader) for reader in t.readers[pe]]
        return PeView(
            "life", True, unit.generation, row.batch, row.epoch, row.final, self.position(pe, row), {},
            unit.trigger, unit.last, streams, draining=self._drained(world, pe),
            outstanding=HELD * max(behind, default=0),
        )  # fmt: skip

    def _drained(self, world: World, pe: int) -> frozenset[str] | None:
        """`views._drained_streams`."""
        t = self.topology
        if t.unit_of[pe] not in world.held:
            return None
        own = zip(t.programs[pe].inputs, t.reads[pe], strict=True)
        return frozenset(stream.stream for stream, producer in own if t.unit_of[producer] in world.held)

    def _behind(self, world: World, pe: int, reader: int) -> int:
        """How many segments of a PE a reader may read and has not."""
        own = self.topology.unit_of[pe]
        inside = own == self.topology.unit_of[reader] or self.waits_for_outsiders
        read = world.pes[reader].inputs[self.topology.reads[reader].index(pe)]
        shown = (p for p in world.streams[pe] if inside or p.epoch <= world.units[own].completed)
        return sum(piece.number >= read for piece in shown)

    def position(self, pe: int, row: Pe) -> Position:
        """Of a PE, in the product's words."""
        t = self.topology
        inputs = {stream.stream: read for stream, read in zip(t.programs[pe].inputs, row.inputs, strict=True)}
        sources = {_source(t, pe): {"iteration": row.offset}} if t.tuples[pe] else {}
        outputs = {_stream(t, pe): row.written} if row.written else {}
        return Position(inputs, sources, row.done, outputs)

    def _planned(self, pe: int, view: PeView, limit: int | None) -> BatchPlan | None:
        streams = tuple(
            (s.producer_epoch, s.ended, tuple((n, epoch, segment.rows) for n, epoch, segment in s.segments))
            for s in view.streams.values()
        )
        position = view.position
        key = (
            *(pe, limit, view.generation, view.batch, view.epoch, view.final, view.trigger_epoch, view.final_epoch),
            *(view.outstanding, streams, tuple(position.inputs.values()), position.exhausted),
            *(tuple(position.outputs.values()), str(position.sources), view.draining),
        )
        if key not in self._plans:
            self._plans[key] = plan_batch(self.topology.programs[pe], view, source_limit=2, stream_limit=limit)
        return self._plans[key]

    # --- transactions

    def _commit(self, world: World, pe: int, number: int) -> World:
        """`commits.commit_batch`: refused, or true as a whole."""
        t = self.topology
        flight, row = world.flights[pe][number], world.pes[pe]
        unit_number = t.unit_of[pe]
        unit = world.units[unit_number]
        flights = tuple(each for each in world.flights[pe] if each is not flight)
        world = self._with_flights(world, pe, flights)
        if (flight.generation != unit.generation and self.fenced) or flight.batch != row.batch + 1:
            return world
        if flight.swept:
            message = f"PE {pe}: a commit names files that were removed as garbage"
            raise ViolationError(message)
        written = flight.written
        if flight.items and t.readers[pe]:
            piece = Piece(written, flight.batch, flight.epoch, flight.items)
            if any(other.number == written for other in world.streams[pe]):
                return world  # the catalog has a key for that
            world = world._replace(streams=_put(world.streams, pe, (*world.streams[pe], piece)))
            written += 1
        elif flight.items:
            file = File(flight.batch, flight.epoch, flight.items)
            world = world._replace(files=_put(world.files, pe, (*world.files[pe], file)))
        row = Pe(
            flight.batch, flight.epoch + flight.boundary, self.inflows(pe) <= set(flight.done), flight.final,
            flight.inputs, flight.offset, flight.done, written, flight.state,
        )  # fmt: skip
        world = world._replace(pes=_put(world.pes, pe, row))
        if t.feeds[pe] and row.exhausted:
            unit = self._announced_end(world, unit_number)
            world = self._with_unit(world, unit_number, unit)
        if flight.boundary:
            boundaries = (*world.boundaries[pe], Boundary(flight.epoch, row))
            world = world._replace(boundaries=_put(world.boundaries, pe, boundaries))
            if all(world.pes[member].epoch > flight.epoch for member in t.members[unit_number]):
                following = flight.epoch + 1
                # the sources have ended: the last epoch is closed as soon as the one before is complete
                trigger = following if unit.last == following else unit.trigger
                unit = unit._replace(completed=flight.epoch, current=following, trigger=trigger)
                world = self._with_unit(world, unit_number, unit)
        return world

    def inflows(self, pe: int) -> set[str]:
        """Whatever may bring a PE tuples from outside of its unit: its source, foreign streams."""
        sources = {_source(self.topology, pe)} if self.topology.tuples[pe] else set()
        return sources | {stream.stream for stream in self.topology.programs[pe].inputs if stream.foreign}

    def _announced_end(self, world: World, number: int) -> Unit:
        t, unit = self.topology, world.units[number]
        members = t.members[number]
        waiting = any(t.feeds[pe] and not world.pes[pe].exhausted for pe in members)
        if unit.last is not None or t.programs[members[0]].autonomous or waiting:
            return unit
        if unit.trigger > unit.completed:
            return unit._replace(last=unit.current + 1)
        return unit._replace(last=unit.current, trigger=unit.current)

    def _reset(self, world: World, number: int) -> World:
        """`reset.reset`; what is in flight goes on to be, without knowing of it."""
        t, unit = self.topology, world.units[number]
        pes, streams, files = list(world.pes), list(world.streams), list(world.files)
        boundaries, flights = list(world.boundaries), list(world.flights)
        for pe in t.members[number]:
            row = Pe(inputs=(0,) * len(t.reads[pe]), epoch=unit.current + 1)
            cut = next((b for b in boundaries[pe] if b.epoch == unit.completed), None)
            if cut is not None:
                row = cut.pe if cut.pe.final else cut.pe._replace(epoch=unit.current + 1)
            elif unit.completed and self.boundary_commits:
                message = f"PE {pe}: its commit of the cut is gone"
                raise ViolationError(message)
            # numbers of segments are never used twice
            row = row._replace(written=world.pes[pe].written)
            pes[pe] = row
            streams[pe] = tuple(piece for piece in streams[pe] if piece.batch <= row.batch)
            files[pe] = tuple(file for file in files[pe] if file.batch <= row.batch)
            boundaries[pe] = tuple(b for b in boundaries[pe] if b.pe.batch <= row.batch)
            flights[pe] = tuple(sorted(flight._replace(current=False) for flight in flights[pe]))
        last = unit.last if unit.last == unit.completed else None
        unit = Unit(unit.generation + 1, unit.completed, unit.completed, last, current=unit.current + 1)
        return self._with_unit(
            world._replace(
                pes=tuple(pes), streams=tuple(streams), files=tuple(files), boundaries=tuple(boundaries),
                flights=tuple(flights),
            ), number, unit,
        )  # fmt: skip

    def _new_host(self, world: World, pe: int) -> World:
        """`control.launch` of a host that was taken for dead; the new one sweeps what no commit names."""
        number = self.topology.unit_of[pe]
        unit = world.units[number]
        flights = list(world.flights)
        if self.fenced_start:
            # every PE of the unit goes on in the new generation
            for member in self.topology.members[number]:
                flights[member] = tuple(flight._replace(current=False) for flight in flights[member])
            unit = unit._replace(generation=unit.generation + 1)
        flights[pe] = tuple(sorted(flight._replace(current=False, swept=True) for flight in flights[pe]))
        return self._with_unit(world._replace(flights=tuple(flights)), number, unit)

    def _move(self, world: World, pe: int, number: int) -> World:
        """`publishing.publish` up to the rename."""
        file = world.files[pe][number]
        files = _put(world.files[pe], number, file._replace(moved=True))
        visible = (*world.visible[pe], *file.items)
        return world._replace(files=_put(world.files, pe, files), visible=_put(world.visible, pe, visible))

    def _mark(self, world: World, pe: int) -> World:
        """`publishing.publish` after the renames."""
        kept = tuple(file for file in world.files[pe] if not file.moved)
        return world._replace(files=_put(world.files, pe, kept))

    def _collected(self, world: World) -> World:
        """`garbage.collect_garbage`, as early as it can come: what it takes too much is missed at once.

        What is in flight and will be refused whenever it comes - generations only grow - is forgotten, too, so that
        worlds which differ in nothing else are one.
        """
        t = self.topology
        if self.fenced and self.forgets:
            for pe, flights in enumerate(world.flights):
                generation = world.units[t.unit_of[pe]].generation
                kept = tuple(flight for flight in flights if flight.generation == generation)
                if len(kept) < len(flights):
                    world = self._with_flights(world, pe, kept)
        for pe, pieces in enumerate(world.streams):
            if pieces:
                first = min(self._needed(world, reader)[t.reads[reader].index(pe)] for reader in t.readers[pe])
                if pieces[0].number < first:
                    kept = tuple(piece for piece in pieces if piece.number >= first)
                    world = world._replace(streams=_put(world.streams, pe, kept))
            boundaries, completed = world.boundaries[pe], world.units[t.unit_of[pe]].completed
            if boundaries and boundaries[0].epoch < completed:
                kept = tuple(boundary for boundary in boundaries if boundary.epoch >= completed)
                world = world._replace(boundaries=_put(world.boundaries, pe, kept))
        return world

    def _needed(self, world: World, reader: int) -> tuple[int, ...]:
        """The number of the first segment that a reader can need, of every stream."""
        if not self.keeps_cut:
            return world.pes[reader].inputs
        completed = world.units[self.topology.unit_of[reader]].completed
        cut = next((b for b in world.boundaries[reader] if b.epoch == completed), None)
        return cut.pe.inputs if cut is not None else (0,) * len(world.pes[reader].inputs)

    def _with_unit(self, world: World, number: int, unit: Unit) -> World:
        return world._replace(units=_put(world.units, number, unit))

    def _with_flights(self, world: World, pe: int, flights: tuple[Flight, ...]) -> World:
        return world._replace(flights=_put(world.flights, pe, flights))


def _put(values: tuple, index: int, value: object) -> tuple:
    return (*values[:index], value, *values[index + 1 :])


@functools.cache
def _segment(stream: str, piece: Piece) -> Segment:
    return Segment(stream, f"{stream}-{piece.number}-{piece.batch}-{piece.items}", len(piece.items), 0, 0)


def _stream(topology: Topology, pe: int) -> str:
    return next(iter(topology.programs[pe].consumers), "")


def _source(topology: Topology, pe: int) -> str:
    program = topology.programs[pe]
    return program.operators[program.sources[0]].name if program.sources else ""
