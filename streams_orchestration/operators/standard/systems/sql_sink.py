"""SqlSink: writes each tuple exactly once to a database table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.databases.address import DatabaseUrl, check_url, shown_url
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.loading.libraries import import_modules
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.sinks.target_columns import TargetParameters, target_columns
from streams_orchestration.operators.tuples.batch import TupleBatch

if TYPE_CHECKING:
    from streams_orchestration.operators.databases.table import DatabaseTable


class SqlSinkParameters(TargetParameters):
    """The parameters of `SqlSink`."""

    url: DatabaseUrl
    table: str = Field(min_length=1, pattern=r"^[^.]+(\.[^.]+)?$", description="Table as name or schema.name.")
    visibility: Visibility = Field(
        default="read_committed",
        description="read_uncommitted: write rows with their batch; a reset does not take them back.",
    )


class SqlSink(EpochSink):
    """Writes every epoch in one transaction, together with a mark in `streams_deliveries`.

    A retry after a crash finds the mark and writes nothing. With `visibility: read_uncommitted` every batch is a
    transaction. A reset cannot take rows back, so its replay adds them again unless `key` replaces them.

    It replaces `JDBCRun` and `ODBCAppend` of IBM Streams.
    """

    Parameters = SqlSinkParameters
    naming_parameters = NamingParameters(inputs=("columns", "suppress", "key"))
    target: DatabaseTable | None = None

    @classmethod
    def check(cls, context: OperatorContext, parameters: SqlSinkParameters) -> None:
        """Raise ValueError if the URL cannot be used, or attributes and columns do not match. Connects to nothing."""
        check_url(parameters.url)
        columns = target_columns(context.inputs[0].names, parameters)
        from streams_orchestration.operators.databases.columns import column_type

        for attribute in columns:
            try:
                column_type(context.inputs[0].field(attribute).type)
            except ValueError as error:
                message = f"the attribute {attribute}: {error}"
                raise ValueError(message) from error

    @classmethod
    def destination(cls, context: OperatorContext, parameters: SqlSinkParameters) -> str:
        """Return the table and the database to which rows are written."""
        return f"{parameters.table} in {shown_url(parameters.url)}"

    def load(self) -> None:
        """Import the driver of the database. Raises DatabaseUrlError if the address cannot be used."""
        from streams_orchestration.operators.databases.connecting import load_driver

        import_modules("streams_orchestration.operators.databases.table")
        load_driver(self.parameters.url)

    def open(self) -> None:
        """Connect, create the table if it is missing and `createTable` is true, and check that it fits.

        Raises:
            DatabaseError: the database cannot be reached, the table is missing, or its columns do not fit.
            DatabaseUrlError: the address cannot be used, for example because a reference has no value.
        """
        from streams_orchestration.operators.databases.table import DatabaseTable

        parameters = self.parameters
        columns = target_columns(self.context.inputs[0].names, parameters)
        key = tuple(columns[attribute] for attribute in parameters.key)
        self.target = DatabaseTable(parameters.url, parameters.table, columns, self.context.inputs[0], key)
        self.target.prepare(create=parameters.create_table)

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Write the tuples of an epoch, unless that was done before; set refused tuples aside if that is allowed."""
        self._write(key, batches)

    def deliver_files(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Write the tuples of an epoch.

        Repeat with immediate checks if a deferred constraint refuses an unknown row.

        Raises:
            DatabaseError: the database refuses, or cannot be reached. Nothing was written.
            OSError: the file of refused tuples cannot be written.
        """
        from streams_orchestration.operators.databases.errors import DeferredError

        try:
            super().deliver_files(key, files)
        except DeferredError:
            self._write(key, self.waiting_tuples(files), at_once=True)

    def _write(self, key: DeliveryKey, batches: Iterator[TupleBatch], *, at_once: bool = False) -> None:
        assert self.target is not None
        aside = partial(self.set_aside, key) if self.sets_aside else None
        self.target.write(key, batches, aside, at_once=at_once)

    def close(self) -> None:
        """Disconnect."""
        if self.target is not None:
            self.target.close()
            self.target = None
