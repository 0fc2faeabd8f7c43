"""The planning of a batch by a PE, and its tasks, from the view of the catalog. `plan_batch` is the product's own."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from streams_orchestration.runtime.engine.spark.frames.planner import flush_before_end
from streams_orchestration.runtime.programs.batches import Position, Segment
from streams_orchestration.runtime.queries.pe_view import PeView, StreamView
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration_tests.protocol import watermarks
from streams_orchestration_tests.protocol.queries import queried
from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.trial import seen_epoch
from streams_orchestration_tests.protocol.world import Flight, Pe, Piece, World

HELD = OUTSTANDING_LIMIT // 2
"""A segment that waits counts as so many, so that two of them hold a producer up."""


def begin(setting: Setting, world: World, pe: int) -> tuple[Flight, ...]:
    """Plan a batch and run its tasks; a source may make one tuple or all, a reader take one segment or all.

    Most worlds differ in what has no part in it, so it is found out once for all that it depends on.
    """
    t = setting.topology
    key = (
        *(pe, world.pes[pe], world.queries[pe], world.streams[pe], world.units),
        *(world.held, world.tried, world.last_epoch, world.plan),
        *((world.pes[producer].epoch, world.pes[producer].final, world.streams[producer]) for producer in t.reads[pe]),
        *(world.pes[reader].inputs for reader in t.readers[pe]),
    )
    if key not in setting.flights:
        setting.flights[key] = tuple(dict.fromkeys(_flights(setting, world, pe)))
    return setting.flights[key]


def _flights(setting: Setting, world: World, pe: int) -> Iterator[Flight]:
    t, row = setting.topology, world.pes[pe]
    for limit in (1, None) if t.reads[pe] else (None,):
        plan = plan_batch(t.programs[pe], view(setting, world, pe), source_limit=2, stream_limit=limit)
        if plan is None or (t.query(pe) and setting.compares and world.queries[pe].batch != row.batch):
            return
        if t.query(pe) and setting.flushes:
            plan = flush_before_end(plan, t.query(pe), autonomous=t.programs[pe].autonomous)
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
            ended = (t.source(pe),) if count and count == left else ()
            flight = Flight(
                plan.generation, plan.batch, plan.epoch, plan.boundary, plan.final,
                inputs=tuple(plan.position.inputs[stream.stream] for stream in t.programs[pe].inputs),
                offset=row.offset + count,
                done=tuple(sorted({*plan.position.exhausted, *ended})),
                written=plan.position.outputs.get(t.stream(pe), 0),
                items=made + taken,
                state=tuple(sorted((*row.state, *made, *taken))),
            )  # fmt: skip
            flight = watermarks.met(setting, world, pe, flight)
            if t.query(pe):
                flight = queried(flight, world.queries[pe], flushed=t.query(pe) in plan.position.sources)
            yield flight


def view(setting: Setting, world: World, pe: int) -> PeView:
    """`views.read_view`."""
    t, row = setting.topology, world.pes[pe]
    unit = world.units[t.unit_of[pe]]
    streams = {}
    for stream, producer, read in zip(t.programs[pe].inputs, t.reads[pe], row.inputs, strict=True):
        writer = world.pes[producer]
        completed = seen_epoch(setting, world, t.unit_of[producer], t.unit_of[pe])
        shown = [p for p in world.streams[producer] if p.number >= read]
        ended = writer.final
        if stream.foreign:
            shown = [p for p in shown if p.epoch <= completed]
            ended = writer.final and completed >= writer.epoch - 1
        pieces = tuple(
            (p.number, p.epoch if setting.aligned or stream.foreign else row.epoch, _segment(stream.stream, p))
            for p in shown
        )
        streams[stream.stream] = StreamView(pieces, writer.epoch if setting.aligned else row.epoch + 1, ended)
    behind = [_behind(setting, world, pe, reader) for reader in t.readers[pe]]
    return PeView(
        "life", True, unit.generation, row.batch, row.epoch, row.final, position(t, pe, row), {},
        unit.trigger, unit.last, streams, draining=_drained(t, world, pe),
        outstanding=HELD * max(behind, default=0),
    )  # fmt: skip


def _drained(t: Topology, world: World, pe: int) -> frozenset[str] | None:
    """`views._drained_streams`."""
    if t.unit_of[pe] not in world.held:
        return None
    own = zip(t.programs[pe].inputs, t.reads[pe], strict=True)
    return frozenset(stream.stream for stream, producer in own if t.unit_of[producer] in world.held)


def _behind(setting: Setting, world: World, pe: int, reader: int) -> int:
    """Return the number of segments of a PE that a reader may read and has not."""
    own, other = setting.topology.unit_of[pe], setting.topology.unit_of[reader]
    inside = own == other or setting.waits_for_outsiders
    seen = seen_epoch(setting, world, own, other)
    read = world.pes[reader].inputs[setting.topology.reads[reader].index(pe)]
    shown = (p for p in world.streams[pe] if inside or p.epoch <= seen)
    return sum(piece.number >= read for piece in shown)


def position(t: Topology, pe: int, row: Pe) -> Position:
    """Return the position of a PE, in the product's words."""
    inputs = {stream.stream: read for stream, read in zip(t.programs[pe].inputs, row.inputs, strict=True)}
    sources = {t.source(pe): {"iteration": row.offset}} if t.tuples[pe] else {}
    sources |= {t.query(pe): {"flushed": True}} if row.flushed else {}
    outputs = {t.stream(pe): row.written} if row.written else {}
    return Position(inputs, sources, row.done, outputs)


@functools.cache
def _segment(stream: str, piece: Piece) -> Segment:
    return Segment(stream, f"{stream}-{piece.number}-{piece.batch}-{piece.items}", len(piece.items), 0, 0)
