"""The number of copies that queues take of one tuple (rules 85, 86)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph


def enqueue_copies(physical: PhysicalGraph, enqueued: Iterable[Connection]) -> int:
    """Count the copies into queues for one tuple on every output port.

    A splitter sends a tuple into one channel, so the channel with most queues behind it counts, with its inner
    splitters.

    Args:
        physical: the expanded graph.
        enqueued: connections within a PE that end in a queue.
    """
    behind: Counter[tuple[int, int]] = Counter(map(attrgetter("splitter", "channel"), enqueued))
    total = behind.pop(_DIRECT, 0)
    most = [0] * len(physical.splitters)
    for (splitter, _), queues in behind.items():
        most[splitter] = max(most[splitter], queues)
    for splitter in reversed(physical.splitters):
        if splitter.parent < 0:
            total += most[splitter.index]
        else:
            holder = splitter.parent, splitter.parent_channel
            behind[holder] += most[splitter.index]
            most[splitter.parent] = max(most[splitter.parent], behind[holder])
    return total


_DIRECT = -1, -1
"""The splitter and channel of a connection without one."""
