"""Data files of lake tables: Parquet files that are added to a table unchanged.

A task writes them, or small Arrow files that the delivery merges to such files.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import PendingFile
from streams_orchestration.operators.files.part_formats import portions
from streams_orchestration.operators.files.partitions import partitioned
from streams_orchestration.operators.loading.libraries import pa, pq
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import (
    WaitingFileError,
    altered,
    content_of,
    read_batches,
    write_tuples,
)
from streams_orchestration.operators.storage.durable_files import checksum_of, durable, link_or_copy

SMALL_BYTES = 16 << 20
"""If tuples have fewer bytes than this, they wait as an Arrow file, and later share a data file with other tuples of
their epoch and partition."""
GROUP_BYTES = 32 << 20
"""Size in bytes of the tuples that are written as one row group, without partitions."""
MERGED_BYTES = 256 << 20
"""Approximate bytes of tuples that become one data file."""
ENCODING: dict[str, Any] = {"store_decimal_as_integer": True}
"""Parquet options of data files."""
LONGEST_TEXT = 64
"""The longest text in characters that is kept as a minimum or maximum in a file's statistics."""


class DataFile(NamedTuple):
    """A file that is to be added to a table."""

    path: Path
    """The path of the file on this machine."""
    directory: str
    """The partition directory, as Hive names it; empty without partitions."""
    name: str
    """The file's name in the table: the same in every repetition of a delivery, otherwise unique."""
    checksum: int | None = None
    """The CRC-32 of a waiting file; None for a file that was merged now, or if it is not known."""

    @property
    def place(self) -> str:
        """The file's path within the table."""
        return f"{self.directory}/{self.name}" if self.directory else self.name


class DataFileWriter:
    """Writes the tuples of a micro-batch to data files. A few tuples go to a small file that is merged later.

    Without partitions, row groups are written as tuples arrive; with partitions, everything is written at the end.

    Args:
        into: the directory for the files.
        partition_by: the columns whose values name directories.
        whole: keep the partition columns in the files.
    """

    def __init__(self, into: Path, partition_by: Sequence[str], *, whole: bool) -> None:
        self._into, self._partition_by, self._whole = into, partition_by, whole
        self._kept: list[pa.RecordBatch] = []
        self._open: _OpenFile | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add tuples, whose attributes are named as the table's columns.

        Without partitions, write a row group once `GROUP_BYTES` wait.

        Raises:
            OSError: the file cannot be written.
        """
        self._kept.append(batch)
        if not self._partition_by and sum(each.nbytes for each in self._kept) >= GROUP_BYTES:
            self._open = self._open or _OpenFile(self._into, batch.schema)
            self._open.write(self._take_kept())

    def finish(self) -> tuple[PendingFile, ...]:
        """Write the tuples that wait, and return all files; none without tuples.

        The framework flushes them to disk with the commit.

        Raises:
            DataError: a value is too long to name a partition directory.
            OSError: a file cannot be written.
        """
        if self._open is not None:
            done = self._open
            self._open = None
            return (done.finish(self._take_kept() if self._kept else None),)
        if not self._kept:
            return ()
        table = self._take_kept()
        named = self._partition_by
        parts = partitioned(table, named, keep=self._whole) if named else [("", table)]
        return tuple(_written(self._into / directory, part) for directory, part in parts)

    def _take_kept(self) -> pa.Table:
        table = pa.Table.from_batches(self._kept)
        self._kept = []
        return table


class _OpenFile:
    """A data file that is created, with its directory, and is being written."""

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path, self._rows = directory / f"{world.new_id()}.parquet", 0
        self._end = ExitStack()
        file = self._end.enter_context(durable(self._path, synced=False))
        self._writer = self._end.enter_context(pq.ParquetWriter(file, schema, **ENCODING))

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)
        self._rows += table.num_rows

    def finish(self, rest: pa.Table | None) -> PendingFile:
        if rest is not None:
            self.write(rest)
        self._end.close()
        return PendingFile(self._path, None, self._rows, self._path.stat().st_size)


def _written(directory: Path, table: pa.Table) -> PendingFile:
    if table.nbytes >= SMALL_BYTES:
        return _OpenFile(directory, table.schema).finish(table)
    return write_tuples(directory, table)


@contextmanager
def gathered(
    key: DeliveryKey, files: Sequence[Path], waiting: Path, scratch: Path, checksums: Mapping[Path, int]
) -> Iterator[list[DataFile]]:
    """Yield the data files of an epoch, after merging the small files of each partition.

    Args:
        key: the key of the delivery.
        files: the files that `DataFileWriter` wrote.
        waiting: the directory that contains them.
        scratch: a directory for merged files, which are removed when the block ends.
        checksums: the CRC-32 of the files; a file that it lacks is not checked.

    Raises:
        WaitingFileError: a file cannot be read, or was altered.
        OSError: a merged file cannot be written.
    """
    own = scratch / world.new_id()
    try:
        yield list(_gathered(key, files, waiting, own, checksums))
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _gathered(
    key: DeliveryKey, files: Sequence[Path], waiting: Path, scratch: Path, checksums: Mapping[Path, int]
) -> Iterator[DataFile]:
    ordered = sorted(files, key=lambda path: path.parent)
    for directory, group in itertools.groupby(ordered, key=lambda path: path.parent):
        place = "" if directory == waiting else directory.relative_to(waiting).as_posix()
        small = []
        for path in group:
            if path.suffix == ".arrow":
                small.append(path)
            else:
                yield DataFile(path, place, _name(key, path.stem), checksums.get(path))
        tables = (_read_arrow(path, checksums.get(path)) for path in small)
        for number, part in enumerate(portions(tables, MERGED_BYTES)):
            yield _write_merged(key, number, part, place, scratch)


def _read_arrow(path: Path, checksum: int | None) -> pa.Table:
    return pa.Table.from_batches([batch.arrow for batch in read_batches(path, checksum)])


def _write_merged(key: DeliveryKey, number: int, tuples: pa.Table, place: str, scratch: Path) -> DataFile:
    """Write tuples to a file with a random name in the scratch directory, and return it with its name in the table.

    The delivery, the file's number and its content determine the name in the table. So a repeated delivery gives the
    same bytes the same name, and a name always refers to the same bytes.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    path = scratch / f"{world.new_id()}.parquet"
    with durable(path) as file:
        pq.write_table(tuples, file, **ENCODING)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "blake2b")
    digest.update("/".join(map(str, (*key, number))).encode())
    return DataFile(path, place, _name(key, digest.hexdigest()[:32]))


def _name(key: DeliveryKey, unique: str) -> str:
    return f"part-{key.epoch:06d}-{max(key.channel, 0):03d}-{unique}.parquet"


def read_data_files(files: Sequence[DataFile]) -> list[tuple[DataFile, pa.Table]]:
    """Return the tuples of files, without the partition columns that only their directories contain.

    Raises:
        WaitingFileError: a file cannot be read, or was altered.
    """
    return [(file, _table(file)) for file in files]


def _table(file: DataFile) -> pa.Table:
    data = content_of(file.path, file.checksum)
    try:
        return pq.ParquetFile(pa.BufferReader(data)).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise WaitingFileError(file.path) from error


def require_unaltered(files: Sequence[DataFile]) -> None:
    """Check waiting files again, after the last time they were read and before the commit that adds them.

    A file without a checksum passes.

    Raises:
        WaitingFileError: a file cannot be read, or was altered.
    """
    for file in files:
        try:
            is_same = file.checksum is None or checksum_of(file.path) == file.checksum
        except OSError as error:
            raise WaitingFileError(file.path) from error
        if not is_same:
            raise altered(file.path)


def opened(path: Path) -> IO[bytes]:
    """Open a waiting file. Raise WaitingFileError if it cannot be opened."""
    try:
        return path.open("rb")
    except OSError as error:
        raise WaitingFileError(path) from error


def bring_in(source: Path, target: Path) -> None:
    """Link a waiting file to its name in the table, and create the directory. Copy it to another file system.

    A file of this name is the same file, since names are never reused.

    Raises:
        WaitingFileError: the waiting file does not exist.
        OSError: the file cannot be linked or copied.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        link_or_copy(source, target)
    except FileExistsError:
        return
    except FileNotFoundError as error:
        raise WaitingFileError(source) from error


class Statistics(NamedTuple):
    """Column statistics of a file, by which readers skip files.

    `least`, `largest` and `nulls` map columns to their smallest and largest values and their numbers of nulls. Columns
    for which the file does not have them are left out.
    """

    rows: int
    least: dict[str, Any]
    largest: dict[str, Any]
    nulls: dict[str, int]


def statistics_of(path: Path) -> Statistics:
    """Return the statistics of the non-nested columns that the file's footer has, as values for JSON.

    Raises:
        WaitingFileError: the file cannot be read.
    """
    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise WaitingFileError(path) from error
    statistics = Statistics(metadata.num_rows, {}, {}, {})
    for position in range(metadata.num_columns):
        chunks = [metadata.row_group(group).column(position) for group in range(metadata.num_row_groups)]
        if chunks and "." not in chunks[0].path_in_schema and all(chunk.statistics is not None for chunk in chunks):
            _add_column(statistics, chunks[0].path_in_schema, [chunk.statistics for chunk in chunks])
    return statistics


def _add_column(statistics: Statistics, name: str, chunks: Sequence[Any]) -> None:
    if all(chunk.has_null_count for chunk in chunks):
        statistics.nulls[name] = sum(chunk.null_count for chunk in chunks)
    known = [chunk for chunk in chunks if chunk.has_min_max]
    if not known or any(not chunk.has_min_max and chunk.num_values for chunk in chunks):
        return
    least = _plain(min(chunk.min for chunk in known))
    largest = _plain(max(chunk.max for chunk in known))
    if least is not None and largest is not None:
        statistics.least[name], statistics.largest[name] = least, largest


def _plain(value: Any) -> Any:
    """Return a minimum or maximum as a JSON value; None if JSON statistics cannot represent it.

    This holds for numbers that are not finite, decimals, Booleans, bytes, and texts longer than `LONGEST_TEXT`.
    """
    match value:
        case bool() | bytes():
            return None
        case int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value if len(value) <= LONGEST_TEXT else None
        case datetime.datetime():
            return value.replace(tzinfo=None).isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
        case datetime.date():
            return value.isoformat()
        case _:
            return None
