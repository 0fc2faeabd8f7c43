"""Rows read from a file, with the malformed rows among them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import np, pa


class FilePosition(NamedTuple):
    """A position in a file at which rows begin."""

    number: int = 0
    """The byte offset in the decompressed file, or the number of a Parquet row group or Arrow record batch."""
    line: int = 1
    """The line number from 1 in text formats; in others the row number."""


BEGIN = FilePosition()


class RawRow(NamedTuple):
    """The raw text of one row."""

    line: int
    """The number of the row's first line, from 1."""
    text: bytes


LONGEST_ROW_BYTES = 1 << 20
"""A quote without its pair within this many bytes is malformed, and the next row begins on the next line."""


class Malformed(NamedTuple):
    """A row that cannot be read as the output stream's attributes."""

    position: int
    """The row's position among all rows of its batch, malformed ones included."""
    line: int
    column: str
    """The column at fault; empty if the fault is not in a single column."""
    reason: str
    text: str


class FileRows(NamedTuple):
    """Consecutive rows of a file. Row positions also count malformed rows."""

    batch: pa.RecordBatch
    malformed: tuple[Malformed, ...] = ()
    start: FilePosition | None = None
    """The position from which these rows can be read again, or None."""
    delays: np.ndarray | None = None
    """The seconds between each tuple and the tuple before it; None if rows have no delays."""

    @property
    def size(self) -> int:
        """The number of rows, malformed ones included."""
        return self.batch.num_rows + len(self.malformed)

    def split(self, count: int) -> tuple[FileRows, FileRows]:
        """Split into the first `count` rows and the other rows, which have no `start`."""
        before = tuple(row for row in self.malformed if row.position < count)
        after = tuple(row._replace(position=row.position - count) for row in self.malformed[len(before) :])
        readable = count - len(before)
        first, rest = (None, None) if self.delays is None else (self.delays[:readable], self.delays[readable:])
        return (
            FileRows(self.batch.slice(0, readable), before, self.start, first),
            FileRows(self.batch.slice(readable), after, None, rest),
        )

    def due(self, count: int) -> int:
        """Return the number of rows before the tuple with this number, counted from 0, malformed rows included."""
        return count + sum(1 for number, row in enumerate(self.malformed) if row.position - number <= count)


def split_rows(
    text: bytes, first: int, is_row: Callable[[bytes], bool], *, quoted: bool, ended: bool
) -> tuple[list[RawRow], bytes]:
    """Split a text into rows with their line feeds, and the text of a possibly incomplete last row.

    Args:
        text: a text that begins with a row.
        first: the number of its first line.
        is_row: returns True if lines that quotes join are one row. Otherwise each of them is a row.
        quoted: a line feed between quotes does not end a row.
        ended: nothing follows, so the last row is complete.
    """
    lines = io.BytesIO(text).readlines()
    rows: list[RawRow] = []
    at = 0
    while at < len(lines) and (ended or lines[at].endswith(b"\n")):
        end = at + 1
        size = len(lines[at])
        quotes = lines[at].count(b'"') if quoted else 0
        while quotes % 2 and end < len(lines) and size < LONGEST_ROW_BYTES:
            size, quotes, end = size + len(lines[end]), quotes + lines[end].count(b'"'), end + 1
        paired = quotes % 2 == 0 and (ended or lines[end - 1].endswith(b"\n"))
        if not paired and not ended and size < LONGEST_ROW_BYTES:
            break
        if end > at + 1 and not (paired and is_row(b"".join(lines[at:end]))):
            end = at + 1
        rows.append(RawRow(first + at, b"".join(lines[at:end])))
        at = end
    return rows, b"".join(lines[at:])


def parse_leniently(
    rows: Sequence[RawRow],
    parse: Callable[[Sequence[RawRow]], pa.RecordBatch],
    suspects: Iterable[tuple[int, bool]],
    explain: Callable[[RawRow, Exception], tuple[str, str]],
    schema: pa.Schema,
) -> FileRows:
    """Parse rows, and return the readable ones and the malformed ones, without a `start`.

    Args:
        rows: the rows of the file.
        parse: parses rows; raises an Arrow error or a ValueError, or returns fewer rows, if any of them is malformed.
        suspects: positions of probably malformed rows, and whether that is certain. A hint that speeds up the search;
            the uncertain ones do not affect the result.
        explain: returns the column and the reason for a row that `parse` refused.
        schema: the schema of the tuples.
    """
    errors: dict[int, Exception] = {}
    for number, certain in suspects:
        if certain:
            errors[number] = DataError("it cannot be read")
        else:
            parse_by_halves(range(number, number + 1), lambda run: parse([rows[at] for at in run]), errors)
    left = [number for number in range(len(rows)) if number not in errors] if errors else range(len(rows))
    kept, failures = [rows[number] for number in left], dict[int, Exception]()
    batches = parse_by_halves(range(len(kept)), lambda run: parse(kept[run.start : run.stop]), failures)
    errors |= {left[number]: error for number, error in failures.items()}
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks().to_batches()
    malformed = tuple(
        _malformed(number, rows[number], explain(rows[number], errors[number])) for number in sorted(errors)
    )
    return FileRows(table[0] if table else pa.RecordBatch.from_pylist([], schema=schema), malformed)


def parse_by_halves(
    rows: range, parse: Callable[[range], pa.RecordBatch], errors: dict[int, Exception]
) -> list[pa.RecordBatch]:
    """Parse rows, and return the readable ones, in order.

    Args:
        rows: the numbers of the rows.
        parse: parses consecutive rows; raises an Arrow error or a ValueError, or returns fewer rows, if any of them is
            malformed.
        errors: gets the error of each malformed row by its number. These rows are found by bisection.
    """
    batches: list[pa.RecordBatch] = []
    pending = [rows] if rows else []
    while pending:
        part = pending.pop()
        try:
            batch = parse(part)
            if batch.num_rows == len(part):
                batches.append(batch)
                continue
            error: Exception = DataError(f"{batch.num_rows} rows in it")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, ValueError) as raised:
            error = raised
        if len(part) > 1:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
        else:
            errors[part.start] = error
    return batches


def _malformed(number: int, row: RawRow, reason: tuple[str, str]) -> Malformed:
    return Malformed(number, row.line, *reason, row.text.decode(errors="replace").rstrip("\r\n"))
