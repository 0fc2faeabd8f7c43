"""Progress of a query's state as Spark reports it: noted by the host, which has the query, for the planner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from streams_orchestration.operators.durable_files import write_whole

RETAINED = 20
"""Number of batches whose progress Spark keeps until the host reads it."""


@dataclass(frozen=True, slots=True)
class StateProgress:
    """Progress of a query since it was started."""

    batch: int = -1
    """Spark's number of the newest batch that is counted."""
    state_rows: int = 0
    """Rows that are kept in its state, of all operators of Spark's."""
    late_rows: int = 0
    """Rows that its operators have dropped since they came behind the watermark."""

    def after(self, batches: Iterable[Any]) -> StateProgress:
        """Return the progress with more batches from `StreamingQuery.recentProgress`; known ones count once."""
        progress = self
        for each in batches:
            if each.batchId > progress.batch:
                parts = each.stateOperators
                progress = StateProgress(
                    each.batchId,
                    sum(part.numRowsTotal for part in parts),
                    progress.late_rows + sum(part.numRowsDroppedByWatermark for part in parts),
                )
        return progress


class ProgressNote:
    """The file in which it is noted.

    Args:
        scratch: directory of the query.
    """

    def __init__(self, scratch: str) -> None:
        self._path = Path(scratch) / "progress.json"
        self._noted = StateProgress()

    def take(self, query: Any) -> None:
        """Note what is new of a query of Spark's that runs."""
        last = query.lastProgress
        if last is None or last.batchId <= self._noted.batch:
            return
        news = [last] if last.batchId == self._noted.batch + 1 else query.recentProgress
        progress = self._noted.after(news)
        write_whole(self._path, json.dumps(asdict(progress)), durably=False)
        self._noted = progress

    def read(self) -> StateProgress:
        """Return the progress that was noted last."""
        try:
            return replace(StateProgress(), **json.loads(self._path.read_text()))
        except FileNotFoundError:
            return StateProgress()
