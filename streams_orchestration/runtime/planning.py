"""Plans the next micro-batch of a PE: what it reads, and whether the batch ends the epoch.

Aligned barriers: a batch never crosses the boundary of an epoch, and a PE ends an epoch once all streams of its region
have delivered theirs. A PE that starts a region ends it when the trigger says so, so sources need not stop.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams_orchestration.runtime.batches import BatchPlan, Position, StoredState, TaskInput
from streams_orchestration.runtime.pacing import FIRST
from streams_orchestration.runtime.program import InputStream, PeProgram, Task
from streams_orchestration.runtime.segments import Segment

SEGMENTS_LIMIT = 64
"""Segments that a batch may read from one stream."""
OUTSTANDING_LIMIT = 32
"""Segments of one stream that a consumer may be behind before the producer waits for it: the back-pressure."""


@dataclass(frozen=True, slots=True)
class StreamView:
    """What the catalog shows a consumer of one stream."""

    segments: tuple[tuple[int, int, Segment], ...]
    """(number, epoch, segment), in order, from the consumer's position on, only those that it may read now."""
    producer_epoch: int
    """The epoch that the producer works in: all lower ones are closed."""
    ended: bool
    """The producer has made its final commit, so nothing comes after the segments shown."""


@dataclass(frozen=True, slots=True)
class PeView:
    """What the catalog shows a PE of itself and around it."""

    life: str
    wanted: bool
    """The application is wanted to run."""
    generation: int
    batch: int
    """Last committed."""
    epoch: int
    final: bool
    position: Position
    states: dict[str, StoredState]
    trigger_epoch: int
    final_epoch: int | None
    streams: dict[str, StreamView] = field(default_factory=dict)
    period: float | None = None
    """Of the region, in seconds."""
    completed_epoch: int = 0
    imported: tuple[InputStream, ...] = ()
    """Streams of other applications that its Imports are connected with now."""
    outstanding: int = 0
    """Segments that the slowest consumer of any of its streams has still to read."""


def plan_batch(
    program: PeProgram, view: PeView, *, source_limit: int = FIRST, stream_limit: int | None = None
) -> BatchPlan | None:
    """The next batch, None when there is nothing to do yet.

    Args:
        program: the PE.
        view: what the catalog shows.
        source_limit: tuples that a source may produce.
        stream_limit: tuples that may be read from a stream, unless its next segment is larger.
    """
    if view.final:
        return None
    # A PE that waits for its consumers reads nothing, but ends an epoch that needs no more tuples: consumers outside of
    # the region may be waiting for just that.
    held = view.outstanding >= OUTSTANDING_LIMIT
    # As in Streams an operator-driven start stands still until its epoch is complete.
    still = held or (program.driven and view.trigger_epoch > view.completed_epoch)
    streams = (*program.inputs, *view.imported)
    taken = {
        stream.stream: () if held or (still and stream.foreign) else _take(view, stream, stream_limit)
        for stream in streams
    }
    names = {source: program.operators[source].name for source in program.sources}
    producing = {s: name for s, name in names.items() if name not in view.position.exhausted}
    closing_foreign = _ended_streams(program, view, taken)
    exhausted = tuple(sorted({*view.position.exhausted, *closing_foreign}))
    work = bool(producing and not still) or any(taken.values()) or exhausted != view.position.exhausted
    ended = not producing and not program.imports and all(stream.stream in exhausted for stream in program.inputs)
    if program.autonomous:
        boundary, final = True, ended
        work = work or final
    else:
        boundary = _may_close(program, view, taken)
        final = boundary and view.final_epoch == view.epoch
    if not work and (program.autonomous or not boundary):
        return None
    inputs = tuple(
        TaskInput(
            partition=task.partition,
            sources={
                producing[s]: view.position.sources.get(producing[s], {})
                for s in task.sources
                if s in producing and not still
            },
            segments=tuple(
                (stream.operator, stream.port, segment)
                for stream in (*task.inputs, *_imported(view, task))
                for segment in taken[stream.stream]
            ),
            filters={stream.stream: stream.filter for stream in _imported(view, task) if stream.filter is not None},
        )
        for task in program.levels[0]
    )
    position = Position(
        inputs={stream.stream: _next(view, stream, len(taken[stream.stream])) for stream in streams},
        sources=dict(view.position.sources),
        exhausted=exhausted,
        outputs=dict(view.position.outputs),
    )
    return BatchPlan(
        view.life, view.generation, view.batch + 1, view.epoch, boundary, final, source_limit, position, inputs,
        view.states,
    )  # fmt: skip


def _take(view: PeView, stream: InputStream, limit: int | None) -> tuple[Segment, ...]:
    """The segments to read: of the region's own streams those of the open epoch only."""
    shown = view.streams[stream.stream]
    readable = [segment for _, epoch, segment in shown.segments if stream.foreign or epoch == view.epoch]
    if limit is not None:
        read = itertools.accumulate(segment.rows for segment in readable)
        readable = readable[: max(sum(rows <= limit for rows in read), 1)]
    return tuple(readable[:SEGMENTS_LIMIT])


def _imported(view: PeView, task: Task) -> Iterator[InputStream]:
    return (stream for stream in view.imported if (stream.operator, stream.port) in task.imports)


def _next(view: PeView, stream: InputStream, taken: int) -> int:
    """The number of the segment to read after these; segments that were dropped are passed over."""
    if taken:
        return view.streams[stream.stream].segments[taken - 1][0] + 1
    return view.position.inputs.get(stream.stream, stream.first)


def _ended_streams(program: PeProgram, view: PeView, taken: dict[str, tuple[Segment, ...]]) -> list[str]:
    """Foreign streams that have ended and are read to their end by this batch."""
    return [
        stream.stream
        for stream in program.inputs
        if stream.foreign and _drained(view, stream, taken) and view.streams[stream.stream].ended
    ]


def _drained(view: PeView, stream: InputStream, taken: dict[str, tuple[Segment, ...]]) -> bool:
    shown = view.streams[stream.stream]
    readable = sum(stream.foreign or epoch == view.epoch for _, epoch, _ in shown.segments)
    return len(taken[stream.stream]) == readable


def _may_close(program: PeProgram, view: PeView, taken: dict[str, tuple[Segment, ...]]) -> bool:
    """May this batch end the epoch: the trigger has fired, and every stream of the region has come to its boundary."""
    if program.starts and view.trigger_epoch < view.epoch:
        return False
    own = [stream for stream in program.inputs if not stream.foreign]
    if not program.starts and not own:
        return view.trigger_epoch >= view.epoch
    return all(view.streams[s.stream].producer_epoch > view.epoch and _drained(view, s, taken) for s in own)
