"""Copies that queues take of one tuple, where splitters choose between channels (rules 85, 86)."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.compiler.graph import Connection, PhysicalGraph


def enqueue_copies(physical: PhysicalGraph, enqueued: Iterable[Connection]) -> int:
    """Copies into queues per tuple submitted on every output port.

    A splitter sends a tuple into one of its channels, so it counts with the channel that has most queues behind it,
    splitters inside of the channel included.

    Args:
        physical: the expanded graph.
        enqueued: connections within a PE that end in a queue.
    """
    total = 0
    behind: dict[tuple[int, int], int] = {}
    for *_, splitter, channel in enqueued:
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
