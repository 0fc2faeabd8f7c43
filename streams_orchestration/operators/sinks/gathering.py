"""`GatheringSink`: a sink whose files of complete epochs are merged into larger ones before they are published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.operators.storage.storages import Storage

SUCCESS = "_SUCCESS"
"""The name of the empty file that marks a directory as complete, as Hadoop, Spark and Flink write it."""


class Roll(NamedTuple):
    """The limits for gathering files. When any limit is reached, the gathered files are merged and published."""

    seconds: float = math.inf
    """Seconds since the epoch of the first file was complete."""
    size: float = math.inf
    """Total size of the files in bytes."""
    epochs: float = math.inf
    """Number of epochs, counted from the epoch of the first file."""


def is_marking(operator: Operator) -> bool:
    """Return True if an operator is a sink that marks directories by its watermark."""
    return isinstance(operator, GatheringSink) and type(operator).marks(operator.parameters)


class GatheringSink(Operator):
    """A sink whose files wait, as part of the commits, until their epoch is complete.

    Then the runtime merges the files of each directory and publishes them. A published file is never changed. `merge`
    and `final` are called in the host's process, on a separate object.
    """

    def roll(self) -> Roll | None:
        """Return the limits for gathering files; None if `prepare_commit` already gives every file its final name."""
        raise NotImplementedError

    @classmethod
    def marks(cls, parameters: Any) -> bool:
        """Return True if each directory gets the file `SUCCESS` when the watermark reaches its `complete_at`.

        The default is False. A directory that gets further files later is marked once more.
        """
        del parameters
        return False

    def complete_at(self, directory: str) -> int | None:
        """Return the event time at which a directory is complete, so that its files are closed.

        Args:
            directory: the path of the directory, relative to the sink's own.

        Returns:
            The time in microseconds since 1970, `END` for a directory that is complete at the end of the streams only,
            or None, the default, if the sink marks none.
        """
        del directory
        return None

    def pending(self) -> Path:
        """Return the directory of waiting files, which may have subdirectories."""
        raise NotImplementedError

    def merge(self, files: Sequence[Path], into: Path) -> None:
        """Write the tuples of several files, in order, to a new file.

        Raises:
            OSError: a file cannot be read or written.
            pyarrow.ArrowInvalid: a file was altered.
        """
        raise NotImplementedError

    def storage(self) -> Storage:
        """Return the storage for published files; by default this machine."""
        return LocalStorage()

    def final(self, pending: Path, epoch: int, batch: int) -> Path | str:
        """Return the final name of a waiting file: a local path, or an address in `storage`.

        Args:
            pending: the path of the waiting file.
            epoch: the epoch of its first tuples.
            batch: the batch of its last tuples.
        """
        raise NotImplementedError
