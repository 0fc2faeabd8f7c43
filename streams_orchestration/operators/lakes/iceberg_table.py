"""A table of Iceberg that epochs are brought into, each with one commit."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import polars as pl
import pyarrow as pa
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table, Transaction
from pyiceberg.transforms import IdentityTransform

from streams_orchestration.operators.epoch_sink import DeliveryKey, WaitingFileError, read_batches
from streams_orchestration.operators.lakes.data_files import (
    DataFile,
    link_or_copy,
    opened,
    read_data_files,
    statistics_of,
)
from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.lakes.fitting import Column, Fit, fit
from streams_orchestration.operators.lakes.iceberg_catalog import load_catalog, without_secrets

TRIES = 10
"""Of a commit that other writers come before."""
LONGEST_PAUSE = 0.5
"""Seconds between two tries."""
MARK = "streams.delivered."
"""Properties of the table that begin so have the last epoch of each sink."""
_ROW = "row of the delivery"


class IcebergTarget:
    """One table."""

    def __init__(
        self, catalog: Mapping[str, str], name: str, schema: pa.Schema, *, partition_by: Sequence[str],
        key: Sequence[str], create: bool, add_columns: bool,
    ) -> None:  # fmt: skip
        """Read nothing yet.

        Args:
            catalog: its properties, with references.
            name: of the table, with its namespace.
            schema: of the tuples, by column.
            partition_by: columns that it is partitioned by.
            key: columns that say which row a tuple replaces.
            create: make it if it is missing.
            add_columns: add columns that it does not have.
        """
        self.properties = dict(catalog)
        self.name = name
        self.schema = schema
        self.partition_by = list(partition_by)
        self.key = tuple(key)
        self.create = create
        self.add_columns = add_columns
        self._catalog: Any = None

    def prepare(self) -> None:
        """See that it is there and fits; raises LakeError."""
        self._try(lambda: self._fit(self._load()) and None)

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
        for name in self.key:
            if tuples.column(name).null_count:
                message = f"key: a tuple has null for {name}, which finds no row of {self.name}; give it a value before"
                raise LakeError(message)
        keys = pl.DataFrame(tuples.select(self.key)).with_row_index(_ROW)
        last = keys.unique(self.key, keep="last").get_column(_ROW).sort()
        self._try(lambda: self._merge(key, tuples.take(last.to_arrow())))

    def _load(self) -> Table:
        if self._catalog is None:
            self._catalog = load_catalog(self.properties)
        try:
            return self._catalog.load_table(self.name)
        except (NoSuchTableError, NoSuchNamespaceError):
            if not self.create:
                columns = ", ".join(f"{field.name} {field.type}" for field in self.schema)
                message = f"there is no table {self.name}; say createTable: true, or make it with {columns}"
                raise LakeError(message) from None
        return self._made()

    def _made(self) -> Table:
        namespace = self.name.rpartition(".")[0]
        with suppress(NamespaceAlreadyExistsError):
            self._catalog.create_namespace(namespace)
        with (
            suppress(TableAlreadyExistsError),
            self._catalog.create_table_transaction(self.name, schema=self.schema) as transaction,
            transaction.update_spec() as spec,
        ):
            for name in self.partition_by:
                spec.add_identity(name)
        return self._catalog.load_table(self.name)

    def _append(self, key: DeliveryKey, files: Sequence[DataFile]) -> None:
        table = self._load()
        if _was_made(table, key):
            return
        table, fitting = self._fitted(table)
        footers = [statistics_of(file.path) for file in files]
        self._check_nulls(fitting, lambda name: any(footer.nulls.get(name, 0) for footer in footers))
        transaction = _begun(table, key)
        if fitting.widened or fitting.required or _other_transforms(table):
            rows = pa.concat_tables([rows for _, rows in read_data_files(files)])
            transaction.append(self._as_in_table(table, rows), snapshot_properties=_summary(key))
        else:
            places = [self._place(table, file) for file in files]
            transaction.add_files(places, snapshot_properties=_summary(key), check_duplicate_files=False)
        transaction.commit_transaction()

    def _merge(self, key: DeliveryKey, tuples: pa.Table) -> None:
        table = self._load()
        if _was_made(table, key):
            return
        table, fitting = self._fitted(table)
        self._check_nulls(fitting, lambda name: tuples.column(name).null_count > 0)
        transaction = _begun(table, key)
        transaction.upsert(self._as_in_table(table, tuples), list(self.key), snapshot_properties=_summary(key))
        transaction.commit_transaction()

    def _fit(self, table: Table) -> Fit:
        schema = table.schema().as_arrow()
        columns = {field.name: Column(field.type, not field.nullable) for field in schema}
        spec = [field for field in table.spec().fields if isinstance(field.transform, IdentityTransform)]
        partitions = [table.schema().find_field(field.source_id).name for field in spec]
        return fit(self.name, columns, partitions, self.schema, self.partition_by, add_columns=self.add_columns)

    def _fitted(self, table: Table) -> tuple[Table, Fit]:
        """The table with the columns that were missing."""
        fitting = self._fit(table)
        if fitting.missing:
            with table.update_schema() as update:
                update.union_by_name(pa.schema([self.schema.field(name) for name in fitting.missing]))
            table = self._catalog.load_table(self.name)
        return table, fitting

    def _check_nulls(self, fitting: Fit, has_nulls: Callable[[str], bool]) -> None:
        for name in fitting.required:
            if has_nulls(name):
                message = (
                    f"the column {name} of {self.name} may not be null, and a tuple has null for it; give it a value "
                    f"before, as in COALESCE({name}, ...), or make the column optional"
                )
                raise LakeError(message)

    def _place(self, table: Table, file: DataFile) -> str:
        """Bring a file to the table's data; gives its address."""
        address = f"{table.location().rstrip('/')}/data/{file.place}"
        parsed = urlparse(address)
        if parsed.scheme in ("", "file"):
            link_or_copy(file.path, Path(parsed.path if parsed.scheme else address))
            return address
        with opened(file.path) as source, table.io.new_output(address).create(overwrite=True) as target:
            shutil.copyfileobj(source, target, 4 << 20)
        return address

    def _as_in_table(self, table: Table, tuples: pa.Table) -> pa.Table:
        """With all columns of the table, in its order and types."""
        schema = table.schema().as_arrow()
        columns = [
            tuples.column(field.name).cast(field.type)
            if field.name in tuples.column_names
            else pa.nulls(len(tuples), field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def _try(self, action: Callable[[], None]) -> None:
        """Do it, again where another writer came before.

        Raises:
            LakeError: the table refuses, or is not there.
        """
        for tried in range(1, TRIES + 1):
            try:
                return action()
            except (CommitFailedException, CommitStateUnknownException) as error:
                if tried == TRIES:
                    what = f"was changed by other writers {TRIES} times meanwhile"
                    raise self._error(error, what) from error
                time.sleep(random.uniform(0, LONGEST_PAUSE * tried / TRIES))
            except (LakeError, WaitingFileError):
                raise
            except Exception as error:
                raise self._error(error) from error
        return None

    def _error(self, error: Exception, what: str = "cannot be written") -> LakeError:
        text = without_secrets(f"{type(error).__name__}: {error}", self.properties)
        return LakeError(f"the table {self.name} {what}: {text}; see that it is there, and the rights and credentials")


def _mark(key: DeliveryKey) -> str:
    """What the table remembers the last epoch by."""
    return f"{MARK}{key.application}/{key.life}/{key.operator}/{key.channel}"


def _was_made(table: Table, key: DeliveryKey) -> bool:
    """Was the delivery made before."""
    return int(table.properties.get(_mark(key), -1)) >= key.number


def _begun(table: Table, key: DeliveryKey) -> Transaction:
    """A transaction that moves the mark, and that the library does not repeat on top of other commits."""
    own = {**table.metadata.properties, "commit.retry.num-retries": "0"}
    table.metadata = table.metadata.model_copy(update={"properties": own})
    return table.transaction().set_properties({_mark(key): str(key.number)})


def _summary(key: DeliveryKey) -> dict[str, str]:
    return {
        "streams.application": key.application,
        "streams.operator": key.operator,
        "streams.epoch": str(key.epoch),
    }


def _other_transforms(table: Table) -> bool:
    """Is it partitioned by more than values of columns, so that the library has to part the rows."""
    return any(not isinstance(field.transform, IdentityTransform) for field in table.spec().fields)
