"""FileSource: the tuples of a file, replayable from any row."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.files import open_decompressed, resolve_input
from streams_orchestration.operators.operator import (
    Offset,
    OperatorContext,
    Parameters,
    ProducedTo,
    Punctuation,
    SourceOperator,
)

BLOCK_BYTES = 4 << 20


class FileSourceParameters(Parameters):
    """Parameters of `FileSource`."""

    file: str = Field(min_length=1, description="path; relative to the spec, or package://<package>/<path>")
    format: Literal["csv", "line", "parquet"] = "csv"
    has_header_line: bool = Field(default=True, alias="hasHeaderLine", description="csv: the first line names columns")
    separator: str = Field(default=",", min_length=1, max_length=1, description="csv")


class FileSource(SourceOperator):
    """Reads a file once, front to back; the offset is the number of rows produced so far.

    Only the attributes of the output stream are read, by name where the format has names. The reader stays open between
    calls; after a restore the rows before the offset are skipped. A window marker follows the last tuple.
    """

    Parameters = FileSourceParameters

    @classmethod
    def initial_offset(cls) -> Offset:
        """Row 0."""
        return {"row": 0}

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
        names = _names(path, parameters)
        missing = next((name for name in schema.names if names is not None and name not in names), None)
        if missing is not None:
            message = f"{path}: the file has no column {missing}{nearest(missing, names or ())}"
            raise ValueError(message)
        if names is None and parameters.format == "csv":
            found = _columns_of_first_line(path, parameters)
            if found != len(schema):
                message = f"{path}: {found} columns in the first line, the output stream has {len(schema)} attributes"
                raise ValueError(message)

    def setup(self) -> None:
        """Find the file; it is opened by the first call of `produce`."""
        self.path = resolve_input(self.parameters.file, self.context.base)
        schema = self.context.outputs[0]
        assert schema is not None
        self.schema = schema
        self.row = -1
        self.rest: pa.RecordBatch | None = None
        self.batches: Iterator[pa.RecordBatch] = iter(())

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next rows.

        Raises:
            ValueError: a row does not fit the schema; names the file and, where it can be found, the line.
        """
        wanted = offset["row"]
        if wanted != self.row:
            self.batches, self.rest, self.row = self._read(), None, 0
            self._advance(wanted, submit=False)
            if self.row != wanted:
                message = f"{self.path}: {self.row} rows, but {wanted} were read before; was the file cut?"
                raise ValueError(message)
        exhausted = self._advance(limit, submit=True)
        if exhausted:
            self.punctuate(Punctuation.WINDOW)
        return ProducedTo({"row": self.row}, exhausted)

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
            self.row += taken.num_rows
            rows -= taken.num_rows
            if submit:
                self.submit(TupleBatch(taken))
        if self.rest is None:
            self.rest = next(self.batches, None)
        return self.rest is None

    def _read(self) -> Iterator[pa.RecordBatch]:
        batches = {"csv": self._read_csv, "line": self._read_lines, "parquet": self._read_parquet}
        return batches[self.parameters.format]()

    def _read_csv(self) -> Iterator[pa.RecordBatch]:
        header = self.parameters.has_header_line
        options = {
            "read_options": pa_csv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, column_names=None if header else self.schema.names
            ),
            "parse_options": pa_csv.ParseOptions(delimiter=self.parameters.separator),
            "convert_options": pa_csv.ConvertOptions(
                column_types=self.schema, include_columns=self.schema.names, strings_can_be_null=True
            ),
        }
        try:
            with open_decompressed(self.path) as file, pa_csv.open_csv(file, **options) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            message = f"{self.path}: {_place(self.path, self.parameters, self.schema, error)}"
            raise ValueError(message) from error
        except (OSError, EOFError) as error:
            message = f"{self.path}: cannot be read to its end: {error}"
            raise ValueError(message) from error

    def _read_lines(self) -> Iterator[pa.RecordBatch]:
        with open_decompressed(self.path) as file:
            while lines := file.readlines(BLOCK_BYTES):
                try:
                    texts = [line.rstrip(b"\r\n").decode() for line in lines]
                except UnicodeDecodeError as error:
                    message = f"{self.path}: not UTF-8 text: {error}"
                    raise ValueError(message) from error
                yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], schema=self.schema)

    def _read_parquet(self) -> Iterator[pa.RecordBatch]:
        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(columns=self.schema.names, use_threads=False):
                    yield pa.RecordBatch.from_arrays(
                        [batch.column(field.name).cast(field.type) for field in self.schema], schema=self.schema
                    )
        except pa.ArrowInvalid as error:
            message = f"{self.path}: {error}"
            raise ValueError(message) from error


def _names(path: Path, parameters: FileSourceParameters) -> list[str] | None:
    """The file's column names, None where it has none."""
    if parameters.format == "parquet":
        try:
            return pq.read_schema(path).names
        except pa.ArrowInvalid as error:
            message = f"{path}: not a Parquet file: {error}"
            raise ValueError(message) from error
    return _first_line(path, parameters) if parameters.has_header_line else None


def _columns_of_first_line(path: Path, parameters: FileSourceParameters) -> int:
    return len(_first_line(path, parameters))


def _first_line(path: Path, parameters: FileSourceParameters) -> list[str]:
    try:
        with open_decompressed(path) as file:
            line = file.readline()
    except (OSError, EOFError) as error:
        message = f"{path}: cannot be read: {error}"
        raise ValueError(message) from error
    if not line.strip():
        message = f"{path}: the file is empty, a first line is wanted"
        raise ValueError(message)
    table = pa_csv.read_csv(pa.py_buffer(line), parse_options=pa_csv.ParseOptions(delimiter=parameters.separator))
    return table.column_names


def _place(path: Path, parameters: FileSourceParameters, schema: pa.Schema, error: Exception) -> str:
    """The error with the line it is about: found by reading again, as text, up to the first row that does not fit."""
    names = None if parameters.has_header_line else schema.names
    with open_decompressed(path) as raw:
        reader = csv.reader(
            io.TextIOWrapper(raw, "utf-8", errors="replace", newline=""), delimiter=parameters.separator
        )
        header = names or next(reader, [])
        positions = [(header.index(field.name), field) for field in schema]
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                return f"line {reader.line_num}: {len(row)} columns, {len(header)} are wanted"
            for position, field in positions:
                if not _fits(row[position], field.type):
                    return f"line {reader.line_num}, column {field.name}: {row[position]!r} is no {field.type}"
    return str(error)


@functools.lru_cache(maxsize=65_536)
def _fits(text: str, kind: pa.DataType) -> bool:
    if pa.types.is_string(kind) or text in pa_csv.ConvertOptions().null_values:
        return True
    try:
        pa.scalar(text.strip()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
