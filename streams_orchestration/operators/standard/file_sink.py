"""FileSink: writes tuples to files that become visible when their epoch is complete."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic import Field

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, PendingFile
from streams_orchestration.operators.standard.json_lines import check_json_schema

PENDING = "_pending"
"""Directory inside of a sink's directory for files whose epoch is not complete; readers skip names with `_`."""


class FileSinkParameters(Parameters):
    """Parameters of `FileSink`."""

    file: str = Field(min_length=1, description="directory for the parts; a relative one is among the results")
    format: Literal["parquet", "csv", "jsonl", "arrow"] = "parquet"


def sink_directory(context: OperatorContext, parameters: FileSinkParameters) -> Path:
    """Where the sink publishes its parts."""
    return context.results / parameters.file


class FileSink(Operator):
    """Every micro-batch with tuples gives one part, `part-<epoch>-<batch>-<channel>`, in the directory `file`.

    A part is written beside its final place and is moved there when the epoch is complete, so that a reset never has to
    take back what a reader may have seen.
    """

    Parameters = FileSinkParameters
    unsupported = frozenset(
        (
            *("append", "bytesPerFile", "closeMode", "compression", "encoding", "eolMarker", "flush"),
            *("flushOnPunctuation", "hasDelayField", "moveFileToDirectory", "quoteStrings", "separator", "suppress"),
            *("timePerFile", "truncateOnReset", "tuplesPerFile", "writeFailureAction"),
            *("writePunctuations", "writeStateHandlerCallbacks"),
        )
    )
    stateful = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSinkParameters) -> None:
        """Raises ValueError when the directory cannot be written."""
        if parameters.format == "csv":
            nested = next((field for field in context.inputs[0] if pa.types.is_nested(field.type)), None)
            if nested is not None:
                message = f"format csv: the attribute {nested.name} is {nested.type}, which csv cannot hold"
                raise ValueError(message)
        if parameters.format == "jsonl":
            check_json_schema(context.inputs[0])
        directory = sink_directory(context, parameters)
        if not directory.is_absolute():
            return  # among the results, whose place is known when it is deployed
        existing = next(path for path in (directory, *directory.parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            message = f"file: {directory} cannot be created or written: {existing} is no directory one may write to"
            raise ValueError(message)

    @classmethod
    def published(cls, context: OperatorContext, parameters: FileSinkParameters) -> tuple[Path, ...]:
        """The parts in the directory."""
        return tuple(sorted(sink_directory(context, parameters).glob("part-??????-??????-???.*")))

    @classmethod
    def directory(cls, context: OperatorContext, parameters: FileSinkParameters) -> Path:
        """Where the parts go."""
        return sink_directory(context, parameters)

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: FileSinkParameters) -> tuple[Path, ...]:
        """The files of this replica whose epoch is not complete, and what a killed task left of them."""
        pending = sink_directory(context, parameters) / PENDING
        return tuple(sorted(pending.glob(f"{max(context.channel, 0):03d}-*")))

    def setup(self) -> None:
        """Nothing is opened before there are tuples."""
        self.parts = sink_directory(self.context, self.parameters)
        self.batches: list[pa.RecordBatch] = []

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples for the part of this micro-batch."""
        self.batches.append(batch.arrow)

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write the part."""
        if not self.batches:
            return ()
        table = pa.Table.from_batches(self.batches)
        self.batches = []
        channel = max(self.context.channel, 0)
        name = f"part-{self.context.epoch:06d}-{self.context.batch:06d}-{channel:03d}.{self.parameters.format}"
        pending = self.parts / PENDING / f"{channel:03d}-{uuid.uuid4().hex}.{self.parameters.format}"
        pending.parent.mkdir(parents=True, exist_ok=True)
        with pending.open("wb") as file:
            _WRITERS[self.parameters.format](table, file)
            file.flush()
            os.fsync(file.fileno())
        return (PendingFile(pending, self.parts / name, table.num_rows, pending.stat().st_size),)


def _write_json_lines(table: pa.Table, file: IO[bytes]) -> None:
    import polars as pl

    pl.DataFrame(table).write_ndjson(file)


def _write_arrow(table: pa.Table, file: IO[bytes]) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


_WRITERS: dict[str, Any] = {
    "parquet": pq.write_table,
    "csv": pa_csv.write_csv,
    "jsonl": _write_json_lines,
    "arrow": _write_arrow,
}
