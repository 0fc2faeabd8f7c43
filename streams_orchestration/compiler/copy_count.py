"""Copies that queues take of one tuple, where splitters choose between channels (rules 85, 86)."""

from __future__ import annotations

from collections.abc import Collection

from streams_orchestration.compiler.graph import FusionPlan, PhysicalGraph


def enqueue_copies(physical: PhysicalGraph, fusion: FusionPlan, queued: Collection[tuple[int, int]]) -> int:
    """Copies into queues per tuple submitted on every output port.

    A splitter sends a tuple into one of its channels, so it counts with the channel that has most queues behind it,
    splitters inside of the channel included.
    """
    total = 0
    behind: dict[tuple[int, int], int] = {}
    pe_of = fusion.pe_of
    for source, _, target, port, splitter, channel in physical.connections if queued else ():
        if pe_of[source] == pe_of[target] and (target, port) in queued:
            if splitter < 0:
                total += 1
            else:
                behind[splitter, channel] = behind.get((splitter, channel), 0) + 1
    most: dict[int, int] = {}
    for splitter in reversed(physical.splitters):
        most[splitter.index] = max(behind.get((splitter.index, channel), 0) for channel in range(splitter.width))
        if splitter.parent < 0:
            total += most[splitter.index]
        else:
            holder = splitter.parent, splitter.parent_channel
            behind[holder] = behind.get(holder, 0) + most[splitter.index]
    return total
