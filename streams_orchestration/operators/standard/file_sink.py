"""FileSink: writes tuples to files that become visible when their epoch is complete, or with their batch."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import Field, model_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, PendingFile, Visibility
from streams_orchestration.operators.errors import DataError, UnknownAttributeError
from streams_orchestration.operators.libraries import pa, pa_csv, pq
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.standard.json_lines import check_json_schema
from streams_orchestration.operators.standard.refused import REFUSED

PENDING = "_pending"
"""Directory inside of a sink's directory for files that are not visible yet; readers skip names with `_`."""
_PART = re.compile(r"part-\d{6,}-\d{6,}-\d{3,}(-g\d+)?\.(parquet|csv|jsonl|arrow)")


class FileSinkParameters(Parameters):
    """Parameters of `FileSink`."""

    file: str = Field(min_length=1, description="directory for the parts; a relative one is among the results")
    format: Literal["parquet", "csv", "jsonl", "arrow"] = "parquet"
    separator: str = Field(default=",", min_length=1, max_length=1, description="csv")
    quote_strings: bool = Field(default=True, alias="quoteStrings", description="csv: texts stand in quotes")
    suppress: list[str] = Field(default_factory=list, description="attributes that are not written")
    truncate_on_reset: bool = Field(
        default=True,
        alias="truncateOnReset",
        description="what was written after the cut is gone after a reset, always",
    )
    visibility: Visibility = Field(
        default="read_committed",
        description="read_uncommitted: a part is visible with its batch, and a reset takes it back",
    )

    @model_validator(mode="after")
    def _go_together(self) -> FileSinkParameters:
        if not self.truncate_on_reset:
            message = (
                "truncateOnReset: false would leave the tuples of a replay in the result twice; a part becomes visible "
                "when its epoch is complete, or is removed by the reset (visibility: read_uncommitted): leave it out"
            )
            raise ValueError(message)
        if self.format != "csv" and (self.separator != "," or not self.quote_strings):
            message = "separator and quoteStrings go with format csv only"
            raise ValueError(message)
        return self


def sink_directory(context: OperatorContext, parameters: FileSinkParameters) -> Path:
    """Where the sink publishes its parts."""
    return context.results / parameters.file


class FileSink(Operator):
    """Every micro-batch with tuples gives one part, `part-<epoch>-<batch>-<channel>`, in the directory `file`.

    A part is written beside its final place and is moved there when the epoch is complete, so that a reset never has to
    take back what a reader may have seen. With `visibility: read_uncommitted` it is moved when its batch is committed;
    then a reset removes the parts after the cut, and their names end in `-g<generation>`, so that no two are alike.
    """

    Parameters = FileSinkParameters
    unsupported = REFUSED["FileSink"]
    stateful = True

    @classmethod
    def mentions(cls, parameters: FileSinkParameters) -> Mentions:
        """Those that are not written."""
        return Mentions(inputs=parameters.suppress)

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSinkParameters) -> None:
        """Raises ValueError when the directory cannot be written, or the tuples cannot be in this format."""
        if context.outputs:
            message = "FileSink has no output port here: parts are named in the catalog, `streams status` shows them"
            raise ValueError(message)
        schema = _written_schema(context, parameters)
        if parameters.format == "csv":
            nested = next((field for field in schema if pa.types.is_nested(field.type)), None)
            if nested is not None:
                message = f"format csv: the attribute {nested.name} is {nested.type}, which csv cannot hold"
                raise ValueError(message)
        if parameters.format == "jsonl":
            check_json_schema(schema)
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
        found = sink_directory(context, parameters).glob("part-*")
        return tuple(sorted(path for path in found if _PART.fullmatch(path.name)))

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
        self.names = _written_schema(self.context, self.parameters).names
        self.batches: list[pa.RecordBatch] = []

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples for the part of this micro-batch."""
        self.batches.append(batch.arrow.select(self.names) if self.parameters.suppress else batch.arrow)

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write the part."""
        if not self.batches:
            return ()
        table = pa.Table.from_batches(self.batches)
        self.batches = []
        channel = max(self.context.channel, 0)
        generation = "" if self.parameters.visibility == "read_committed" else f"-g{self.context.generation}"
        name = f"part-{self.context.epoch:06d}-{self.context.batch:06d}-{channel:03d}{generation}"
        pending = self.parts / PENDING / f"{channel:03d}-{uuid.uuid4().hex}.{self.parameters.format}"
        pending.parent.mkdir(parents=True, exist_ok=True)
        with pending.open("wb") as file:
            _WRITERS[self.parameters.format](table, file, self.parameters)
            file.flush()
            os.fsync(file.fileno())
        final = self.parts / f"{name}.{self.parameters.format}"
        return (PendingFile(pending, final, table.num_rows, pending.stat().st_size),)


def _written_schema(context: OperatorContext, parameters: FileSinkParameters) -> pa.Schema:
    schema = context.inputs[0]
    for name in parameters.suppress:
        if name not in schema.names:
            message = f"suppress: the input stream has no attribute {name}{nearest(name, schema.names)}"
            raise UnknownAttributeError(message)
    kept = [field for field in schema if field.name not in parameters.suppress]
    if not kept:
        message = "suppress: no attribute is left to be written"
        raise ValueError(message)
    return pa.schema(kept)


def _write_parquet(table: pa.Table, file: IO[bytes], _parameters: FileSinkParameters) -> None:
    pq.write_table(table, file)


def _write_csv(table: pa.Table, file: IO[bytes], parameters: FileSinkParameters) -> None:
    quoted = parameters.quote_strings
    options = pa_csv.WriteOptions(
        include_header=quoted, delimiter=parameters.separator, quoting_style="needed" if quoted else "none"
    )
    if not quoted:  # Arrow quotes the names of columns always
        file.write((parameters.separator.join(table.column_names) + "\n").encode())
    try:
        pa_csv.write_csv(table, file, options)
    except pa.ArrowInvalid as error:
        message = f"a text with a separator, a quote or a line break needs quoteStrings: {error}"
        raise DataError(message) from error


def _write_json_lines(table: pa.Table, file: IO[bytes], _parameters: FileSinkParameters) -> None:
    import polars as pl

    pl.DataFrame(table).write_ndjson(file)


def _write_arrow(table: pa.Table, file: IO[bytes], _parameters: FileSinkParameters) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


_WRITERS: dict[str, Any] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_json_lines,
    "arrow": _write_arrow,
}
