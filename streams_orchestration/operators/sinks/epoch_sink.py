"""`EpochSink`: a sink that delivers the tuples of complete epochs to an external system, under a stable key."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, PendingFile
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.undeliverable import Undeliverable, set_aside
from streams_orchestration.operators.storage.durable_files import durable
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.operators.tuples.batch import TupleBatch

MOST_TUPLES = 65_536
"""The largest number of tuples in a delivered batch. Small batches are combined, since each delivery has a cost."""


class WaitingFileError(Exception):
    """A file with tuples awaiting delivery is gone, altered or cannot be read. The cause gives the reason."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class EpochSink(Operator):
    """A sink that stores its tuples with the commits until their epoch is complete, then passes them to `deliver`.

    Every epoch with tuples is delivered in order and at least once. It is delivered again if the process crashes before
    the catalog has recorded the delivery. The receiver remembers the key, in the same transaction if possible, and
    ignores a key that it knows.

    If `deliver` raises, `streams status` shows the error and the delivery is retried after a growing pause. Nothing is
    lost. If `deliver` raises RefusedError, since the target will never take the tuples, the PE fails without a retry.
    While 32 complete epochs wait for their delivery, the region ends no further epoch. Outside of regions every batch
    is an epoch.

    `deliver` is called in the host's process, on a separate object and on one thread.
    """

    stateful = True
    routed = False
    """True if a person asked to set aside the undeliverable tuples of this delivery."""
    checksums: Mapping[Path, int] = MappingProxyType({})
    """The CRC-32 of each file of this delivery, as it was committed."""
    joins_batches = False
    """True if waiting batches may be combined into one delivery under the key of the last one, with `read_uncommitted`.
    Needs `is_made`.
    """

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: Any) -> tuple[Path, ...]:
        """Return this replica's files that await delivery, sorted by path. Raises OSError."""
        return tuple(files_below(waiting_directory(context)))

    @property
    def sets_aside(self) -> bool:
        """True if tuples that the target permanently refuses are set aside, instead of failing the delivery.

        The parameter `on_undeliverable` enables this permanently; `streams route` enables it for the epochs waiting at
        that moment.
        """
        return self.routed or getattr(self.parameters, "on_undeliverable", "fail") == "route"

    def set_aside(self, key: DeliveryKey, tuples: Sequence[Undeliverable]) -> None:
        """Write the tuples that a delivery leaves out to their file, and log some; remove the file without any.

        Call this before the delivery is committed.

        Raises:
            OSError: the file cannot be written.
        """
        set_aside(self.context, key, tuples)

    def open(self) -> None:
        """Connect. Called before the first delivery, and again after a failed one."""

    def is_made(self, key: DeliveryKey) -> bool:
        """Return True if the receiver already has the tuples of this delivery, alone or as part of a combined delivery.

        The default is False. Called on an open sink with `joins_batches`. If another process delivers after this call,
        the sink's next delivery must fail.
        """
        return False

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Deliver all tuples of one epoch.

        Args:
            key: the same key whenever these tuples are delivered.
            batches: the tuples, in order; read lazily.

        Raises:
            RefusedError: the target will never take the tuples.
            Exception: the delivery failed, and is to be retried.
        """
        raise NotImplementedError

    def deliver_files(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Deliver the files that `prepare_commit` wrote in one epoch. The default passes their tuples to `deliver`.

        Raises:
            WaitingFileError: a file is gone, altered or cannot be read. Errors of `deliver` pass unchanged.
        """
        self.deliver(key, self.waiting_tuples(files))

    def waiting_tuples(self, files: Sequence[Path]) -> Iterator[TupleBatch]:
        """Yield the tuples of files that `prepare_commit` wrote.

        A file is read once, and the bytes that are delivered are checked. The file may have been altered since its last
        check.

        Raises:
            WaitingFileError: a file is gone, unreadable or altered.
        """
        for path in files:
            yield from read_batches(path, self.checksums.get(path))

    def close(self) -> None:
        """Disconnect. Called after a failure and at the end."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples for the next `prepare_commit`."""
        self.__dict__.setdefault("_kept", []).append(batch.arrow)

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write the tuples of the micro-batch to a file, and return it for the commit; no file without tuples.

        Raises:
            OSError: the file cannot be written.
        """
        kept: list[pa.RecordBatch] = self.__dict__.pop("_kept", [])
        if not kept:
            return ()
        return (write_tuples(waiting_directory(self.context), pa.Table.from_batches(kept).combine_chunks()),)


def waiting_directory(context: OperatorContext) -> Path:
    """Return the directory of a replica's waiting files. Brackets are replaced, since `glob` would expand them."""
    return context.pending / context.name.replace("[", "(").replace("]", ")")


def write_tuples(directory: Path, tuples: pa.Table) -> PendingFile:
    """Write tuples to a new Arrow file in a directory, which is created if it is missing.

    Raises:
        OSError: the file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{world.new_id()}.arrow"
    with durable(path, synced=False) as file, pa.ipc.new_file(file, tuples.schema) as writer:
        writer.write_table(tuples, MOST_TUPLES)
    return PendingFile(path, None, tuples.num_rows, path.stat().st_size)


def read_batches(path: Path, checksum: int | None = None) -> Iterator[TupleBatch]:
    """Yield the tuples of a file that `write_tuples` has written.

    Args:
        path: the path of the file.
        checksum: the CRC-32 of its content, which is checked before the first tuple; None if it is not known.

    Raises:
        WaitingFileError: the file is gone, unreadable or altered.
    """
    data = content_of(path, checksum)
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            for number in range(reader.num_record_batches):
                yield TupleBatch(reader.get_batch(number), mutable=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise WaitingFileError(path) from error


def content_of(path: Path, checksum: int | None = None) -> pa.Buffer:
    """Return the content of a waiting file, after checking the checksum of these bytes; see `read_batches`.

    Raises:
        WaitingFileError: the file is gone, unreadable or altered.
    """
    try:
        with pa.OSFile(str(path), "rb") as file:
            data = file.read_buffer()
    except OSError as error:
        raise WaitingFileError(path) from error
    if checksum is not None and zlib.crc32(data) != checksum:
        raise altered(path)
    return data


def altered(path: Path) -> WaitingFileError:
    """Return the error that a waiting file has other bytes than were committed."""
    error = WaitingFileError(path)
    error.__cause__ = ValueError("its checksum is not the one that was committed")
    return error
