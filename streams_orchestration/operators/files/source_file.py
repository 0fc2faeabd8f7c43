"""One input file of a FileSource: checking it and reading its rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.background.background import Background
from streams_orchestration.operators.background.read_ahead import ReadAhead
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.columnar_rows import ColumnarFormat, columnar_schema, read_columnar
from streams_orchestration.operators.files.csv_blocks import CsvBlocks
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.files.json_lines import read_json_lines
from streams_orchestration.operators.files.row_options import RowOptions
from streams_orchestration.operators.files.rows import BEGIN, FilePosition, FileRows, Malformed
from streams_orchestration.operators.files.spl_binary_rows import read_binary
from streams_orchestration.operators.files.spl_rows import SPL_FORMATS, read_blocks, read_rows
from streams_orchestration.operators.files.tolerant_csv import TolerantCsvFile
from streams_orchestration.operators.formats.checks import utf8_fault
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.csv_writing import check_csv_schema
from streams_orchestration.operators.formats.json_reading import check_json_schema
from streams_orchestration.operators.formats.spl_binary import binary_tuple, check_binary
from streams_orchestration.operators.formats.spl_texts import spl_tuple
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.storage.input_files import go_to, open_decompressed
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.arrow_types import fits, type_name

BLOCK_BYTES = 4 << 20
MOST_THREADS = 4
"""The largest number of threads that parse blocks of one file."""

Format = Literal["csv", "line", "jsonl", "parquet", "arrow", "splCsv", "splTxt", "block", "bin"]


@dataclass(frozen=True)
class SourceFile:
    """A file and the settings for reading it."""

    path: File
    format: Format
    schema: pa.Schema
    dialect: CsvDialect
    has_header_line: bool
    permissive: bool
    """True if malformed rows are set aside."""
    options: RowOptions = field(default_factory=RowOptions)

    def check(self) -> None:
        """Check that the format can represent the attributes, and that a CSV, Parquet or Arrow file has them.

        Types are compared in Parquet and Arrow only. A CSV file without a header line must have as many columns in its
        first line as there are attributes; if malformed rows are set aside, it is not read.

        Raises:
            ValueError: an attribute cannot be represented, is missing, occurs twice or has another type, or the file is
                damaged.
            OSError, StorageError: the file cannot be read.
        """
        self.check_schema()
        if self.format in ("parquet", "arrow"):
            _check_columnar(self.path, self.format, self.schema)
        elif self.format == "csv":
            _check_csv(self._csv, self.schema, first_row=not self.permissive)

    def check_schema(self) -> None:
        """Raise ValueError if the format cannot represent the output stream's attributes, or SPL types are wrong."""
        if self.format == "line" and (len(self.schema) != 1 or not pa.types.is_string(self.schema.field(0).type)):
            message = "format line: the output stream must have exactly one string attribute"
            raise ValueError(message)
        if self.format == "jsonl":
            check_json_schema(self.schema, "jsonl")
        if self.format == "csv":
            check_csv_schema(self.schema)
        if self.format in SPL_FORMATS:
            spl_tuple(self.schema, self.options.required, self.format, self.options.types)
        if self.format == "bin":
            check_binary(binary_tuple(self.schema, self.options.types))
        if self.format == "block" and (len(self.schema) != 1 or not pa.types.is_binary(self.schema.field(0).type)):
            message = "format block: the output stream must have exactly one binary attribute"
            raise ValueError(message)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all tuples without reading ahead.

        Malformed rows are left out if `permissive`, except in the formats `csv` and `bin`.

        Raises:
            DataError: the file is damaged, or has a malformed row that is not left out.
            OSError, StorageError: the file cannot be opened.
        """
        if self.format == "csv":
            blocks = CsvBlocks(self._csv, self.schema)
            return (blocks.parse(piece).batch for piece in blocks.pieces())
        return (rows.batch for rows in self._rows(BEGIN))

    def rows(self, background: Background, start: FilePosition = BEGIN) -> ReadAhead[FileRows]:
        """Yield all rows from a position on, in order, reading ahead in the background.

        Up to `MOST_THREADS` threads parse a CSV file whose malformed rows are an error.

        Raises:
            DataError: the file is damaged or ends before the position, or has a malformed row and `permissive` is
                false or the format is `bin`; the message names the place.
            OSError, StorageError: the file cannot be opened.
        """
        if self.format == "csv" and not self.permissive:
            blocks = CsvBlocks(self._csv, self.schema)
            threads = min(os.cpu_count() or 1, MOST_THREADS)
            return ReadAhead(background, blocks.pieces(start.number), blocks.parse, _size, threads=threads)
        return ReadAhead(background, self._rows(start), lambda rows: rows, _size)

    def _rows(self, start: FilePosition) -> Iterator[FileRows]:
        match self.format:
            case "csv":
                return TolerantCsvFile(self._csv, self.schema).read(start)
            case "line" if self.options == RowOptions():
                return self._lines(start)
            case "line" | "splCsv" | "splTxt":
                return read_rows(
                    self.path, self.format, self.schema, self.dialect, self.options, start, permissive=self.permissive
                )
            case "block":
                return read_blocks(self.path, self.schema, self.options, start)
            case "bin":
                return read_binary(self.path, self.schema, self.options, start)
            case "jsonl":
                return read_json_lines(self.path, self.schema, start, permissive=self.permissive)
            case _:
                return read_columnar(self.path, self.format, self.schema, start, permissive=self.permissive)

    @property
    def _csv(self) -> CsvFile:
        return CsvFile(self.path, self.dialect, self.has_header_line)

    def _lines(self, start: FilePosition) -> Iterator[FileRows]:
        with open_decompressed(self.path) as file:
            go_to(file, self.path, start.number)
            while lines := file.readlines(BLOCK_BYTES):
                texts: list[str] = []
                malformed: list[Malformed] = []
                for position, line in enumerate(lines):
                    try:
                        texts.append(line.removesuffix(b"\n").removesuffix(b"\r").decode())
                    except UnicodeDecodeError:
                        place, reason = start.line + position, utf8_fault(line)
                        if not self.permissive:
                            message = f"{self.path}, line {place}: {reason}"
                            raise DataError(message) from None
                        text = line.decode(errors="replace").rstrip("\r\n")
                        malformed.append(Malformed(position, place, "", reason, text))
                batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], schema=self.schema)
                yield FileRows(batch, tuple(malformed), start)
                start = FilePosition(start.number + sum(map(len, lines)), start.line + len(lines))


def _size(rows: FileRows) -> int:
    return rows.batch.nbytes + sum(len(row.text) for row in rows.malformed)


def _check_csv(file: CsvFile, schema: pa.Schema, *, first_row: bool) -> None:
    if not file.has_header_line and not first_row:
        return
    names = file.first_line()
    if file.has_header_line:
        if not names:
            message = f"{file.path}: the file is empty; its first line must have the column names"
            raise ValueError(message)
        _check_columns(file.path, names, schema)
    elif names and len(names) != len(schema):
        message = (
            f"{file.path}: line 1 has {len(names)} columns, but the output stream has {len(schema)} attributes; give "
            "the stream an attribute for each column"
        )
        raise ValueError(message)


def _check_columnar(path: File, format: ColumnarFormat, schema: pa.Schema) -> None:
    there = columnar_schema(path, format)
    _check_columns(path, there.names, schema)
    for wanted in schema:
        if not fits(there.field(wanted.name).type, wanted.type):
            message = (
                f"{path}: column {wanted.name} is {type_name(there.field(wanted.name).type)}, "
                f"but the attribute is {type_name(wanted.type)}"
            )
            raise ValueError(message)


def _check_columns(path: File, names: list[str], schema: pa.Schema) -> None:
    for name in schema.names:
        if name not in names:
            message = f"{path}: the file has no column {name}{nearest(name, names)}"
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"{path}: the file has {names.count(name)} columns {name}"
            raise ValueError(message)
