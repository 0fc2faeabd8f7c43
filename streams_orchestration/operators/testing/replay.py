"""A source for tests of applications: tuples of a file, with watermarks among them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from streams_orchestration.model.operators import WatermarkMode
from streams_orchestration.operators.contract.operator import Offset, Parameters, ProducedTo, SourceOperator
from streams_orchestration.operators.loading.libraries import pq
from streams_orchestration.operators.tuples.batch import TupleBatch


class ReplayParameters(Parameters):
    """The parameters of `Replay`."""

    file: Path = Field(description="A Parquet file with the tuples.")
    watermarks: tuple[tuple[int, int], ...] = Field(
        description="The watermarks in order, each with the number of preceding tuples and its value in ticks."
    )


class Replay(SourceOperator):
    """Submits tuples and sets watermarks between them."""

    Parameters = ReplayParameters
    watermark_mode: ClassVar[WatermarkMode | None] = "manual"

    def setup(self) -> None:
        """Read the recorded tuples from their file."""
        self.tuples = TupleBatch.from_table(pq.read_table(self.parameters.file))

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit at most `limit` tuples from the offset on, with the watermarks before and after them."""
        row, mark = offset.get("row", 0), offset.get("mark", 0)
        marks, last = self.parameters.watermarks, min(row + limit, len(self.tuples))
        while True:
            stop = min(marks[mark][0], last) if mark < len(marks) else last
            if stop > row:
                self.submit(self.tuples.slice(row, stop - row))
                row = stop
            if mark == len(marks) or marks[mark][0] > row:
                break
            self.set_watermark(marks[mark][1])
            mark += 1
        return ProducedTo({"row": row, "mark": mark}, exhausted=row == len(self.tuples) and mark == len(marks))
