"""Watermarks as the model takes them: the least of a PE's streams, committed with its state (EV17, EV19, EV43-EV46).

Sources make tuples in the order of their times, so no tuple is late in its own stream, and none may be late anywhere. A
segment carries the watermark behind its tuples, which is as late as it can come. Queries of Spark's send none.
"""

from __future__ import annotations

from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Flight, Items, Pe, ViolationError, World


def time_of(item: int) -> int:
    """Return the event time of a tuple: a source is behind the next one by a tick."""
    return item // 10 + item % 10


def met(setting: Setting, world: World, pe: int, flight: Flight) -> Flight:
    """Return a batch with the watermarks behind it, and the tuples that are late."""
    t, row = setting.topology, world.pes[pe]
    if t.tuples[pe]:
        made = max(map(time_of, flight.items), default=0)
        return flight._replace(watermark=max(row.watermark, made))
    entries, reached, late = list(row.entries or (0,) * len(t.reads[pe])), row.watermark, list(row.late)
    for number, (producer, first, last) in enumerate(zip(t.reads[pe], row.inputs, flight.inputs, strict=True)):
        for piece in world.streams[producer]:
            if first <= piece.number < last:
                taken = (item for item in piece.items if t.takes(world.plan, pe, item))
                late += [item for item in taken if time_of(item) < reached and not t.query(pe)]
                entries[number] = max(entries[number], piece.watermark)
                reached = max(reached, _merged(setting, entries))
    return flight._replace(entries=tuple(entries), watermark=0 if t.query(pe) else reached, late=tuple(sorted(late)))


def _merged(setting: Setting, entries: list[int]) -> int:
    return min(entries) if setting.merges_least else max(entries)


def switched(setting: Setting, row: Pe) -> tuple[tuple[int, ...], int]:
    """Return the watermark of every stream of a PE after a redeploy, and the PE's own watermark."""
    if setting.switches_watermarks == "none" and row.entries:
        return (0,) * len(row.entries), 0
    first = row.watermark if setting.switches_watermarks == "least" else max((row.watermark, *row.entries))
    return (first,) * len(row.entries), first


def refuse_late(pe: int, row: Pe) -> None:
    """Raises ViolationError: a tuple came late."""
    if row.late:
        message = f"PE {pe}: the tuple {row.late[0]} of time {time_of(row.late[0])} came late"
        raise ViolationError(message)


def check(topology: Topology, pe: int, row: Pe) -> None:
    """Raises ViolationError: a tuple is late, or a committed watermark is above that of a run without disturbance.

    At the same tuples that is at most the least of the greatest times which have come from each producer's sources; in
    a chain it is just that.
    """
    refuse_late(pe, row)
    if pe in topology.channels:  # a channel gets the watermarks of tuples that go to other channels
        return
    streams = [_sources(topology, producer) for producer in topology.reads[pe]] or [{pe}]
    most = min(_greatest(row.state, sources) for sources in streams)
    chain = len(streams) == 1 and not any(map(topology.query, range(len(topology.programs))))
    if row.watermark > most or (chain and row.watermark < most):
        message = f"PE {pe} has committed the watermark {row.watermark}; undisturbed it is {most} behind {row.state}"
        raise ViolationError(message)


def _sources(topology: Topology, pe: int) -> set[int]:
    """Return the PEs with a source that a PE gets tuples of."""
    return {pe} if topology.tuples[pe] else {each for read in topology.reads[pe] for each in _sources(topology, read)}


def _greatest(items: Items, sources: set[int]) -> int:
    return max((time_of(item) for item in items if item // 10 - 1 in sources), default=0)
