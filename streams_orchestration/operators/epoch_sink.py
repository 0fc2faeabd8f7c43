"""`EpochSink`: a sink that hands the tuples of complete epochs to something outside, under a key that never changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, PendingFile
from streams_orchestration.operators.delivery_key import DeliveryKey
from streams_orchestration.operators.durable_files import durable
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.undeliverable import Undeliverable, set_aside

MOST_TUPLES = 65_536
"""Most tuples of a batch that is delivered; small batches are combined, since each delivery has a price."""


class WaitingFileError(Exception):
    """A file with tuples that wait to be delivered is gone or cannot be read; the cause gives the reason."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class EpochSink(Operator):
    """A sink whose tuples wait, as part of the commits, until their epoch is complete; then `deliver` gets them.

    Every epoch with tuples is delivered at least once, in order, and again after a crash before the catalog knew of it.
    The receiver remembers the key, in the same transaction if possible, and ignores one that it knows. What
    `deliver` raises is shown by `streams status`; the delivery is tried again after a growing pause, nothing is lost,
    and a target that is away for long holds the region up. Outside of regions every batch is an epoch.

    `deliver` is called in the host's process, on an object of its own, on one thread.
    """

    stateful = True
    routed = False
    """True if a person wants undeliverable tuples of this delivery to be set aside."""
    joins_batches = False
    """True if, with `read_uncommitted`, waiting batches form one delivery under the last key; requires `is_made`."""

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: Any) -> tuple[Path, ...]:
        """Return the files of this replica that wait."""
        return tuple(sorted(path for path in waiting_directory(context).rglob("*") if path.is_file()))

    @property
    def sets_aside(self) -> bool:
        """True if tuples that the target can never take are set aside now, instead of failing the delivery.

        The parameter `on_undeliverable` says so, or a person by `streams route`, for the epochs of that moment.
        """
        return self.routed or getattr(self.parameters, "on_undeliverable", "fail") == "route"

    def set_aside(self, key: DeliveryKey, tuples: Sequence[Undeliverable]) -> None:
        """Have the tuples that a delivery leaves out in its file; call it before the delivery is committed."""
        set_aside(self.context, key, tuples)

    def open(self) -> None:
        """Connect; called before the first delivery, and again after one that failed."""

    def is_made(self, key: DeliveryKey) -> bool:
        """Return True if the receiver has the tuples of this delivery, by itself or as part of a joined one.

        Called on an open sink with `joins_batches`. Such a sink must fail its next delivery if another process has made
        one since this answer.
        """
        return False

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Deliver all tuples of one epoch.

        Args:
            key: the same whenever these tuples are delivered.
            batches: the tuples, in order, read as they are taken.
        """
        raise NotImplementedError

    def deliver_files(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Deliver the files that `prepare_commit` wrote in one epoch; by default `deliver` gets their tuples.

        Raises:
            WaitingFileError: a file cannot be read.
        """
        self.deliver(key, (batch for path in files for batch in read_batches(path)))

    def close(self) -> None:
        """Disconnect; called after a failure and at the end."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples for the delivery."""
        self.__dict__.setdefault("_kept", []).append(batch.arrow)

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write the tuples of the micro-batch to a file that goes with its commit."""
        kept: list[pa.RecordBatch] = self.__dict__.pop("_kept", [])
        if not kept:
            return ()
        path = waiting_directory(self.context) / f"{world.new_id()}.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with durable(path, synced=False) as file, pa.ipc.new_file(file, kept[0].schema) as writer:
            writer.write_table(pa.Table.from_batches(kept).combine_chunks(), MOST_TUPLES)
        return (PendingFile(path, None, sum(batch.num_rows for batch in kept), path.stat().st_size),)


def waiting_directory(context: OperatorContext) -> Path:
    """Return the directory for waiting files of a replica; brackets are replaced, since `glob` has them as patterns."""
    return context.pending / context.name.replace("[", "(").replace("]", ")")


def read_batches(path: Path) -> Iterator[TupleBatch]:
    """Yield the tuples of a file that `prepare_commit` has written.

    Raises:
        WaitingFileError: the file is gone, cannot be read, or was altered.
    """
    try:
        with pa.OSFile(str(path), "rb") as file, pa.ipc.open_file(file) as reader:
            for number in range(reader.num_record_batches):
                yield TupleBatch(reader.get_batch(number), mutable=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise WaitingFileError(path) from error
