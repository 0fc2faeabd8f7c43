"""Base class of lake tables that receive epochs. Each epoch is one commit, which carries the delivery's key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import polars as pl
import pyarrow as pa

from streams_orchestration import world
from streams_orchestration.operators.keys.comparison import with_normalised
from streams_orchestration.operators.lakes.data_files import DataFile
from streams_orchestration.operators.lakes.errors import LakeError, LakeRefusedError
from streams_orchestration.operators.lakes.fitting import Fit, WantedTable
from streams_orchestration.operators.references import UnresolvedReferenceError
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import WaitingFileError
from streams_orchestration.operators.sinks.undeliverable import REMEDY, SetAside, Undeliverable
from streams_orchestration.operators.tuples.batch import TupleBatch

TRIES = 10
"""The number of attempts for a commit that conflicts with other writers."""
LONGEST_RETRY_PAUSE = 0.5
"""The longest pause in seconds between two attempts."""
_ROW = "row of the delivery"


class LakeTarget:
    """A lake table of one sink. It connects on the first call."""

    def __init__(self, name: str, wanted: WantedTable) -> None:
        self.name = name
        """The directory, address or catalog name of the table, for errors."""
        self.wanted = wanted

    def prepare(self) -> None:
        """Check that the table exists and fits; create it first if it is missing and the sink may create it.

        Raises:
            LakeError: the table is missing, does not fit or cannot be reached.
            UnresolvedReferenceError: a reference to a secret cannot be resolved.
        """
        self._try(self._prepare)

    def append(self, key: DeliveryKey, files: Sequence[DataFile], set_aside: SetAside | None = None) -> None:
        """Add files to the table, unless that was done before.

        Args:
            key: the key of the delivery.
            files: the files of its tuples.
            set_aside: receives the tuples that the table refuses because of a null or a constraint, even if there are
                none; without it they fail the delivery.

        Raises:
            LakeError: the table refuses or cannot be reached. No row was changed, but columns may have been added.
            UnresolvedReferenceError: a reference to a secret cannot be resolved.
            WaitingFileError: a file cannot be read, or was altered.
        """
        self._try(lambda: self._append(key, files, set_aside))

    def upsert(self, key: DeliveryKey, batches: Iterable[TupleBatch], set_aside: SetAside | None = None) -> None:
        """Replace the rows that have the same keys as the tuples, unless that was done before; see `append`.

        Of tuples with the same key, the last one counts. There is at least one batch.

        Raises:
            LakeError: the table refuses or cannot be reached. No row was changed, but columns may have been added.
            UnresolvedReferenceError: a reference to a secret cannot be resolved.
            WaitingFileError: a file cannot be read, or was altered.
        """
        tuples = pa.Table.from_batches([with_normalised(batch.arrow, self.wanted.key) for batch in batches])
        self._try(lambda: self._merge(key, tuples, set_aside))

    def _prepare(self) -> None:
        raise NotImplementedError

    def _append(self, key: DeliveryKey, files: Sequence[DataFile], set_aside: SetAside | None) -> None:
        raise NotImplementedError

    def _merge(self, key: DeliveryKey, tuples: pa.Table, set_aside: SetAside | None) -> None:
        """Upsert the last tuple of each key, unless that was done before."""
        raise NotImplementedError

    def _last_of_each_key(self, tuples: pa.Table) -> pa.Table:
        keys = pl.DataFrame(tuples.select(self.wanted.key)).with_row_index(_ROW)
        last = keys.unique(self.wanted.key, keep="last").get_column(_ROW).sort()
        return tuples.take(last.to_arrow())

    def _is_conflict(self, error: Exception) -> bool:
        """Return True if another writer committed first, so that a retry on top of its commit may succeed."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Discard the loaded table after another writer's commit, so that it is loaded again; by default do nothing."""

    def _error(self, error: Exception) -> LakeError:
        """Translate an error of the library into our own words, with a remedy and without tuples and secrets."""
        raise NotImplementedError

    def _without_nulls(
        self,
        key: DeliveryKey,
        tuples: pa.Table,
        reasons: Mapping[str, str],
        set_aside: SetAside | None,
        nan: Collection[str] = (),
        broken: Mapping[int, str] | None = None,
    ) -> pa.Table:
        """Return the tuples that the table accepts. The others are set aside, or fail the delivery.

        Args:
            key: the key of the delivery.
            tuples: all tuples of the delivery.
            reasons: maps each required column to the reason why it may not be null.
            set_aside: receives the refused tuples, even if there are none; None fails the delivery at the first one.
            nan: columns in which NaN counts as null.
            broken: maps rows, from 0, to the constraint of the table that refuses them.
        """
        broken = broken or {}
        wrong = dict.fromkeys(broken, "")
        for name in reasons:
            values = pl.Series(tuples.column(name))
            if name in nan and values.dtype.is_float():
                values = values.fill_nan(None)
            rows = values.is_null().arg_true()
            wrong = dict.fromkeys(rows.to_list(), name) | wrong
        if wrong and set_aside is None:
            row = min(wrong)
            if not wrong[row]:
                message = (
                    f"the table {self.name} refuses row {row + 1} of epoch {key.epoch} by its constraint "
                    f"{broken[row]}; correct the tuples, or the constraint; {REMEDY}"
                )
                raise LakeRefusedError(message)
            message = (
                f"{reasons[wrong[row]]} (row {row + 1} of epoch {key.epoch}); give it a value before the sink, as in "
                f"COALESCE({wrong[row]}, ...), or allow null in the column; {REMEDY}"
            )
            raise LakeRefusedError(message)
        if set_aside is not None:
            set_aside(
                [
                    Undeliverable(
                        row + 1,
                        wrong[row],
                        reasons[wrong[row]] if wrong[row] else f"constraint {broken[row]}",
                        tuples.slice(row, 1).to_pylist()[0],
                    )
                    for row in sorted(wrong)
                ]
            )
        return tuples.filter(pa.array([row not in wrong for row in range(len(tuples))])) if wrong else tuples

    def _required(self, fitting: Fit) -> dict[str, str]:
        """Map each written column that may not be null to the reason, for error messages."""
        return {
            name: f"the column {name} of {self.name} may not be null, and a tuple has null for it"
            for name in fitting.required
            if name in self.wanted.schema.names
        }

    def _try(self, action: Callable[[], None]) -> None:
        """Make a change. If another writer committed first, pause and retry, up to `TRIES` attempts.

        Pauses are random and grow up to `LONGEST_RETRY_PAUSE`.
        """
        for tried in range(1, TRIES + 1):
            try:
                return action()
            except (LakeError, WaitingFileError, UnresolvedReferenceError):
                raise
            except Exception as error:
                if not self._is_conflict(error) or tried == TRIES:
                    raise self._error(error) from error
                self._forget()
                world.sleep(world.uniform(0, LONGEST_RETRY_PAUSE * tried / TRIES))
        return None
