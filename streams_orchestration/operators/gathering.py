"""`GatheringSink`: a sink whose files of complete epochs are gathered into larger ones before they are published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.operators.storage.port import Storage


class Roll(NamedTuple):
    """The limits at which gathered files become one published file: the first one that is reached."""

    seconds: float = math.inf
    """Seconds after the first file's epoch was complete."""
    size: float = math.inf
    """Bytes of all of them."""
    epochs: float = math.inf
    """Number of epochs, counted from the first file's."""


class GatheringSink(Operator):
    """A sink whose files wait, as part of the commits, until their epoch is complete.

    Then the runtime merges the files of each directory and publishes them. A published file is never changed. `merge`
    and `final` are called in the host's process, on a separate object.
    """

    def roll(self) -> Roll | None:
        """Return when a file is published; None when `prepare_commit` gives every file its final name."""
        raise NotImplementedError

    def pending(self) -> Path:
        """Return the directory for files that wait; they may be in directories in it."""
        raise NotImplementedError

    def merge(self, files: Sequence[Path], into: Path) -> None:
        """Write the tuples of several files, in order, to a new one.

        Raises:
            OSError: a file cannot be read or written.
            pyarrow.ArrowInvalid: a file was altered.
        """
        raise NotImplementedError

    def storage(self) -> Storage:
        """Return the storage of published files; this machine by default."""
        return LocalStorage()

    def final(self, pending: Path, epoch: int, batch: int) -> Path | str:
        """Return the final name of a file that waits: a path of this machine, or an address of `storage`.

        Args:
            pending: the path.
            epoch: the epoch of its first tuples.
            batch: the batch of its last tuples.
        """
        raise NotImplementedError
