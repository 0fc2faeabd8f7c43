"""An Iceberg table that receives epochs, each with one commit."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.io import PY_IO_IMPL
from pyiceberg.io.pyarrow import ArrowProjectionVisitor
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.table import Table, Transaction
from pyiceberg.table.upsert_util import create_match_filter
from pyiceberg.transforms import IdentityTransform

from streams_orchestration import world
from streams_orchestration.operators.lakes.data_files import (
    DataFile,
    bring_in,
    opened,
    read_data_files,
    require_unaltered,
)
from streams_orchestration.operators.lakes.errors import LakeError, LakeRefusedError, lake_error
from streams_orchestration.operators.lakes.fitting import Fit, TableColumn, WantedTable, fit
from streams_orchestration.operators.lakes.iceberg_catalog import DURABLE, load_catalog, without_secrets
from streams_orchestration.operators.lakes.on_disk import local_path
from streams_orchestration.operators.lakes.target import TRIES, LakeTarget
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey, delivery_properties
from streams_orchestration.operators.sinks.undeliverable import SetAside
from streams_orchestration.operators.storage.durable_files import sync_names
from streams_orchestration.operators.tuples.arrow_types import type_name

MARK = "streams.delivered."
"""Prefix of the table properties that store the last delivery of each sink in each life, and the date of its commit."""
MARK_RETENTION = timedelta(days=30)
"""A mark is removed this long after its last commit, so that marks of ended lives do not accumulate."""
_KEEPS_NULLS = "_keeps_nulls"


class IcebergTarget(LakeTarget):
    """An Iceberg table in a catalog."""

    def __init__(self, catalog: Mapping[str, str], name: str, wanted: WantedTable) -> None:
        """Store the catalog's properties, with references, and the table's full name; call `keep_nulls`."""
        super().__init__(name, wanted)
        keep_nulls()
        self.properties = dict(catalog)
        self._catalog: Any = None

    def _prepare(self) -> None:
        self._fit(self._load())

    def _load(self) -> Table:
        if self._catalog is None:
            self._catalog = load_catalog(self.properties)
        try:
            return self._durable(self._catalog.load_table(self.name))
        except (NoSuchTableError, NoSuchNamespaceError):
            if not self.wanted.create:
                columns = ", ".join(f"{field.name} {type_name(field.type)}" for field in self.wanted.schema)
                message = f"there is no table {self.name}; set createTable: true, or create it with {columns}"
                raise LakeRefusedError(message) from None
        return self._durable(self._create())

    def _durable(self, table: Table) -> Table:
        """Return the table; if it is on this machine, load it again with file access that flushes files to disk.

        A file access that the catalog names itself is kept.
        """
        if local_path(table.location()) is None or PY_IO_IMPL in self._catalog.properties:
            return table
        self._catalog.properties[PY_IO_IMPL] = DURABLE
        return self._catalog.load_table(self.name)

    def _create(self) -> Table:
        namespace = self.name.rpartition(".")[0]
        with suppress(NamespaceAlreadyExistsError):
            self._catalog.create_namespace(namespace)
        # one request, since not every REST catalog can create a table in several steps
        schema = assign_fresh_schema_ids(self._catalog._convert_schema_if_needed(self.wanted.schema))
        parts = [
            PartitionField(
                schema.find_field(name).field_id, PARTITION_FIELD_ID_START + number, IdentityTransform(), name
            )
            for number, name in enumerate(self.wanted.partition_by)
        ]
        with suppress(TableAlreadyExistsError):
            self._catalog.create_table(self.name, schema, partition_spec=PartitionSpec(*parts))
        return self._catalog.load_table(self.name)

    def _append(self, key: DeliveryKey, files: Sequence[DataFile], set_aside: SetAside | None) -> None:
        table = self._load()
        if _was_made(table, key):
            return
        table, fitting = self._fitted(table)
        if set_aside is not None and not fitting.required:
            set_aside(())
        transaction = _begun(table, key)
        if fitting.widened or fitting.required or _other_transforms(table):
            rows = pa.concat_tables([rows for _, rows in read_data_files(files)])
            rows = self._without_nulls(key, rows, self._required(fitting), set_aside)
            transaction.append(self._as_in_table(table, rows), snapshot_properties=_summary(key))
        else:
            places = [self._place(table, file) for file in files]
            sync_names(path for place in places if (path := local_path(place)) is not None)
            transaction.add_files(places, snapshot_properties=_summary(key), check_duplicate_files=False)
            require_unaltered(files)
        transaction.commit_transaction()

    def _merge(self, key: DeliveryKey, tuples: pa.Table, set_aside: SetAside | None) -> None:
        table = self._load()
        if _was_made(table, key):
            return
        table, fitting = self._fitted(table)
        keys = {
            name: f"key: a tuple has null or NaN for {name}, which matches no row of {self.name}"
            for name in self.wanted.key
        }
        tuples = self._without_nulls(key, tuples, self._required(fitting) | keys, set_aside, nan=self.wanted.key)
        tuples = self._last_of_each_key(tuples)
        transaction = _begun(table, key)
        rows = self._as_in_table(table, tuples)
        summary = _summary(key)
        if _has_new_columns(table):
            # the library's upsert reads with the schema of the last commit, and would miss the new columns
            transaction.overwrite(rows, create_match_filter(rows, self.wanted.key), snapshot_properties=summary)
        else:
            transaction.upsert(rows, self.wanted.key, snapshot_properties=summary)
        transaction.commit_transaction()

    def _fit(self, table: Table) -> Fit:
        schema = table.schema().as_arrow()
        columns = {field.name: TableColumn(field.type, not field.nullable) for field in schema}
        spec = [field for field in table.spec().fields if isinstance(field.transform, IdentityTransform)]
        partitions = [table.schema().find_field(field.source_id).name for field in spec]
        return fit(self.name, columns, partitions, self.wanted)

    def _fitted(self, table: Table) -> tuple[Table, Fit]:
        """Add missing columns to the table. Return the current table, and how tuples are fitted to it."""
        fitting = self._fit(table)
        if fitting.missing:
            with table.update_schema() as update:
                update.union_by_name(pa.schema([self.wanted.schema.field(name) for name in fitting.missing]))
            table = self._catalog.load_table(self.name)
        return table, fitting

    def _place(self, table: Table, file: DataFile) -> str:
        """Link, copy or upload a file to the table's data directory, and return its address."""
        address = f"{table.location().rstrip('/')}/data/{file.place}"
        if (path := local_path(address)) is not None:
            bring_in(file.path, path)
            return address
        with opened(file.path) as source, table.io.new_output(address).create(overwrite=True) as target:
            shutil.copyfileobj(source, target, 4 << 20)
        return address

    def _as_in_table(self, table: Table, tuples: pa.Table) -> pa.Table:
        """Return the rows with all columns of the table, in its order and types; columns without values are null."""
        schema = table.schema().as_arrow()
        columns = [
            tuples.column(field.name).cast(field.type)
            if field.name in tuples.column_names
            else pa.nulls(len(tuples), field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def _is_conflict(self, error: Exception) -> bool:
        return isinstance(error, CommitFailedException | CommitStateUnknownException)

    def _error(self, error: Exception) -> LakeError:
        conflict = isinstance(error, CommitFailedException)
        what = f"was changed by other writers during each of {TRIES} attempts" if conflict else "cannot be written"
        text = without_secrets(f"{type(error).__name__}: {error}", self.properties)
        message = f"the table {self.name} {what}: {text}; check that it exists, and the rights and credentials"
        return lake_error(message, error)


def _mark(key: DeliveryKey) -> str:
    """Return the property under which the table stores the last delivery of a sink's channel."""
    return f"{MARK}{key.application}/{key.life}/{key.operator}/{key.channel}"


def _was_made(table: Table, key: DeliveryKey) -> bool:
    """Return True if the table already contains the delivery or a later one of the same channel."""
    number, _, _ = table.properties.get(_mark(key), "-1").partition(" ")
    return int(number) >= key.number


def _begun(table: Table, key: DeliveryKey) -> Transaction:
    """Begin a transaction that updates the mark and removes old marks, and return it.

    The loaded table is set so that the commit is not retried on top of other commits.
    """
    today = world.utc().date()
    old = [name for name in table.properties if name != _mark(key) and _is_old(table, name, today)]
    own = {**table.metadata.properties, "commit.retry.num-retries": "0"}
    table.metadata = table.metadata.model_copy(update={"properties": own})
    transaction = table.transaction().set_properties({_mark(key): f"{key.number} {today.isoformat()}"})
    return transaction.remove_properties(*old) if old else transaction


def _is_old(table: Table, name: str, today: date) -> bool:
    """Return True if a property is a mark that was not updated for `MARK_RETENTION`."""
    if not name.startswith(MARK):
        return False
    return today - date.fromisoformat(table.properties[name].partition(" ")[2]) > MARK_RETENTION


def _summary(key: DeliveryKey) -> dict[str, str]:
    return {name: str(value) for name, value in delivery_properties(key).items()}


def _has_new_columns(table: Table) -> bool:
    """Return True if the table's schema has changed since its last commit; False without a commit."""
    snapshot = table.current_snapshot()
    return snapshot is not None and snapshot.schema_id != table.schema().schema_id


def _other_transforms(table: Table) -> bool:
    """Return True if the table is partitioned by transforms, so that the library must partition the rows."""
    return any(not isinstance(field.transform, IdentityTransform) for field in table.spec().fields)


def keep_nulls() -> None:
    """Patch pyiceberg in this process so that null lists and maps stay null when it writes or rewrites rows.

    It builds lists and maps of structs without their nulls (apache/iceberg-python#3833), so a null becomes an empty
    one. A version of pyiceberg that keeps the nulls is not affected.
    """
    for name in ("list", "map"):
        method = getattr(ArrowProjectionVisitor, name)
        if not hasattr(method, _KEEPS_NULLS):
            setattr(ArrowProjectionVisitor, name, _keeping_nulls(method))


def _keeping_nulls(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def keeping(self: Any, kind: Any, values: Any, *parts: Any) -> Any:
        made = method(self, kind, values, *parts)
        if made is None or values is None or made.null_count == values.null_count:
            return made
        rows = pa.array(np.arange(len(made)), mask=np.asarray(values.is_null()))
        return made.take(rows)

    setattr(keeping, _KEEPS_NULLS, True)
    return keeping
