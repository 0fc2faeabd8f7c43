"""FileSource: the tuples of a file, replayable from any row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import fits
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import (
    Offset,
    OperatorContext,
    Parameters,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.files import open_decompressed, resolve_input
from streams_orchestration.operators.libraries import pa, pq
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.standard.csv_file import CsvFile
from streams_orchestration.operators.standard.json_lines import check_json_schema, read_json_lines
from streams_orchestration.operators.standard.refused import REFUSED

BLOCK_BYTES = 4 << 20


class FileSourceParameters(Parameters):
    """Parameters of `FileSource`."""

    file: str = Field(min_length=1, description="path; relative to the spec, or package://<package>/<path>")
    format: Literal["csv", "line", "jsonl", "parquet", "arrow"] = "csv"
    has_header_line: bool = Field(default=True, alias="hasHeaderLine", description="csv: the first line names columns")
    separator: str = Field(default=",", min_length=1, max_length=1, description="csv")


class FileSource(SourceOperator):
    """Reads a file once, front to back; the offset is the number of rows produced so far.

    Only the attributes of the output stream are read, by name where the format has names. The reader stays open between
    calls; after a restore the rows before the offset are skipped. A window marker follows the last tuple.
    """

    Parameters = FileSourceParameters
    unsupported = REFUSED["FileSource"]

    @classmethod
    def initial_offset(cls) -> Offset:
        """Row 0."""
        return {"row": 0}

    @classmethod
    def mentions(cls, parameters: FileSourceParameters) -> Mentions:
        """None."""
        return Mentions()

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raises ValueError when the file is missing or does not have the output stream's attributes."""
        schema = context.outputs[0]
        if schema is None:
            message = "the output stream needs a schema: outputs: [{stream: Name, schema: Type}]"
            raise ValueError(message)
        path = resolve_input(parameters.file, context.base)
        if parameters.format == "line":
            if len(schema) != 1 or not pa.types.is_string(schema.field(0).type):
                message = "format line: the output stream must have exactly one string attribute"
                raise ValueError(message)
            return
        match parameters.format:
            case "parquet" | "arrow":
                _check_columnar(path, parameters.format, schema)
            case "jsonl":
                check_json_schema(schema)
            case _:
                _check_csv(_csv(path, parameters), schema)

    def setup(self) -> None:
        """Find the file; it is opened by the first call of `produce`."""
        self.path = resolve_input(self.parameters.file, self.context.base)
        schema = self.context.outputs[0]
        assert schema is not None
        self.schema = schema
        self.first, self.row = 0, -1
        self.rest: pa.RecordBatch | None = None
        self.batches: Iterator[pa.RecordBatch] = iter(())

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next rows.

        Raises:
            DataError: a row does not fit the schema; names the file and, where it can be found, the line.
        """
        wanted = offset["row"]
        if wanted != self.row:
            self.batches, self.rest, self.row = self._read(), None, 0
            self._advance(wanted, submit=False)
            if self.row != wanted:
                message = f"{self.path}: {self.row} rows, but {wanted} were read before; was the file cut?"
                raise DataError(message)
        exhausted = self._advance(limit, submit=True)
        if exhausted:
            self.punctuate(Punctuation.WINDOW)
        return ProducedTo({"row": self.row}, exhausted)

    def place(self) -> str:
        """The file and its rows, counted from 1, that were submitted last."""
        return f"{self.path}, rows {self.first + 1} to {self.row}"

    def _advance(self, rows: int, *, submit: bool) -> bool:
        """Go on by at most `rows` rows; True when the file has ended."""
        while rows > 0:
            batch = self.rest if self.rest is not None else next(self.batches, None)
            self.rest = None
            if batch is None:
                return True
            taken = batch.slice(0, rows)
            if batch.num_rows > rows:
                self.rest = batch.slice(rows)
            self.first, self.row = self.row, self.row + taken.num_rows
            rows -= taken.num_rows
            if submit:
                self.submit(TupleBatch(taken))
        if self.rest is None:
            self.rest = next(self.batches, None)
        return self.rest is None

    def _read(self) -> Iterator[pa.RecordBatch]:
        match self.parameters.format:
            case "csv":
                return _csv(self.path, self.parameters).read(self.schema)
            case "line":
                return self._read_lines()
            case "jsonl":
                return read_json_lines(self.path, self.schema)
            case _:
                return self._read_columnar()

    def _read_lines(self) -> Iterator[pa.RecordBatch]:
        number = 0
        with open_decompressed(self.path) as file:
            while lines := file.readlines(BLOCK_BYTES):
                texts: list[str] = []
                for line in lines:
                    number += 1
                    try:
                        texts.append(line.removesuffix(b"\n").removesuffix(b"\r").decode())
                    except UnicodeDecodeError as error:
                        message = f"{self.path}, line {number}: not UTF-8 text: {error}"
                        raise DataError(message) from error
                yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], schema=self.schema)

    def _read_columnar(self) -> Iterator[pa.RecordBatch]:
        try:
            if self.parameters.format == "parquet":
                with pq.ParquetFile(self.path) as file:
                    yield from map(self._cast, file.iter_batches(columns=self.schema.names, use_threads=False))
            else:
                with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
                    yield from (self._cast(file.get_batch(i)) for i in range(file.num_record_batches))
        except (pa.ArrowInvalid, KeyError, OSError, DataError) as error:
            message = f"{self.path}: {error}"
            raise DataError(message) from error

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        return TupleBatch.from_columns(columns, self.schema).arrow


def _csv(path: Path, parameters: FileSourceParameters) -> CsvFile:
    return CsvFile(path, parameters.separator, parameters.has_header_line)


def _check_csv(file: CsvFile, schema: pa.Schema) -> None:
    nested = next((field for field in schema if pa.types.is_nested(field.type)), None)
    if nested is not None:
        message = f"format csv: the attribute {nested.name} is {nested.type}, which csv cannot hold"
        raise ValueError(message)
    names = file.first_line()
    if file.has_header_line:
        if not names:
            message = f"{file.path}: the file is empty, a first line with the column names is wanted"
            raise ValueError(message)
        _check_columns(file.path, names, schema)
    elif names and len(names) != len(schema):
        message = f"{file.path}: {len(names)} columns in line 1, the output stream has {len(schema)} attributes"
        raise ValueError(message)


def _check_columnar(path: Path, format: str, schema: pa.Schema) -> None:
    try:
        there = pq.read_schema(path) if format == "parquet" else pa.ipc.open_file(path).schema
    except pa.ArrowInvalid as error:
        message = f"{path}: not {'a Parquet' if format == 'parquet' else 'an Arrow IPC'} file: {error}"
        raise ValueError(message) from error
    _check_columns(path, there.names, schema)
    for field in schema:
        if not fits(there.field(field.name).type, field.type):
            message = f"{path}: column {field.name} is {there.field(field.name).type}, the attribute is {field.type}"
            raise ValueError(message)


def _check_columns(path: Path, names: list[str], schema: pa.Schema) -> None:
    for name in schema.names:
        if name not in names:
            message = f"{path}: the file has no column {name}{nearest(name, names)}"
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"{path}: the file has {names.count(name)} columns {name}"
            raise ValueError(message)
