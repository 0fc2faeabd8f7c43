"""CSV files as record batches, with errors that name the line and the column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.files import open_decompressed
from streams_orchestration.operators.libraries import pa, pa_csv
from streams_orchestration.operators.misfits import csv_fault, text_misfit
from streams_orchestration.operators.storage.port import File

BLOCK_BYTES = 8 << 20
MAXIMUM_BLOCK_BYTES = 256 << 20
"""Of one block, and so of one row: an unpaired quote makes one row of the rest of the file."""


@dataclass(frozen=True)
class CsvFile:
    """One file, read by column names where it has a header, by position where it has none."""

    path: File
    separator: str
    has_header_line: bool
    block_bytes: int = field(default_factory=lambda: BLOCK_BYTES)

    def first_line(self) -> list[str]:
        """The values in the first line; none in an empty file.

        Raises:
            DataError: the file is damaged, or the line is no CSV.
        """
        return self._first_line()[0]

    def header(self, schema: pa.Schema) -> tuple[list[str] | None, int]:
        """The names of the columns, and where in the file the rows begin, in bytes; None where that is not plain.

        Raises:
            DataError: the file is damaged, or the first line is no CSV.
        """
        if not self.has_header_line:
            return schema.names, 0
        names, line = self._first_line()
        plain = names and line.endswith(b"\n") and b"\r" not in line.removesuffix(b"\n").removesuffix(b"\r")
        return (names if plain and set(schema.names) <= set(names) else None), len(line)

    def _first_line(self) -> tuple[list[str], bytes]:
        with open_decompressed(self.path) as file:
            line = file.readline()
            while line.count(b'"') % 2 and len(line) < BLOCK_BYTES and (more := file.readline()):
                line += more
        if not line.strip():
            return [], line
        try:
            ended = pa.py_buffer(line if line.endswith(b"\n") else line + b"\n")
            return pa_csv.read_csv(ended, parse_options=self.parse_options()).column_names, line
        except pa.ArrowInvalid as error:
            message = f"{self.path}, line 1: {error}"
            raise DataError(message) from error

    def read(self, schema: pa.Schema, names: list[str] | None = None, begin: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows, as attributes of `schema`, in one go.

        Args:
            schema: of the tuples.
            names: of the columns; those of the header when None.
            begin: byte of the file where the rows begin, after the header if there are names.

        Raises:
            DataError: a row does not fit; names the line and the column.
        """
        done, block = 0, self.block_bytes
        while True:
            try:
                for batch in self._blocks(schema, names, begin, block, done):
                    done += batch.num_rows
                    yield batch
                return
            except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
                if "Empty CSV" in str(error) and (names is not None or not self.has_header_line or self.first_line()):
                    return
                if "straddl" not in str(error):
                    raise DataError(self.explained(schema, error)) from error
                if block >= MAXIMUM_BLOCK_BYTES:
                    size = f"{block >> 20} MiB"
                    message = f"{self.path}: the row behind row {done} is longer than {size}; is a quote missing?"
                    raise DataError(message) from error
                block = min(block * 16, MAXIMUM_BLOCK_BYTES)

    def _blocks(
        self, schema: pa.Schema, names: list[str] | None, begin: int, block: int, skip: int
    ) -> Iterator[pa.RecordBatch]:
        names = schema.names if names is None and not self.has_header_line else names
        options = self.options(schema, names, block)
        with open_decompressed(self.path) as file:
            file.seek(begin)
            with pa_csv.open_csv(file, **options) as reader:
                for batch in reader:
                    if skip < batch.num_rows:
                        yield batch.slice(skip)
                    skip = max(skip - batch.num_rows, 0)

    def options(self, schema: pa.Schema, names: list[str] | None, block: int) -> dict[str, Any]:
        """How Arrow reads the attributes of `schema`, in blocks of so many bytes."""
        return {
            "read_options": pa_csv.ReadOptions(use_threads=False, block_size=block, column_names=names),
            "parse_options": self.parse_options(),
            "convert_options": pa_csv.ConvertOptions(
                column_types=schema, include_columns=schema.names, strings_can_be_null=True
            ),
        }

    def parse_options(self) -> pa_csv.ParseOptions:
        """How Arrow tells rows and values apart."""
        # without newlines_in_values a block may end within quotes
        return pa_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)

    def explained(self, schema: pa.Schema, error: Exception) -> str:
        """What Arrow says of the file, with the place in it."""
        return f"{self.path}: {self._place(schema, error)}"

    def _place(self, schema: pa.Schema, error: Exception) -> str:
        """The error with the line it is about, by reading again, as text, to the first row that does not fit."""
        with open_decompressed(self.path) as raw:
            text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
            rows = csv.reader(text, delimiter=self.separator)
            try:
                header = next(rows, []) if self.has_header_line else schema.names
                missing = next((name for name in schema.names if name not in header), None)
                if missing is not None:
                    return f"the file has no column {missing}" if header else "the file is empty, a header is wanted"
                positions = [(header.index(field.name), field) for field in schema]
                for row in rows:
                    if row and len(row) != len(header):
                        return f"line {rows.line_num}: {len(row)} columns, {len(header)} are wanted"
                    for position, field in positions if row else ():
                        if reason := text_misfit(row[position], field.type):
                            return f"line {rows.line_num}, column {field.name}: {reason}"
            except csv.Error as malformed:
                return f"line {rows.line_num}: {csv_fault(malformed)}"
        return f"it cannot be read as CSV: {' '.join(str(error).split())}"
