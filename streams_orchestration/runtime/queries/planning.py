"""Plans the next batch of a PE: what it reads, and whether it ends the epoch.

The barriers are aligned: a batch never crosses the boundary of an epoch, and a PE ends an epoch once all streams of its
region have delivered their tuples of that epoch. A PE that starts a region ends the epoch when the trigger says so, so
sources need not stop.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from streams_orchestration.compiler.pe_program import InputStream, PeProgram, Task
from streams_orchestration.operators.event_time.operator_watermark import OWN
from streams_orchestration.runtime.programs.batches import BatchPlan, Position, Segment, TaskInput
from streams_orchestration.runtime.queries.pacing import FIRST
from streams_orchestration.runtime.queries.pe_view import PeView
from streams_orchestration.runtime.queries.watermark_alignment import counted_clocks, slowest_peer, source_behind
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT, SEGMENTS_LIMIT


def plan_batch(
    program: PeProgram,
    view: PeView,
    *,
    source_limit: int = FIRST,
    stream_limit: int | None = None,
    sources_due: bool = True,
    now: float | None = None,
) -> BatchPlan | None:
    """Return the next batch, or None if there is nothing to do yet, or the last batch of the PE was committed.

    A PE that is drained, or waits for its consumers or sinks, takes no new input, but may still end its epoch.

    Args:
        program: the program of the PE.
        view: what the catalog shows.
        source_limit: the most tuples that a source may produce.
        stream_limit: the most tuples that may be read from a stream, unless its next segment is larger; None for any
            number. In either case at most `SEGMENTS_LIMIT` segments are read, unless one batch of a producer has more.
        sources_due: True if a source may have tuples now; no batch is made for sources without tuples.
        now: the time in unix seconds; an operator that wants to be called by then gets a batch, even an empty one. None
            to make no such batch.
    """
    if view.final:
        return None
    # A PE that waits for its consumers reads nothing, but ends an epoch that needs no more tuples: consumers outside of
    # the region may be waiting for just that.
    held = view.outstanding >= OUTSTANDING_LIMIT
    # As in Streams, a PE whose operator has triggered its region takes no new input until that epoch is complete.
    waits = program.driven and view.trigger_epoch > view.completed_epoch
    paused = held or waits or view.draining is not None
    taken = _taken(program, view, stream_limit, held=held, waits=waits)
    sources = _sources(program, view)
    exhausted = tuple(sorted({*view.position.exhausted, *_ended_streams(program, view, taken)}))
    connected = _connected(program, view)
    work = any(taken.values()) or exhausted != view.position.exhausted
    if not paused:
        untold = program.may_rest and view.readership != view.position.readership
        due = is_due(view, now) or connected != view.position.connected or untold
        work = work or due or (sources_due and bool(sources.producing))
    if program.autonomous:
        boundary = True
        final = _has_ended(program, exhausted) and (
            not program.returning or _is_at_rest(program, view, taken, exhausted)
        )
        needed = work or final
    else:
        boundary = _may_close(program, view, taken)
        final = boundary and view.final_epoch == view.epoch
        needed = work or boundary
    if not needed:
        return None
    return BatchPlan(
        life=view.life,
        generation=view.generation,
        batch=view.batch + 1,
        epoch=view.epoch,
        boundary=boundary,
        final=final,
        limit=source_limit,
        position=_position_after(program, view, taken, exhausted, connected),
        inputs=tuple(_task_input(task, view, taken, sources, paused=paused) for task in program.levels[0]),
        states=view.states,
        bounded=view.bounded,
        resets=view.resets,
        readership=view.readership,
    )


def _taken(
    program: PeProgram, view: PeView, limit: int | None, *, held: bool, waits: bool
) -> dict[str, tuple[Segment, ...]]:
    """Return the segments that a batch reads from each stream.

    Args:
        program: the program of the PE.
        view: what the catalog shows.
        limit: the most tuples that may be read from a stream, unless its next segment is larger.
        held: True if the PE waits for its consumers, and reads nothing.
        waits: True if the PE reads no foreign streams until the epoch that it has triggered is complete.
    """
    whole = _whole_batches(program, view, limit)
    taken: dict[str, tuple[Segment, ...]] = {}
    for each in (*program.inputs, *view.imported):
        readable = _readable(view, each)
        if held or _left_unread(view, each, waits=waits):
            count = 0
        elif each.stream in whole:
            count = whole[each.stream]
        else:
            count = _count(readable, limit)
        taken[each.stream] = readable[:count]
    return taken


class _Sources(NamedTuple):
    """The sources of a PE before a batch, by their operators' numbers."""

    names: dict[int, str]
    """The names of all sources."""
    producing: dict[int, str]
    """The names of the sources that have more input, and wait for no slower source."""
    slowest: dict[str, int]
    """Name of a source -> the least watermark among the other sources of its graph (EV65)."""


def _sources(program: PeProgram, view: PeView) -> _Sources:
    """Return the sources of a PE, and which of them may produce tuples."""
    names = {source: program.operators[source].name for source in program.sources}
    through = {name for name, run in view.position.reached.items() if run == view.bounded}
    passed = through.union(view.position.exhausted)
    clocks = view.clocks | counted_clocks(view.position.clocks, passed)
    ahead = {name for name, role in program.drifting.items() if source_behind(name, role, clocks) is not None}
    peers = {name: slowest_peer(role, clocks) for name, role in program.drifting.items()}
    return _Sources(
        names=names,
        producing={source: name for source, name in names.items() if name not in passed and name not in ahead},
        slowest={name: clocks[peer] for name, peer in peers.items() if peer is not None},
    )


def _has_ended(program: PeProgram, exhausted: Sequence[str]) -> bool:
    """Return True if no input can follow: all sources and all streams but loops have ended, without any Imports."""
    sources = (program.operators[source].name for source in program.sources)
    streams = (each.stream for each in program.inputs if each.stream not in program.returning)
    return not program.imports and all(name in exhausted for name in itertools.chain(sources, streams))


def _is_at_rest(
    program: PeProgram, view: PeView, taken: Mapping[str, tuple[Segment, ...]], exhausted: Sequence[str]
) -> bool:
    """Return True if no tuple is in a loop of a PE: nothing is left to read, and no operator wants to be called."""
    moves = any(taken.values()) or tuple(exhausted) != tuple(view.position.exhausted)
    return (
        not moves and view.position.wake is None and not any(view.streams[each].segments for each in program.returning)
    )


def _task_input(
    task: Task, view: PeView, taken: Mapping[str, tuple[Segment, ...]], sources: _Sources, *, paused: bool
) -> TaskInput:
    """Return the input of one task in a batch. With `paused`, its sources produce nothing."""
    imported = [each for each in view.imported if (each.operator, each.port) in task.imports]
    producing = [] if paused else [sources.producing[each] for each in task.sources if each in sources.producing]
    names = [sources.names[each] for each in task.sources]
    return TaskInput(
        partition=task.partition,
        sources={name: view.position.sources.get(name, {}) for name in producing},
        segments=tuple(
            (each.operator, each.port, segment) for each in (*task.inputs, *imported) for segment in taken[each.stream]
        ),
        filters={each.stream: each.filter for each in imported if each.filter is not None},
        bounds=None if view.bounded is None else view.bounds,
        slowest={name: sources.slowest[name] for name in names if name in sources.slowest},
    )


def _position_after(
    program: PeProgram,
    view: PeView,
    taken: Mapping[str, tuple[Segment, ...]],
    exhausted: tuple[str, ...],
    connected: dict[str, dict[str, bool]],
) -> Position:
    """Return the position of the PE after a batch, with the offsets of its sources from before the batch.

    Ends of other bounded runs, decisions of complete epochs, and the time of the next call of operators are dropped.
    """
    before = view.position
    return replace(
        before,
        inputs={each.stream: _next(view, each, len(taken[each.stream])) for each in (*program.inputs, *view.imported)},
        exhausted=exhausted,
        reached={name: run for name, run in before.reached.items() if run == view.bounded},
        watermarks=_reached(program, view, connected),
        idle={
            name: [each for each in decisions if each.epoch is None or each.epoch > view.completed_epoch]
            for name, decisions in before.idle.items()
        },
        wake=None,
        connected=connected,
        readership=view.readership,
    )


def is_due(view: PeView, now: float | None) -> bool:
    """Return True if an operator wants to be called without input by now; False if `now` is None."""
    return now is not None and view.position.wake is not None and view.position.wake <= now


def _left_unread(view: PeView, stream: InputStream, *, waits: bool) -> bool:
    """Return True for a foreign stream that stays unread: with `waits`, or while the PE is drained and it is not."""
    return stream.foreign and (waits or (view.draining is not None and stream.stream not in view.draining))


def _connected(program: PeProgram, view: PeView) -> dict[str, dict[str, bool]]:
    """Return the imported streams whose watermarks each operator takes in the next batch, as in `Position` (EV48).

    A stream whose connection a redeploy has ended is no longer among them once it was read to its last segment.
    """
    takes = (each for each in program.operators.values() if each.event_time is not None and each.event_time.imports)
    connected: dict[str, dict[str, bool]] = {each.name: {} for each in takes}
    for stream in view.imported:
        name = program.operators[stream.operator].name
        begin = view.position.inputs.get(stream.stream, stream.first)
        if stream.event_time and name in connected and (stream.last is None or begin < stream.last):
            shown = view.streams[stream.stream]
            connected[name][stream.stream] = shown.ended and not shown.segments
    return connected


def _reached(
    program: PeProgram, view: PeView, connected: Mapping[str, Mapping[str, bool]]
) -> dict[str, dict[str, int]]:
    """Return the watermarks of operators without output ports; connections that are gone have none."""
    declared = {each.name: {OWN, *each.entries.values()} for each in program.operators.values()}
    return {
        name: {
            each: value
            for each, value in reached.items()
            if name not in connected or each in connected[name] or each in declared[name]
        }
        for name, reached in view.position.watermarks.items()
    }


def _next(view: PeView, stream: InputStream, taken: int) -> int:
    """Return the number of the segment to read after `taken` segments; dropped segments are skipped."""
    if taken:
        return view.streams[stream.stream].segments[taken - 1][0] + 1
    return view.position.inputs.get(stream.stream, stream.first)


def _readable(view: PeView, stream: InputStream) -> tuple[Segment, ...]:
    """Return the segments that may be read.

    In a stream of the PE's own region, these are the segments of the open epoch.
    """
    shown = view.streams[stream.stream].segments
    return tuple(segment for _, epoch, segment in shown if stream.foreign or epoch == view.epoch)


def _count(readable: Sequence[Segment], limit: int | None) -> int:
    """Return how many of the readable segments of a stream a batch takes: one if there is any, then up to the limits.

    The limits are `limit` tuples, if it is not None, and `SEGMENTS_LIMIT` segments.
    """
    if limit is None:
        return min(len(readable), SEGMENTS_LIMIT)
    read = itertools.accumulate(segment.rows for segment in readable)
    return min(len(readable), max(sum(rows <= limit for rows in read), 1), SEGMENTS_LIMIT)


def _whole_batches(program: PeProgram, view: PeView, limit: int | None) -> dict[str, int]:
    """Return how many segments of each uncommitted stream a batch reads: whole batches of each producer.

    It reads one batch if there is any, then as many as stay within the limits in every stream. So if a reset takes back
    segments that were read, it takes back the whole batch.
    """
    whole: dict[str, int] = {}
    for streams in uncommitted_streams((*program.inputs, *view.imported)).values():
        shown = {stream.stream: view.streams[stream.stream] for stream in streams}
        counts = dict.fromkeys(shown, 0)
        for batch in sorted({batch for each in shown.values() for batch in each.batches}):
            further = {stream: sum(number <= batch for number in each.batches) for stream, each in shown.items()}
            fits = all(
                count <= SEGMENTS_LIMIT
                and (limit is None or sum(s.rows for _, _, s in shown[stream].segments[:count]) <= limit)
                for stream, count in further.items()
            )
            if any(counts.values()) and not fits:
                break
            counts = further
        whole |= counts
    return whole


def uncommitted_streams(streams: Iterable[InputStream]) -> dict[tuple[str | None, int], list[InputStream]]:
    """Return the streams of a PE that are read uncommitted, by the application and the PE that write them.

    The application is None for a stream of the PE's own application.
    """
    by_producer: dict[tuple[str | None, int], list[InputStream]] = {}
    for stream in streams:
        if stream.uncommitted:
            by_producer.setdefault((stream.exporter, stream.producer), []).append(stream)
    return by_producer


def _ended_streams(program: PeProgram, view: PeView, taken: dict[str, tuple[Segment, ...]]) -> list[str]:
    """Return the foreign streams that have ended and that this batch reads to their end."""
    return [
        stream.stream
        for stream in program.inputs
        if stream.foreign and _drained(view, stream, taken) and view.streams[stream.stream].ended
    ]


def _drained(view: PeView, stream: InputStream, taken: dict[str, tuple[Segment, ...]]) -> bool:
    return len(taken[stream.stream]) == len(_readable(view, stream))


def _may_close(program: PeProgram, view: PeView, taken: dict[str, tuple[Segment, ...]]) -> bool:
    """Return True if this batch may end the epoch.

    The streams of the unit must be at the boundary. In a PE that starts the region or reads no stream of the unit, the
    trigger must have fired as well.
    """
    if program.starts and view.trigger_epoch < view.epoch:
        return False
    own = [stream for stream in program.inputs if not stream.foreign]
    if not program.starts and not own:
        return view.trigger_epoch >= view.epoch
    return all(view.streams[s.stream].producer_epoch > view.epoch and _drained(view, s, taken) for s in own)
