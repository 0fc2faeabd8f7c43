"""CSV files as record batches, with errors that name the line and the column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.checks import UnfitValueError
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.csv_reading import (
    convert_options,
    has_infinite,
    parse_options,
    reader_options,
    taken,
    texts_apart,
)
from streams_orchestration.operators.formats.misfits import csv_fault, text_misfit
from streams_orchestration.operators.loading.libraries import pa, pa_csv
from streams_orchestration.operators.storage.input_files import open_decompressed
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.arrow_types import wanted_row

BLOCK_BYTES = 8 << 20
MAXIMUM_BLOCK_BYTES = 256 << 20
"""The largest block in bytes, and so the longest row: an unpaired quote joins the rest of the file into one row."""


@dataclass(frozen=True)
class CsvFile:
    """One CSV file. Columns are found by name if there is a header line, otherwise by position.

    Methods raise OSError or StorageError if the file cannot be opened.
    """

    path: File
    dialect: CsvDialect
    has_header_line: bool
    block_bytes: int = field(default_factory=lambda: BLOCK_BYTES)

    def first_line(self) -> list[str]:
        """Return the values in the first line, or in the lines that a quoted value joins with it.

        There are none for a blank or missing line.

        Raises:
            DataError: the file is damaged, or the line is not CSV.
        """
        return self._first_line()[0]

    def header(self, schema: pa.Schema) -> tuple[list[str] | None, int]:
        """Return the column names and the byte offset of the first row.

        Without a header line, `schema` gives the names. They are None if the header is not one plain line with
        a line feed, or lacks an attribute of `schema`.

        Raises:
            DataError: the file is damaged, or the first line is not CSV.
        """
        if not self.has_header_line:
            return schema.names, 0
        names, line = self._first_line()
        plain = names and line.endswith(b"\n") and b"\r" not in line.removesuffix(b"\n").removesuffix(b"\r")
        return (names if plain and set(schema.names) <= set(names) else None), len(line)

    def _first_line(self) -> tuple[list[str], bytes]:
        with open_decompressed(self.path) as file:
            line = file.readline()
            while (
                self.dialect.quoted and line.count(b'"') % 2 and len(line) < BLOCK_BYTES and (more := file.readline())
            ):
                line += more
        if not line.strip():
            return [], line
        try:
            ended = pa.py_buffer(line if line.endswith(b"\n") else line + b"\n")
            return pa_csv.read_csv(ended, parse_options=parse_options(self.dialect)).column_names, line
        except pa.ArrowInvalid as error:
            message = f"{self.path}, line 1: {error}"
            raise DataError(message) from error

    def read(self, schema: pa.Schema, names: list[str] | None = None, begin: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, as attributes of `schema`. A row longer than a block is read again in larger blocks.

        Args:
            schema: the schema of the tuples.
            names: the column names; None takes the names of the header line, or of `schema` without one.
            begin: the byte offset of the first row; after the header if `names` is given.

        Raises:
            DataError: the file is damaged or lacks its header or a column, or a row does not fit or is longer than
                `MAXIMUM_BLOCK_BYTES`. For a row that does not fit, the message names the line and the column.
        """
        done, block = 0, self.block_bytes
        while True:
            try:
                for batch in self._blocks(schema, names, begin, block, done):
                    done += batch.num_rows
                    yield batch
                return
            except (pa.ArrowInvalid, pa.ArrowKeyError, UnfitValueError) as error:
                if "Empty CSV" in str(error) and (names is not None or not self.has_header_line or self.first_line()):
                    return
                if "straddl" not in str(error):
                    raise DataError(self.explained(schema, error)) from error
                if block >= MAXIMUM_BLOCK_BYTES:
                    size = f"{block >> 20} MiB"
                    message = f"{self.path}: the row after row {done} is longer than {size}; is a quote missing?"
                    raise DataError(message) from error
                block = min(block * 16, MAXIMUM_BLOCK_BYTES)

    def _blocks(
        self, schema: pa.Schema, names: list[str] | None, begin: int, block: int, skip: int
    ) -> Iterator[pa.RecordBatch]:
        names = schema.names if names is None and not self.has_header_line else names
        options = pa_csv.ReadOptions(use_threads=False, block_size=block, column_names=names)
        checked = False
        with ExitStack() as open_files:

            def reader(part: pa.Schema, *, null_in_quotes: bool) -> Iterator[pa.RecordBatch]:
                file = open_files.enter_context(open_decompressed(self.path))
                file.seek(begin)
                convert = convert_options(self.dialect, part, null_in_quotes=null_in_quotes)
                return open_files.enter_context(pa_csv.open_csv(file, options, parse_options(self.dialect), convert))

            # an unquoted text may be null but a quoted one may not; other types may be null either way: two readers,
            # same blocks
            texts, others = texts_apart(schema)
            apart = [reader(part, null_in_quotes=part is others) for part in (texts, others) if len(part)]
            for batches in zip(*apart, strict=True):
                named = zip(
                    (name for each in batches for name in each.schema.names),
                    (column for each in batches for column in each.columns),
                    strict=True,
                )
                batch = taken(dict(named), schema)
                if not checked and has_infinite(batch):
                    checked = True
                    self._refuse_overflow(schema)
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(skip - batch.num_rows, 0)

    def _refuse_overflow(self, schema: pa.Schema) -> None:
        """Raise DataError if a row does not fit, for example because a number is out of range."""
        if "cannot be read as CSV" not in (place := self._place(schema, ValueError())):
            message = f"{self.path}: {place}"
            raise DataError(message)

    def explained(self, schema: pa.Schema, error: Exception) -> str:
        """Return a message with the file and the first fault that reading it again finds, else with Arrow's error.

        Raises:
            DataError: the file is damaged.
        """
        return f"{self.path}: {self._place(schema, error)}"

    def _place(self, schema: pa.Schema, error: Exception) -> str:
        """Read the file again up to its first fault, and return that with its line and column.

        If no fault is found, Arrow's error is returned.
        """
        with open_decompressed(self.path) as raw:
            text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
            rows = csv.reader(text, **reader_options(self.dialect))
            try:
                header = next(rows, []) if self.has_header_line else schema.names
                missing = next((name for name in schema.names if name not in header), None)
                if missing is not None:
                    return (
                        f"the file has no column {missing}"
                        if header
                        else "the file is empty; it must begin with a header"
                    )
                positions = [(header.index(column.name), column) for column in schema]
                for row in rows:
                    if row and len(row) != len(header):
                        return f"line {rows.line_num}: {len(row)} columns, but {len(header)} are expected"
                    for position, column in positions if row else ():
                        if reason := text_misfit(row[position], column.type, self.dialect.null_texts):
                            return f"line {rows.line_num}, column {column.name}: {reason}; {wanted_row(schema)}"
            except csv.Error as malformed:
                return f"line {rows.line_num}: {csv_fault(malformed)}"
        return f"it cannot be read as CSV: {' '.join(str(error).split())}"
