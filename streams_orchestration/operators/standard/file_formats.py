"""The formats of FileSink: how tuples are written to a file, and several files merged into one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from streams_orchestration.operators.durable_files import durable
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.libraries import pa, pa_csv, pq

SinkFormat = Literal["parquet", "csv", "jsonl", "arrow"]
MERGED_BYTES = 64 << 20
"""Tuples of merged files that are in memory at once, and in one group of rows."""


def write_file(path: Path, format: SinkFormat, table: pa.Table, *, separator: str, quoted: bool) -> None:
    """Write tuples to a new file, whose content the framework has on disk with the commit.

    Args:
        path: of the file.
        format: of the file.
        table: the tuples.
        separator: csv.
        quoted: csv: texts stand in quotes where they need them.

    Raises:
        DataError: csv without quotes cannot hold a text.
    """
    with durable(path, synced=False) as file:
        match format:
            case "parquet":
                pq.write_table(table, file)
            case "csv":
                _write_csv(table, file, separator, quoted=quoted)
            case "jsonl":
                import polars as pl

                pl.DataFrame(table).write_ndjson(file)
            case "arrow":
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)


def merge_files(files: Sequence[Path], into: Path, format: SinkFormat) -> None:
    """Write the tuples of several files of a format, in order, to a new one; its content is on disk when this returns.

    Raises:
        OSError: a file cannot be read or written.
        pyarrow.ArrowInvalid: a file was altered.
    """
    with durable(into) as target:
        match format:
            case "parquet":
                _merge_tables(files, target, lambda path: pq.ParquetFile(path).read(), pq.ParquetWriter)
            case "arrow":
                _merge_tables(files, target, _read_arrow, pa.ipc.new_file)
            case _:
                for number, path in enumerate(files):
                    with path.open("rb") as source:
                        if format == "csv" and number:
                            source.readline()  # the names of columns
                        shutil.copyfileobj(source, target)


def _write_csv(table: pa.Table, file: IO[bytes], separator: str, *, quoted: bool) -> None:
    options = pa_csv.WriteOptions(
        include_header=quoted, delimiter=separator, quoting_style="needed" if quoted else "none"
    )
    if not quoted:  # Arrow quotes the names of columns always
        file.write((separator.join(table.column_names) + "\n").encode())
    try:
        pa_csv.write_csv(table, file, options)
    except pa.ArrowInvalid as error:
        message = f"a text with a separator, a quote or a line break needs quoteStrings: {error}"
        raise DataError(message) from error


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def _merge_tables(
    files: Sequence[Path], target: IO[bytes], read: Callable[[Path], pa.Table], begin: Callable[..., Any]
) -> None:
    """Tuples of small files come into one group of rows, so that the file is read as one that was written at once."""
    groups = _groups(read(path) for path in files)
    first = next(groups)
    with begin(target, first.schema) as writer:
        writer.write_table(first)
        for group in groups:
            writer.write_table(group)


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    gathered: list[pa.Table] = []
    for table in tables:
        gathered.append(table)
        if sum(each.nbytes for each in gathered) >= MERGED_BYTES:
            yield pa.concat_tables(gathered).combine_chunks()
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered).combine_chunks()
