"""The descriptor source: a Spark streaming source whose rows say what the tasks of a micro-batch read.

Spark's offset of a PE is the number of its batch. The vector of stream positions and source offsets lives in the
catalog, which is the authority on where a PE stands; so a query that starts anew goes on where the catalog says.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streams_orchestration.runtime.batches import BatchPlan, plan_codec
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.planning import plan_batch
from streams_orchestration.runtime.program import PeProgram
from streams_orchestration.runtime.rows import PLAN, ROW_DDL, record_batches
from streams_orchestration.runtime.views import read_view

POLL_SECONDS = (0.005, 0.1)
"""Between two looks at the catalog while there is nothing to do: doubled from the first to the second."""
PATIENCE_SECONDS = 0.25
"""How long one call waits for work before it gives Spark the word back."""


class Descriptor(InputPartition):
    """What one task of level 0 reads: a row, ready to send."""

    def __init__(self, partition: int, payload: bytes) -> None:
        self.partition = partition
        self.payload = payload


class DescriptorSource(DataSource):
    """`spark.readStream.format("streams_pe")`; options: home, program (a file), generation, limit."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "streams_pe"

    def schema(self) -> str:
        """The rows of every level."""
        return ROW_DDL

    def streamReader(self, schema: Any) -> DescriptorReader:  # noqa: N802 (Spark's name)
        """A reader for one query."""
        return DescriptorReader({key: str(value) for key, value in self.options.items()})


class DescriptorReader(DataSourceStreamReader):
    """Plans batches; runs in a Python process of its own beside the driver."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.planned: BatchPlan | None = None
        self._catalog: Catalog | None = None
        self._program: PeProgram | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The last committed batch."""
        catalog, program = self._open()
        return {"batch": read_view(catalog, program).batch}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The next batch as soon as there is something to do, `start` if there is nothing for a while."""
        catalog, program = self._open()
        until = time.monotonic() + PATIENCE_SECONDS
        pause, longest = POLL_SECONDS
        while True:
            began = time.monotonic()
            view = read_view(catalog, program)
            if not view.wanted or view.generation != int(self.options["generation"]):
                time.sleep(longest)
                return start
            plan = plan_batch(program, view, source_limit=int(self.options["limit"]))
            if plan is not None:
                self.planned = replace(plan, planned_at=time.time(), plan_seconds=time.monotonic() - began)
                return {"batch": plan.batch}
            if time.monotonic() > until:
                return start
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Descriptor]:
        """One descriptor for every task of level 0; none where Spark asks for an empty batch.

        Raises:
            StreamsRuntimeError: Spark asks for a batch that was not planned here; going on would skip it.
        """
        if start == end:
            return []
        if self.planned is None or self.planned.batch != end["batch"]:
            message = f"Spark asks for batch {end['batch']}, which this reader has not planned"
            raise StreamsRuntimeError(message)
        return [
            Descriptor(given.partition, plan_codec.dump_json(replace(self.planned, inputs=(given,))))
            for given in self.planned.inputs
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The descriptor's row."""
        assert isinstance(partition, Descriptor)
        yield from record_batches([(partition.partition, 0, PLAN, 0, 0, partition.payload)])

    def stop(self) -> None:
        """Close the catalog."""
        if self._catalog is not None:
            self._catalog.close()

    def _open(self) -> tuple[Catalog, PeProgram]:
        if self._catalog is None or self._program is None:
            self._catalog = Catalog(Home(Path(self.options["home"])))
            self._program = pickle.loads(Path(self.options["program"]).read_bytes())
        assert self._program is not None
        return self._catalog, self._program
