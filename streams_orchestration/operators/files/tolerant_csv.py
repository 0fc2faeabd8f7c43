"""CSV files whose malformed rows are set aside. Good blocks are parsed whole, others row by row."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.files.rows import (
    BEGIN,
    FilePosition,
    FileRows,
    RawRow,
    parse_leniently,
    split_rows,
)
from streams_orchestration.operators.formats.checks import NULL, UnfitValueError
from streams_orchestration.operators.formats.csv_reading import read_rows, reader_options
from streams_orchestration.operators.formats.misfits import csv_fault, text_misfit
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.storage.input_files import go_to, open_decompressed
from streams_orchestration.operators.tuples.arrow_types import required_fields

SMALL_BYTES = 1 << 16
"""Blocks up to this size in bytes are parsed row by row to find malformed rows; larger ones are halved first."""
HEADER_BYTES = 1 << 16
"""The number of bytes that are searched for the header first."""


@dataclass(frozen=True)
class TolerantCsvFile:
    """Reads one file. Row boundaries depend only on the file's content, so a replay finds the same rows."""

    file: CsvFile
    schema: pa.Schema

    def read(self, start: FilePosition = BEGIN) -> Iterator[FileRows]:
        """Yield the rows in order, from the first one or from a position that an earlier read returned.

        Malformed rows are set aside.

        Raises:
            DataError: the file is damaged, ends before `start`, is empty but should have a header, or lacks a column.
            OSError, StorageError: the file cannot be opened.
        """
        with open_decompressed(self.file.path) as file:
            names, (place, line) = self._begin(file)
            if start != BEGIN:
                place, line = start
            go_to(file, self.file.path, place)
            rest, ended = b"", False
            while not ended:
                data = file.read(self.file.block_bytes)
                text, ended = rest + data, not data
                end = len(text) if ended else text.rfind(b"\n") + 1
                whole = text[:end]
                if self._is_paired(whole):
                    rest = text[end:]
                    for part, piece in self._parts(whole, line, names):
                        yield piece._replace(start=FilePosition(place, line))
                        place, line = place + len(part), line + part.count(b"\n")
                else:
                    rows, rest = self._raw_rows(text, line, ended=ended)
                    yield self._sifted(rows, names)._replace(start=FilePosition(place, line))
                    place += len(text) - len(rest)
                    line += text.count(b"\n") - rest.count(b"\n")

    def _begin(self, file: IO[bytes]) -> tuple[list[str], FilePosition]:
        """Return the column names, and the position of the first row after the header and the byte order mark.

        Without a header line, the schema gives the names.
        """
        text = file.read(HEADER_BYTES)
        mark = len(BOM_UTF8) if text.startswith(BOM_UTF8) else 0
        if not self.file.has_header_line:
            return self.schema.names, FilePosition(mark)
        ended = False
        while not (rows := self._raw_rows(text[mark:], 1, ended=ended)[0]) and not ended:
            data = file.read(self.file.block_bytes)
            text, ended = text + data, not data
        header = rows[0] if rows else RawRow(1, b"")
        begin = text.find(header.text, mark) + len(header.text)
        return self._header(header), FilePosition(begin, 1 + text[:begin].count(b"\n"))

    def _is_paired(self, text: bytes) -> bool:
        """Return True if quotes enclose whole values only, so that the text certainly ends with a row."""
        if not self._quotes(text):
            return True
        separator = re.escape(self.file.dialect.separator.encode())
        value = rb'(?:"[^"]*+(?:""[^"]*+)*+"\r?+|[^"\n' + separator + rb"]*+)"
        return re.fullmatch(rb"(?:" + value + rb"(?:\n|" + separator + rb"))*+" + value, text) is not None

    def _header(self, row: RawRow) -> list[str]:
        names = next(csv.reader([_text(row)], **reader_options(self.file.dialect)), [])
        if not names:
            message = f"{self.file.path}: the file is empty; it must begin with a header"
            raise DataError(message)
        for name in self.schema.names:
            if name not in names:
                message = f"{self.file.path}: the file has no column {name}"
                raise DataError(message)
        return names

    def _parts(self, text: bytes, line: int, names: list[str]) -> Iterator[tuple[bytes, FileRows]]:
        """Yield the text in parts with their rows. A part with malformed rows is halved as far as `SMALL_BYTES`.

        It is not halved within quotes, or without a line break in its first half.
        """
        pending = [text]
        while pending:
            part = pending.pop()
            try:
                yield part, FileRows(self._parse(part, names))
            except (pa.ArrowInvalid, pa.ArrowKeyError, DataError):
                middle = part.rfind(b"\n", 0, len(part) // 2) + 1
                if len(part) > SMALL_BYTES and middle and self._quotes(part[:middle]) % 2 == 0:
                    pending += [part[middle:], part[:middle]]
                    continue
                yield part, self._sifted(self._raw_rows(part, line, ended=True)[0], names)
            line += part.count(b"\n")

    def _parse(self, text: bytes, names: list[str]) -> pa.RecordBatch:
        if not text.strip(b"\r\n"):
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        if text.startswith(BOM_UTF8):
            text = b"\n" + text  # the mark is a character here, not the beginning of a file
        return read_rows(text, names, self.schema, self.file.dialect)

    def _sifted(self, rows: Sequence[RawRow], names: list[str]) -> FileRows:
        def parse(part: Sequence[RawRow]) -> pa.RecordBatch:
            if self._quotes(part[-1].text) % 2:
                try:  # Arrow takes what follows a quote for a value, up to the end
                    next(csv.reader([_text(part[-1])], strict=True, **reader_options(self.file.dialect)), [])
                except csv.Error as error:
                    raise DataError(csv_fault(error)) from error
            return self._parse(b"".join(row.text for row in part), names)

        def explain(row: RawRow, error: Exception) -> tuple[str, str]:
            try:
                values = next(
                    csv.reader(io.StringIO(_text(row), newline=""), strict=True, **reader_options(self.file.dialect))
                )
            except csv.Error as malformed:
                return "", csv_fault(malformed)
            if len(values) != len(names):
                return "", f"{len(values)} columns, but {len(names)} are expected"
            for field in self.schema:
                if self._is_null(row, values[names.index(field.name)]) and not field.nullable:
                    return field.name, NULL
                if reason := text_misfit(values[names.index(field.name)], field.type, self.file.dialect.null_texts):
                    return field.name, reason
            if isinstance(error, UnfitValueError):
                return error.column, error.reason
            return "", f"its values do not fit the attributes: {' '.join(str(error).split())}"

        return parse_leniently(rows, parse, self._suspects(rows, names), explain, self.schema)

    def _is_null(self, row: RawRow, value: str) -> bool:
        """Return True if a value is null; False in a row with quotes, where it may be a text."""
        return value in self.file.dialect.null_texts and not self._quotes(row.text)

    def _suspects(self, rows: Sequence[RawRow], names: list[str]) -> Iterator[tuple[int, bool]]:
        """Yield the positions of probably malformed rows, and whether that is certain.

        It is certain in a row without quotes if a required value is null, a number is unreadable, or the number of
        columns is wrong and more than one is expected. Arrow decides these cases in the same way.
        """
        fields = [(field, kind) for field in self.schema if (kind := _kind(field.type))]
        checked = [(names.index(field.name), _CHECKS[kind], field.type) for field, kind in fields]
        separator = self.file.dialect.separator.encode()
        required = [names.index(name) for name in required_fields(self.schema)]
        nulls = {text.encode() for text in self.file.dialect.null_texts}
        for number, row in enumerate(rows):
            if not self._quotes(row.text):
                raw = row.text.rstrip(b"\r\n").split(separator)
                if len(raw) != len(names):
                    yield number, len(names) > 1
                    continue
                if any(raw[position] in nulls for position in required):
                    yield number, True
                    continue
                values = [(raw[position].decode(errors="replace"), check, kind) for position, check, kind in checked]
                wrong = [(text, kind) for text, check, kind in values if not check(text)]
                if wrong:
                    yield number, any(text_misfit(text, kind, self.file.dialect.null_texts) for text, kind in wrong)
                continue
            try:
                values = next(csv.reader(io.StringIO(_text(row), newline=""), **reader_options(self.file.dialect)))
            except csv.Error:
                values = []
            if len(values) != len(names) or any(not check(values[at]) for at, check, _ in checked):
                yield number, False

    def _raw_rows(self, text: bytes, line: int, *, ended: bool) -> tuple[list[RawRow], bytes]:
        """Return the rows without blank lines, and the text of a possibly incomplete last row; no such text if `ended`.

        The first line has the number `line`. If quotes join lines to more than `LONGEST_ROW_BYTES`, or to a text that
        is not one row, each line is a row.
        """
        rows, rest = split_rows(text, line, self._is_row, quoted=self.file.dialect.quoted, ended=ended)
        return [row for row in rows if row.text.strip(b"\r\n")], rest

    def _quotes(self, text: bytes) -> int:
        """Return the number of quotes in a text, or 0 if the dialect has no quotes."""
        return text.count(b'"') if self.file.dialect.quoted else 0

    def _is_row(self, text: bytes) -> bool:
        """Return True if the text is exactly one row, with quotes only where they are allowed."""
        decoded = io.StringIO(text.decode(errors="surrogateescape"), newline="")
        try:
            return len(list(csv.reader(decoded, strict=True, **reader_options(self.file.dialect)))) == 1
        except csv.Error:
            return False


def _kind(kind: pa.DataType) -> str:
    return "whole" if pa.types.is_integer(kind) else "real" if pa.types.is_floating(kind) else ""


def _is_real(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return text in ("", "null", "NULL", "NA")


_CHECKS: dict[str, Callable[[str], object]] = {"whole": re.compile(r"\s*-?\d+\s*|").fullmatch, "real": _is_real}
"""Map each kind of type to a quick check whether a text is probably a value of that type."""


def _text(row: RawRow) -> str:
    return row.text.decode(errors="surrogateescape").rstrip("\r\n")
