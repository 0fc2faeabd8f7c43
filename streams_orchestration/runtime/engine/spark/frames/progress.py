"""The progress of a query's state as Spark reports it: the host, which has the query, notes it for the planner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from streams_orchestration.operators.storage.durable_files import write_whole

RETAINED = 20
"""Number of batches whose progress Spark keeps until the host reads it."""


@dataclass(frozen=True, slots=True)
class StateProgress:
    """Progress of a query since it was started."""

    batch: int = -1
    """Spark's number of the newest batch that was counted."""
    state_rows: int = 0
    """The number of rows in the state of all Spark operators."""
    late_rows: int = 0
    """The number of rows that Spark has dropped because they were older than the watermark."""

    def after(self, batches: Iterable[Any]) -> StateProgress:
        """Return the progress after more batches from `StreamingQuery.recentProgress`; each batch counts once."""
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
    """The file in the scratch directory of a query in which its progress is noted."""

    def __init__(self, scratch: str) -> None:
        self._path = Path(scratch) / "progress.json"
        self._noted = StateProgress()

    def take(self, query: Any) -> None:
        """Add the new batches of a running Spark query to the progress, and write it down; do nothing without any.

        Raises:
            OSError: the file of the note cannot be written.
        """
        last = query.lastProgress
        if last is None or last.batchId <= self._noted.batch:
            return
        unseen = [last] if last.batchId == self._noted.batch + 1 else query.recentProgress
        progress = self._noted.after(unseen)
        write_whole(self._path, json.dumps(asdict(progress)), durably=False)
        self._noted = progress

    def read(self) -> StateProgress:
        """Return the progress that was noted last; the initial progress if none was noted."""
        try:
            return replace(StateProgress(), **json.loads(self._path.read_text()))
        except FileNotFoundError:
            return StateProgress()
