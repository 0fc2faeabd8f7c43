"""A Delta Lake table that receives epochs, each as one version of the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaProtocolError, TableNotFoundError
from deltalake.transaction import AddAction

from streams_orchestration import world
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.operators.expressions.evaluation import evaluate, parse_condition
from streams_orchestration.operators.files.partitions import partition_values
from streams_orchestration.operators.lakes.data_files import (
    DataFile,
    Statistics,
    bring_in,
    opened,
    read_data_files,
    require_unaltered,
    statistics_of,
)
from streams_orchestration.operators.lakes.delta_store import DeltaStore
from streams_orchestration.operators.lakes.errors import LakeError, LakeRefusedError, lake_error
from streams_orchestration.operators.lakes.fitting import Fit, TableColumn, WantedTable, fit
from streams_orchestration.operators.lakes.on_disk import MAX_FLUSHED_COMMITS, delta_files, sync_files
from streams_orchestration.operators.lakes.target import TRIES, LakeTarget
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey, delivery_properties
from streams_orchestration.operators.sinks.undeliverable import SetAside
from streams_orchestration.operators.storage.durable_files import sync_names
from streams_orchestration.operators.tuples.arrow_types import type_name

_UNSUPPORTED = "nsupported"
"""A part of the library's messages about tables with a newer protocol."""
_INVALID = "failed validation"
_CHECK = "delta.constraints."
_FEATURES = frozenset(
    (
        *("appendOnly", "changeDataFeed", "checkConstraints", "deletionVectors", "domainMetadata", "invariants"),
        *("timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
    )
)
"""Table features under which data files may be added directly, without the library's write path."""


class DeltaTarget(LakeTarget):
    """A Delta Lake table in a local directory or in an object store."""

    def __init__(self, store: DeltaStore, wanted: WantedTable) -> None:
        super().__init__(store.place, wanted)
        self.store = store
        self._table: Any = None
        """The library's table object; None before it is opened, and after another writer's commit."""

    def _prepare(self) -> None:
        self._table = self._opened()
        self._fit()

    def _opened(self) -> Any:
        try:
            return deltalake.DeltaTable(self.name, storage_options=self.store.options())
        except TableNotFoundError:
            if not self.wanted.create:
                columns = ", ".join(f"{field.name} {type_name(field.type)}" for field in self.wanted.schema)
                message = f"there is no Delta table at {self.name}; set createTable: true, or create it with {columns}"
                raise LakeRefusedError(message) from None
            made = deltalake.DeltaTable.create(
                self.name,
                self.wanted.schema,
                mode="ignore",
                partition_by=self.wanted.partition_by or None,
                storage_options=self.store.options(),
            )
            if self.store.is_local:
                sync_files(delta_files(Path(self.name), [0]))
            return made

    def _refreshed(self, key: DeliveryKey) -> bool:
        """Load the newest version, or create a missing table if the sink may.

        Return False if the delivery or a later one was already made, after flushing the newest `MAX_FLUSHED_COMMITS`
        versions.
        """
        if self._table is None:
            self._table = self._opened()
        else:
            self._table.update_incremental()
        made = self._table.transaction_version(_application_id(key))
        if made is None or made < key.number:
            return True
        # the process that delivered may have ended before the log was on disk
        self._sync(self._table.version() - MAX_FLUSHED_COMMITS)
        return False

    def _sync(self, before: int) -> None:
        """Load the newest version, and flush the log files of versions after a given one; only on this machine."""
        if self.store.is_local:
            self._table.update_incremental()
            sync_files(delta_files(Path(self.name), range(max(before + 1, 0), self._table.version() + 1)))

    def _append(self, key: DeliveryKey, files: Sequence[DataFile], set_aside: SetAside | None) -> None:
        if not self._refreshed(key):
            return
        before = self._table.version()
        fitting = self._fitted(key)
        footers = [statistics_of(file.path) for file in files]
        required = self._required(fitting)
        nulls = any(footer.nulls.get(name, 0) for footer in footers for name in required)
        if set_aside is not None and not nulls:
            set_aside(())
        if nulls or fitting.widened or not self._is_plain():
            rows = self._tuples(files)
            broken = self._broken(rows)
            wrong = nulls or bool(broken)
            rows = self._without_nulls(
                key, rows, required if nulls else {}, set_aside if wrong else None, broken=broken
            )
            deltalake.write_deltalake(
                self._table,
                self._as_in_table(rows),
                mode="append",
                partition_by=self.wanted.partition_by or None,
                commit_properties=_properties(key),
            )
            self._sync(before)
            return
        actions = [self._add(file, footer) for file, footer in zip(files, footers, strict=True)]
        require_unaltered(files)
        if self.store.is_local:
            sync_names(Path(self.name) / file.place for file in files)
        self._table.create_write_transaction(
            actions, "append", self._table.schema(), self.wanted.partition_by, commit_properties=_properties(key)
        )
        self._sync(before)

    def _merge(self, key: DeliveryKey, tuples: pa.Table, set_aside: SetAside | None) -> None:
        if not self._refreshed(key):
            return
        before = self._table.version()
        required = self._required(self._fitted(key))
        tuples = self._without_nulls(key, tuples, required, set_aside, broken=self._broken(tuples))
        tuples = self._last_of_each_key(tuples)
        nulls = {name for name in self.wanted.key if tuples.column(name).null_count}
        same = " AND ".join(
            f"t.{name_token(name)} {'IS NOT DISTINCT FROM' if name in nulls else '='} s.{name_token(name)}"
            for name in self.wanted.key
        )
        values = {name_token(name): f"s.{name_token(name)}" for name in self.wanted.schema.names}
        changed = {name: value for name, value in values.items() if name not in map(name_token, self.wanted.key)}
        merger = self._table.merge(
            self._as_in_table(tuples), same, source_alias="s", target_alias="t", commit_properties=_properties(key)
        ).when_not_matched_insert(values)
        (merger.when_matched_update(changed) if changed else merger).execute()
        self._sync(before)

    def _fit(self) -> Fit:
        schema = pa.schema(self._table.schema().to_arrow())
        columns = {field.name: TableColumn(field.type, not field.nullable) for field in schema}
        partitions = self._table.metadata().partition_columns
        return fit(self.name, columns, partitions, self.wanted)

    def _fitted(self, key: DeliveryKey) -> Fit:
        """Add missing columns to the table, and return how tuples are fitted to the table."""
        fitting = self._fit()
        if fitting.missing:
            fields = deltalake.Schema.from_arrow(
                pa.schema([self.wanted.schema.field(name) for name in fitting.missing])
            ).fields
            self._table.alter.add_columns(list(fields), commit_properties=_properties(key, marked=False))
            self._table.update_incremental()
        return fitting

    def _broken(self, tuples: pa.Table) -> dict[int, str]:
        """Map each row that a CHECK constraint refuses, counted from 0, to the constraint.

        A constraint that this product cannot parse or evaluate is skipped. The library checks it, and refuses the
        delivery as a whole.
        """
        broken: dict[int, str] = {}
        columns = tuples.select([name for name in tuples.column_names if name in self.wanted.schema.names])
        batch = columns.combine_chunks().to_batches()[0] if len(tuples) else None
        for name, text in self._table.metadata().configuration.items():
            if batch is not None and name.startswith(_CHECK):
                with suppress(ValueError):
                    holds = evaluate(parse_condition(text, batch.schema, name, UTC), batch)
                    refused = pc.indices_nonzero(pc.invert(pc.fill_null(holds, fill_value=False))).to_pylist()
                    broken |= {row: f"{name.removeprefix(_CHECK)} ({text})" for row in refused if row not in broken}
        return broken

    def _is_plain(self) -> bool:
        """Return True if data files may be added directly: the table has no rules that the library must apply."""
        protocol = self._table.protocol()
        configuration = self._table.metadata().configuration
        ruled = any(name.startswith((_CHECK, "delta.columnMapping.")) for name in configuration)
        fields = self._table.schema().fields
        return (
            not ruled
            and _FEATURES.issuperset(protocol.writer_features or ())
            and not any(name.startswith("delta.") for field in fields for name in field.metadata)
        )

    def _add(self, file: DataFile, footer: Statistics) -> AddAction:
        """Link, copy or upload a file into the table's directory, and return the log action that adds it."""
        self._bring(file)
        statistics = {
            "numRecords": footer.rows,
            "minValues": footer.least,
            "maxValues": footer.largest,
            "nullCount": footer.nulls,
        }
        return AddAction(
            path=file.place,
            size=file.path.stat().st_size,
            partition_values=partition_values(file.directory),
            modification_time=int(world.now() * 1000),
            data_change=True,
            stats=json.dumps(statistics),
        )

    def _bring(self, file: DataFile) -> None:
        if self.store.is_local:
            bring_in(file.path, Path(self.name) / file.place)
            return
        with opened(file.path):  # raises WaitingFileError for a missing file
            self.store.put(file.path, file.place)

    def _tuples(self, files: Sequence[DataFile]) -> pa.Table:
        """Return the tuples of files, including the partition columns.

        Raises WaitingFileError if one cannot be read or was altered.
        """
        tables = [self._with_partitions(file, table) for file, table in read_data_files(files)]
        return pa.concat_tables(tables)

    def _with_partitions(self, file: DataFile, table: pa.Table) -> pa.Table:
        for name, text in partition_values(file.directory).items():
            value = pa.array([text], pa.string()).cast(self.wanted.schema.field(name).type)
            table = table.append_column(name, value.take(pa.array([0] * len(table), pa.int64())))
        return table.select(self.wanted.schema.names)

    def _as_in_table(self, tuples: pa.Table) -> pa.Table:
        schema = pa.schema(self._table.schema().to_arrow())
        return tuples.cast(pa.schema([schema.field(name) for name in tuples.column_names]))

    def _is_conflict(self, error: Exception) -> bool:
        return isinstance(error, CommitFailedError) and _UNSUPPORTED not in str(error)

    def _forget(self) -> None:
        self._table = None

    def _error(self, error: Exception) -> LakeError:
        text = self.store.text(error)
        if _UNSUPPORTED in text or isinstance(error, DeltaProtocolError):
            reason = f"needs a feature that deltalake {deltalake.__version__} does not have"
            remedy = "install a newer one, or write another table"
            return LakeRefusedError(f"the table {self.name} {reason}: {text}; {remedy}")
        if _INVALID in text:
            reason = "refuses the rows"
            remedy = "correct the tuples, or the constraints of the table"
            return LakeRefusedError(f"the table {self.name} {reason}: {text}; {remedy}")
        if isinstance(error, CommitFailedError):
            reason = f"was changed by other writers during each of {TRIES} attempts"
            remedy = "let fewer processes write to the table"
        else:
            reason, remedy = "cannot be written", "check that it exists, and the rights and credentials"
        return lake_error(f"the table {self.name} {reason}: {text}; {remedy}", error)


def _application_id(key: DeliveryKey) -> str:
    """Return the application id under which the table's log stores the last delivery."""
    return f"{key.application}/{key.life}/{key.operator}/{key.channel}"


def _properties(key: DeliveryKey, *, marked: bool = True) -> deltalake.CommitProperties:
    """Return the commit's properties.

    If `marked`, they contain the delivery's mark. If another process commits the same mark first, this commit fails.
    """
    metadata = delivery_properties(key)
    mark = deltalake.Transaction(_application_id(key), key.number, int(world.now() * 1000))
    return deltalake.CommitProperties(custom_metadata=metadata, app_transactions=[mark] if marked else None)
