"""Pacing: limits the tuples of the next batch, so that it lasts for a part of the period.

Earlier batches show the pace.

Every batch has a fixed cost, so batches are large when many tuples wait. But an epoch cannot close within a batch, and
a batch is in memory. Results do not depend on the sizes of batches, since the offsets record the read tuples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams_orchestration.runtime.programs.batches import TaskResult

FIRST = 65_536
"""The most tuples of the first batch, when nothing is known yet."""
MIN_BATCH_TUPLES = 1_024
"""The least tuples of a batch that pacing aims at, unless the ceiling or `TARGET_BYTES` is lower."""
GROWTH = 8
"""The highest growth factor from one batch to the next; less if the batch would take too long at the measured rate."""
BATCH_SECONDS = (0.1, 1.0)
"""Lower and upper bound of the target duration of a batch, in seconds."""
RECENT_BATCHES = 6
"""Number of recent batches from which the pace is estimated."""
PART = 1 / 3
"""The largest part of the period that a batch should take."""
TARGET_BYTES = 256 << 20
"""The number of bytes of incoming tuples that a batch aims at."""


class Pace:
    """The size of the next batch, as learned from earlier batches."""

    def __init__(self, ceiling: int, cores: int) -> None:
        self.ceiling = ceiling
        self.cores = cores
        self.limit = min(FIRST, ceiling)
        """The most tuples from each source, and from each stream unless its next segment is larger."""
        self._seen: deque[tuple[int, float]] = deque(maxlen=RECENT_BATCHES)

    def learn(self, results: Iterable[TaskResult], wall: float, period: float | None) -> None:
        """Adjust the limit of the next batch to the measurements of a batch; it is 1 to `ceiling`.

        A batch in which no task got half as many tuples as the limit changes nothing.

        Args:
            results: the results of the batch's tasks.
            wall: the seconds from its plan to the results of all tasks.
            period: the period of the region in seconds; None outside of regions.
        """
        levels: dict[int, list[TaskResult]] = {}
        for result in results:
            levels.setdefault(result.level, []).append(result)
        fullest = max((result for results in levels.values() for result in results), key=lambda r: r.rows_in)
        rows = fullest.rows_in
        if rows < max(self.limit // 2, 1):
            return
        work = sum(
            max(*(result.seconds for result in level), sum(result.seconds for result in level) / self.cores)
            for level in levels.values()
        )
        self._seen.append((rows, work))
        fixed, each = self._line()
        least, most = BATCH_SECONDS
        target = most if period is None else min(max(period * PART, least), most)
        aim = max(target - max(wall - work, 0.0) - fixed, target / 2)
        growth = min(max(2 * target / max(wall, 1e-9), 2.0), GROWTH)
        wanted = aim / each
        if work < target / 2:  # the other time of the batch does not depend on its tuples
            wanted = max(wanted, 2 * rows)
        if work < 2 * target:  # on a busy machine, any batch may take twice its time now and then
            wanted = max(wanted, min(rows, FIRST))
        wanted = max(min(wanted, rows * growth), MIN_BATCH_TUPLES)
        self.limit = max(min(int(wanted), int(TARGET_BYTES * rows / max(fullest.bytes_in, 1)), self.ceiling), 1)

    def _line(self) -> tuple[float, float]:
        """Return the fixed seconds of work per batch, and the seconds per tuple, by a line through recent batches."""
        count = len(self._seen)
        rows, work = (sum(values) / count for values in zip(*self._seen, strict=True))
        spread = sum((r - rows) ** 2 for r, _ in self._seen)
        slope = sum((r - rows) * (w - work) for r, w in self._seen) / spread if spread else work / rows
        each = max(min(slope, work / rows), 1e-9)
        return max(work - each * rows, 0.0), each
