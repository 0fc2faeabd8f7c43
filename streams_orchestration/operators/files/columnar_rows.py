"""Rows of Parquet and Arrow files as tuples. A row with a value that does not fit is set aside, or is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.rows import FilePosition, FileRows, Malformed, parse_by_halves
from streams_orchestration.operators.formats.checks import UnfitValueError, check_nulls, check_values
from streams_orchestration.operators.formats.misfits import form_of
from streams_orchestration.operators.loading.libraries import pa, pq
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

ColumnarFormat = Literal["parquet", "arrow"]
_LONGEST = 4096
"""The number of characters that are kept of a malformed row."""


def read_columnar(
    path: File, format: ColumnarFormat, schema: pa.Schema, start: FilePosition, *, permissive: bool
) -> Iterator[FileRows]:
    """Yield the rows of a file, beginning with a given row group (Parquet) or record batch (Arrow).

    Args:
        path: the path of the file.
        format: the format of the file.
        schema: the schema of the tuples.
        start: the number of the first group, and the number of its first row within the file.
        permissive: set aside rows that do not fit. Their `line` is the number of the row, and their text is JSON of at
            most `_LONGEST` characters.

    Raises:
        DataError: the file is damaged, cannot be read or lacks a column, or a row does not fit and `permissive` is
            false; the message names the place.
    """
    place = "at its end"
    try:
        for number, count, pieces in _groups(path, format, schema.names, start.number):
            unit = "row group" if format == "parquet" else "record batch"
            place = f"{unit} {number + 1} of {count}"
            begin, line = FilePosition(number, start.line), start.line
            for piece in pieces:
                batch, misfits = _sifted(piece.select(schema.names), schema)
                if misfits and not permissive:
                    first = misfits[0]
                    raise UnfitValueError(line - begin.line + first.position, first.column, first.reason)
                rows = tuple(each._replace(line=line + each.position) for each in misfits)
                yield FileRows(batch, rows, begin if line == begin.line else None)
                line += piece.num_rows
            start = FilePosition(number + 1, line)
    except UnfitValueError as error:
        message = f"{path}, {place}, {error}"
        raise DataError(message) from None
    except (pa.ArrowInvalid, KeyError, OSError, DataError) as error:
        message = f"{path}, {place}: {error}"
        raise DataError(message) from error


def columnar_schema(path: File, format: ColumnarFormat) -> pa.Schema:
    """Return the columns of a file.

    Raises:
        ValueError: the file is not of the format.
        OSError, StorageError: the file cannot be read.
    """
    try:
        source = _source(path)
        return pq.read_schema(source) if format == "parquet" else pa.ipc.open_file(source).schema
    except pa.ArrowInvalid as error:
        message = f"{path}: not {'a Parquet' if format == 'parquet' else 'an Arrow IPC'} file: {error}"
        raise ValueError(message) from error


def _groups(
    path: File, format: ColumnarFormat, names: list[str], first: int
) -> Iterator[tuple[int, int, Iterator[pa.RecordBatch]]]:
    """Yield for each group, from number `first` on, its number, the number of all groups, and the group's rows.

    The rows have at least the columns `names`.
    """
    if format == "parquet":
        with pq.ParquetFile(_source(path)) as file:
            for number in range(first, file.num_row_groups):
                rows = file.iter_batches(row_groups=[number], columns=names, use_threads=False)
                yield number, file.num_row_groups, rows
        return
    source = pa.memory_map(str(path)) if isinstance(path, Path) else _source(path)
    with source, pa.ipc.open_file(source) as file:
        for number in range(first, file.num_record_batches):
            yield number, file.num_record_batches, map(file.get_batch, (number,))


def _sifted(batch: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.RecordBatch, list[Malformed]]:
    """Return the rows that fit as tuples, and the misfits. The `line` of misfits is 0."""
    errors: dict[int, Exception] = {}
    every = range(batch.num_rows)
    good = parse_by_halves(every, lambda rows: _tuples(_copied(batch, rows), schema), errors)
    wrong = [(row, _copied(batch, every[row : row + 1]), errors[row]) for row in sorted(errors)]
    misfits = [Malformed(row, 0, *_reason(part, schema, error), _text(part)) for row, part, error in wrong]
    return pa.concat_batches(good) if good else pa.RecordBatch.from_pylist([], schema=schema), misfits


def _copied(batch: pa.RecordBatch, rows: range) -> pa.RecordBatch:
    """Return a copy of some rows; the batch itself for all of them.

    A slice would not do, since validating it also validates the rows around it.
    """
    if len(rows) == batch.num_rows:
        return batch
    return pa.concat_batches([batch.slice(rows.start, len(rows)), batch.slice(0, 0)])


def _tuples(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    check_values(batch)
    tuples = TupleBatch.from_columns(dict(zip(batch.schema.names, batch.columns, strict=True)), schema).arrow
    check_nulls(tuples)
    return tuples


def _reason(row: pa.RecordBatch, schema: pa.Schema, error: Exception) -> tuple[str, str]:
    """Return the column because of which a row does not fit, empty if no single one is at fault, and the reason."""
    if isinstance(error, UnfitValueError):
        return error.column, error.reason
    for field in schema:
        column = row.column(field.name)
        try:
            TupleBatch.from_columns({field.name: column}, pa.schema([field]))
        except (pa.ArrowInvalid, DataError):
            value = column[0].as_py()
            form = form_of(str(value), field.type)
            return field.name, f"{shortened(str(value))} is not a valid {type_name(field.type)}{form}"
    return "", " ".join(str(error).split())


def _text(row: pa.RecordBatch) -> str:
    """Return the first `_LONGEST` characters of a row as a JSON object, in which invalid UTF-8 is replaced."""
    values: dict[str, Any] = {}
    for name, column in zip(row.schema.names, row.columns, strict=True):
        try:
            values[name] = column[0].as_py()
        except UnicodeDecodeError as error:
            values[name] = bytes(error.object).decode(errors="replace")
    return json.dumps(values, default=str, ensure_ascii=False)[:_LONGEST]


def _source(path: File) -> Any:
    """Return a file as Arrow reads it: the path of a local file; another file is opened."""
    return path if isinstance(path, Path) else pa.PythonFile(path.open("rb"), mode="r")
