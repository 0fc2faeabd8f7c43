"""The tasks of a batch without Spark: one after the other, with what they exchange handed on by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from streams_orchestration.runtime.engine.spark.rows import Row, record_batches
from streams_orchestration.runtime.engine.spark.stages import PeLevel
from streams_orchestration.runtime.queries.scratch import Scratch


def run_levels(scratch: Scratch, rows: Iterable[Row]) -> list[Row]:
    """Run all levels of a PE.

    Args:
        scratch: of its query.
        rows: the plans of the tasks of the first level.

    Returns:
        What the last level hands on.
    """
    given = list(rows)
    for level, tasks in enumerate(scratch.launched.program.levels):
        stage = PeLevel(scratch, level)
        parts: dict[int, list[Row]] = defaultdict(list)
        for row in given:
            parts[row[0] % len(tasks)].append(row)
        given = [
            row
            for part in parts.values()
            for batch in stage(record_batches(part))
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
    return given
