"""The file formats of FileSink: writes tuples to files, and merges files."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.csv_writing import csv_header, csv_rows
from streams_orchestration.operators.formats.json_writing import write_json_objects
from streams_orchestration.operators.formats.texts import write_lines
from streams_orchestration.operators.loading.libraries import pa, pq
from streams_orchestration.operators.storage.durable_files import durable

SinkFormat = Literal["parquet", "csv", "jsonl", "arrow", "splCsv", "splTxt", "line", "block", "bin"]
MERGED_BYTES = 64 << 20
"""The approximate size in bytes of the tuples that a merge holds in memory and writes as one row group."""
MAX_CONVERTED_ROWS = 65_536
"""The number of rows that are converted to text at once."""


def write_file(path: Path, format: SinkFormat, table: pa.Table, dialect: CsvDialect) -> None:
    """Write tuples to a new file. The framework flushes it to disk with the commit.

    Raises:
        DataError: the format cannot represent a value, such as a separator within a text of CSV without quotes.
        ValueError: `write_lines_file` writes the format.
        OSError: the file cannot be written.
    """
    with durable(path, synced=False) as file:
        match format:
            case "parquet":
                pq.write_table(table, file)
            case "csv":
                file.write(header_line(table.column_names, dialect))
                _write_texts(file, table, lambda text, batch: write_lines(text, csv_rows(batch, dialect)))
            case "jsonl":
                _write_texts(file, table, write_json_objects)
            case "arrow":
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
            case _:
                message = f"format {format} is written by write_lines_file"
                raise ValueError(message)


def merge_files(files: Sequence[Path], into: Path, format: SinkFormat, header: bytes) -> None:
    """Merge files of one format, in order, into a new file that is on disk when this returns.

    Args:
        files: the files to read, at least one.
        into: the new file.
        format: the format of all.
        header: the header of each text file, which is kept of the first file only.

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
                        if number:
                            source.seek(len(header))
                        shutil.copyfileobj(source, target)


def header_line(names: list[str], dialect: CsvDialect) -> bytes:
    """Return the first line of a CSV file.

    Raises:
        DataError: a name needs quotes, but the dialect has none.
    """
    return f"{csv_header(names, dialect)}\n".encode()


def _write_texts(file: IO[bytes], table: pa.Table, write: Callable[[IO[bytes], pa.RecordBatch], None]) -> None:
    """Convert tuples to text and write it, `MAX_CONVERTED_ROWS` rows at a time to limit memory.

    The text goes through a buffer, since Polars would write directly to the file with errors of its own.
    """
    for batch in table.to_batches(max_chunksize=MAX_CONVERTED_ROWS):
        text = io.BytesIO()
        write(text, batch)
        file.write(text.getbuffer())


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def _merge_tables(
    files: Sequence[Path], target: IO[bytes], read: Callable[[Path], pa.Table], begin: Callable[..., Any]
) -> None:
    """Write the tuples of one or more files in large row groups, so that the result reads like a file written once."""
    groups = (portion.combine_chunks() for portion in portions(map(read, files), MERGED_BYTES))
    first = next(groups)
    with begin(target, first.schema) as writer:
        writer.write_table(first)
        for group in groups:
            writer.write_table(group)


def portions(tables: Iterable[pa.Table], least: int) -> Iterator[pa.Table]:
    """Yield the tuples of tables, in order, in portions of at least `least` bytes, except the last."""
    gathered: list[pa.Table] = []
    for table in tables:
        gathered.append(table)
        if sum(each.nbytes for each in gathered) >= least:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)
