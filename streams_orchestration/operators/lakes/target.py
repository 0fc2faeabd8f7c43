"""A table that epochs are brought into, each with one commit that carries its key: what the formats have in common."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from streams_orchestration.operators.delivery_key import DeliveryKey
from streams_orchestration.operators.epoch_sink import WaitingFileError, read_batches
from streams_orchestration.operators.lakes.data_files import DataFile
from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.lakes.fitting import Fit, WantedTable
from streams_orchestration.operators.references import ReferenceError

TRIES = 10
"""Of a commit that other writers come before."""
LONGEST_PAUSE = 0.5
"""Seconds between two tries."""
_ROW = "row of the delivery"


class LakeTarget:
    """One table; nothing is connected before the first call."""

    def __init__(self, name: str, wanted: WantedTable) -> None:
        self.name = name
        """For errors: its directory or address, or its name in a catalog."""
        self.wanted = wanted

    def prepare(self) -> None:
        """See that it is there and fits.

        Raises:
            LakeError: it does not.
        """
        self._try(self._prepare)

    def append(self, key: DeliveryKey, files: Sequence[DataFile]) -> None:
        """Make files part of the table, unless that was done before.

        Raises:
            LakeError: the table refuses, or is not there; nothing was changed.
            WaitingFileError: a file cannot be read.
        """
        self._try(lambda: self._append(key, files))

    def upsert(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Have tuples take the place of rows with the same key, unless that was done before.

        Raises:
            LakeError: the table refuses, or is not there; nothing was changed.
            WaitingFileError: a file cannot be read.
        """
        tuples = pa.Table.from_batches([batch.arrow for path in files for batch in read_batches(path)])
        self._check_keys(tuples)
        keys = pl.DataFrame(tuples.select(self.wanted.key)).with_row_index(_ROW)
        last = keys.unique(self.wanted.key, keep="last").get_column(_ROW).sort()
        self._try(lambda: self._merge(key, tuples.take(last.to_arrow())))

    def _prepare(self) -> None:
        raise NotImplementedError

    def _append(self, key: DeliveryKey, files: Sequence[DataFile]) -> None:
        raise NotImplementedError

    def _merge(self, key: DeliveryKey, tuples: pa.Table) -> None:
        """Bring tuples in, of which each has a key of its own."""
        raise NotImplementedError

    def _check_keys(self, tuples: pa.Table) -> None:
        """Raises LakeError when a key of a tuple cannot be looked for."""

    def _is_conflict(self, error: Exception) -> bool:
        """Whether another writer came before, so that the same may succeed on top of its commit."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Have the table looked at anew, after a commit of another writer."""

    def _error(self, error: Exception) -> LakeError:
        """An error of the library in words, without tuples and secrets, with what to do."""
        raise NotImplementedError

    def _check_nulls(self, fitting: Fit, has_nulls: Callable[[str], bool]) -> None:
        for name in fitting.required:
            if has_nulls(name):
                message = (
                    f"the column {name} of {self.name} may not be null, and a tuple has null for it; give it a value "
                    f"before, as in COALESCE({name}, ...), or let the column be null in the table"
                )
                raise LakeError(message)

    def _try(self, action: Callable[[], None]) -> None:
        """Do it, again where another writer came before.

        Raises:
            LakeError: the table refuses, or is not there.
        """
        for tried in range(1, TRIES + 1):
            try:
                return action()
            except (LakeError, WaitingFileError, ReferenceError):
                raise
            except Exception as error:
                if not self._is_conflict(error) or tried == TRIES:
                    raise self._error(error) from error
                self._forget()
                time.sleep(random.uniform(0, LONGEST_PAUSE * tried / TRIES))
        return None
