"""A table that deliveries are written to exactly once: rows and a mark of the delivery in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.dialects.mysql.base import MySQLDialect
from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError
from sqlalchemy.schema import CreateTable

from streams_orchestration import world
from streams_orchestration.operators.databases.address import resolve_url
from streams_orchestration.operators.databases.columns import (
    WITHOUT_ALL_NUMBERS,
    NotStorableError,
    column_type,
    rows_of,
)
from streams_orchestration.operators.databases.connecting import engine_of
from streams_orchestration.operators.databases.errors import (
    DatabaseError,
    DatabaseRefusedError,
    DeferredError,
    explained,
    is_constraint,
    reason_of,
)
from streams_orchestration.operators.databases.fitting import check_fit, check_transactions
from streams_orchestration.operators.databases.refusals import RefusedRow, Row, write_one_by_one, write_rows
from streams_orchestration.operators.keys.comparison import with_normalised
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.undeliverable import REMEDY, SetAside, Undeliverable
from streams_orchestration.operators.tuples.batch import TupleBatch

MARKS = "streams_deliveries"

_metadata = sa.MetaData()
marks = sa.Table(
    MARKS,
    _metadata,
    sa.Column("life", sa.String(64), primary_key=True),
    sa.Column("operator", sa.String(255), primary_key=True),
    sa.Column("channel", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("generation", sa.BigInteger(), nullable=False),
    sa.Column("number", sa.BigInteger(), nullable=False),
    sa.Column("epoch", sa.BigInteger(), nullable=False),
    sa.Column("rows", sa.BigInteger(), nullable=False),  # the sum over all deliveries
    sa.Column("watermark", sa.BigInteger()),  # event time up to which the rows are complete, in microseconds since 1970
    sa.Column("written_at", sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql")),
    mysql_engine="InnoDB",
    mysql_charset="utf8mb4",
    mysql_collate="utf8mb4_bin",  # operators may differ in case alone
)
"""The table of marks, with the last delivery of every sink. Deliveries are made in order, so a mark shows which ones
were made.
"""


class DatabaseTable:
    """A connection to the table of one sink."""

    def __init__(self, url: str, table: str, columns: dict[str, str], schema: pa.Schema, key: tuple[str, ...]) -> None:
        """Check the address. A connection is made on first use.

        Args:
            url: the address, with references to environment variables.
            table: the table's name, with its schema if needed.
            columns: maps attributes to columns.
            schema: the schema of the tuples.
            key: columns that decide which row a tuple replaces; without them every tuple is inserted.

        Raises:
            DatabaseUrlError: the address cannot be used.
            ValueError: an attribute has a nested type, which no column can hold.
        """
        self.name = table
        self.columns = columns
        self.key = key
        self._key_attributes = [attribute for attribute, column in columns.items() if column in key]
        self.schema = schema
        self.url = resolve_url(url)
        self.kind = self.url.get_backend_name()
        owner, _, name = table.rpartition(".")
        self.table = sa.Table(
            name,
            sa.MetaData(),
            *(
                sa.Column(
                    column,
                    column_type(schema.field(attribute).type, key=column in key),
                    primary_key=column in key,
                    autoincrement=False,
                )
                for attribute, column in columns.items()
            ),
            schema=owner or None,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
        )
        self._engine = engine_of(self.url)
        self._found: sa.Table | None = None
        """The table as `prepare` found it; None before."""
        self._statement = self._upsert() if key else sa.insert(self.table)
        floats = [column for attribute, column in columns.items() if pa.types.is_floating(schema.field(attribute).type)]
        self._numbers = floats if self.kind in WITHOUT_ALL_NUMBERS else []

    def prepare(self, *, create: bool) -> None:
        """Create the table of marks if it is missing, and check that the sink's table exists and fits.

        Args:
            create: create the table if it is missing.

        Raises:
            DatabaseError: the table is missing, its columns or keys do not fit, it has no transactions, or the database
                refuses or cannot be reached.
        """
        try:
            self._make(marks)
            existing = self._existing()
            if existing is None and create:
                self._distinguish_all_texts()
                self._make(self.table)
                existing = self._existing()
            self._found = existing
            if existing is not None:
                check_fit(self._engine, existing, self.name, list(self.columns.values()), self.key)
                check_transactions(self._engine, marks, existing)
        except SQLAlchemyError as error:
            raise self._error(error) from error
        if existing is None:
            definition = str(CreateTable(self.table).compile(self._engine)).strip()
            message = (
                f"there is no table {self.name}; set createTable: true, or create it: {' '.join(definition.split())}"
            )
            raise DatabaseRefusedError(message)

    def write(
        self,
        key: DeliveryKey,
        batches: Iterator[TupleBatch],
        set_aside: SetAside | None = None,
        *,
        at_once: bool = False,
    ) -> int:
        """Write a delivery in one transaction, unless the mark shows that it was written before.

        Args:
            key: the key of the delivery.
            batches: the tuples of the delivery.
            set_aside: gets permanently refused rows, even if there are none, before the others are committed. Without
                it the first such row fails the delivery.
            at_once: check deferred constraints of PostgreSQL at each row instead of the commit, to identify the row,
                and retry refused rows after the others.

        Returns:
            The number of rows written; 0 if the delivery was written before.

        Raises:
            DeferredError: a constraint refused an unknown row at the commit; nothing was written. `at_once` finds it.
            DatabaseError: the database refuses or cannot be reached. Nothing was written, and neither is anything if
                `batches` or `set_aside` raises an error, which passes unchanged.
        """
        ended = False
        try:
            with self._engine.begin() as connection:
                if not self._mark(connection, key):
                    return 0
                if at_once and self.kind == "postgresql":
                    connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
                rows, refused = self._write_batches(connection, key, batches, collects=set_aside is not None or at_once)
                if at_once:
                    refused = write_one_by_one(connection, self._statement, refused, self._found)
                if refused and set_aside is None:
                    raise self._named(key, refused[0])
                written = rows - len(refused)
                connection.execute(sa.update(marks).where(*_sink_of(key)).values(rows=marks.c.rows + written))
                if set_aside is not None:
                    # the mark is locked here, so no other process writes the same file
                    set_aside([self._undeliverable(each) for each in refused])
                ended = True
        except SQLAlchemyError as error:
            if ended and not at_once and is_constraint(error):
                raise DeferredError(str(self._error(error))) from error
            raise self._error(error) from error
        return written

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _mark(self, connection: sa.Connection, key: DeliveryKey) -> bool:
        """Mark a delivery as written; return False, without a change, if it or a later one is marked already."""
        now = world.utc()
        connection.execute(self._first_mark(key))
        before = sa.or_(
            marks.c.generation < key.generation,
            sa.and_(marks.c.generation == key.generation, marks.c.number < key.number),
        )
        values = {
            "generation": key.generation,
            "number": key.number,
            "epoch": key.epoch,
            "watermark": key.watermark,
            "written_at": now,
        }
        # a second process waits here for the first one, and then updates nothing
        return connection.execute(sa.update(marks).where(*_sink_of(key), before).values(**values)).rowcount != 0

    def _write_batches(
        self, connection: sa.Connection, key: DeliveryKey, batches: Iterator[TupleBatch], *, collects: bool
    ) -> tuple[int, list[RefusedRow]]:
        """Write the rows of a delivery, and return their number, refused rows included, and the refused rows."""
        rows = 0
        refused: list[RefusedRow] = []
        for batch in batches:
            same = TupleBatch(with_normalised(batch.arrow, self._key_attributes))
            for chunk in rows_of(same, self.columns, self.kind):
                for refusal in write_rows(connection, self._statement, chunk, rows + 1, self._found, self._numbers):
                    if not collects:
                        raise self._named(key, refusal)
                    refused.append(refusal)
                rows += len(chunk)
        return rows, refused

    def _first_mark(self, key: DeliveryKey) -> Any:
        """Return the statement that inserts a sink's first mark, before any delivery."""
        new = _insert(self.kind, marks).values(
            life=key.life, operator=key.operator, channel=key.channel, generation=-1, number=-1, epoch=-1, rows=0
        )
        if self.kind == "mysql":
            # the insert locks the row as the later update does, so two sessions wait in order and do not deadlock
            return new.on_duplicate_key_update(rows=marks.c.rows)
        return new.on_conflict_do_nothing()

    def _upsert(self) -> Any:
        new = _insert(self.kind, self.table)
        columns = [column for column in self.columns.values() if column not in self.key]
        if self.kind == "mysql":
            # an update of the key to itself, since `INSERT IGNORE` would hide other errors
            return new.on_duplicate_key_update({column: new.inserted[column] for column in columns or self.key})
        if not columns:
            return new.on_conflict_do_nothing(index_elements=list(self.key))
        return new.on_conflict_do_update(
            index_elements=list(self.key), set_={column: new.excluded[column] for column in columns}
        )

    def _make(self, table: sa.Table) -> None:
        """Create a table if it is missing. It is not an error if another process creates it at the same time."""
        try:
            table.create(self._engine, checkfirst=True)
        except DBAPIError:
            if not sa.inspect(self._engine).has_table(table.name, schema=table.schema):
                raise

    def _distinguish_all_texts(self) -> None:
        """Choose a collation in which text keys that differ only in case or trailing blanks are different.

        Only tables of MariaDB and MySQL need one.
        """
        if isinstance(self._engine.dialect, MySQLDialect):
            collation = "utf8mb4_nopad_bin" if self._engine.dialect.is_mariadb else "utf8mb4_0900_bin"
            self.table.dialect_options["mysql"]["collate"] = collation

    def _existing(self) -> sa.Table | None:
        # checked first: reflecting a table while it is being created may find no columns
        if not sa.inspect(self._engine).has_table(self.table.name, schema=self.table.schema):
            return None
        try:
            return sa.Table(self.table.name, sa.MetaData(), schema=self.table.schema, autoload_with=self._engine)
        except NoSuchTableError:
            return None

    def _named(self, key: DeliveryKey, refusal: RefusedRow) -> DatabaseError:
        """Return the error for a refused row, with its number and column."""
        column = f", column {refusal.column}" if refusal.column else ""
        place = f"table {self.name}, row {refusal.number} of epoch {key.epoch}{column}"
        if isinstance(refusal.error, NotStorableError):
            return DatabaseRefusedError(f"{place}: {refusal.error}; {REMEDY}")
        error = explained(refusal.error, place, self.url)
        return type(error)(f"{error}; {REMEDY}")

    def _undeliverable(self, refusal: RefusedRow) -> Undeliverable:
        names = {column: attribute for attribute, column in self.columns.items()}
        values: Row = {names[column]: value for column, value in refusal.row.items()}
        return Undeliverable(refusal.number, refusal.column, reason_of(refusal.error, self.url), values)

    def _error(self, error: SQLAlchemyError) -> DatabaseError:
        return explained(error, f"table {self.name}", self.url)


def _sink_of(key: DeliveryKey) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that select the mark of the sink that makes a delivery."""
    return marks.c.life == key.life, marks.c.operator == key.operator, marks.c.channel == key.channel


def _insert(kind: str, table: sa.Table) -> Any:
    return {"sqlite": sqlite, "postgresql": postgresql, "mysql": mysql}[kind].insert(table)
