"""A table of a database that deliveries are written to, each once: rows and a mark of it in one transaction."""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchTableError, OperationalError, SQLAlchemyError
from sqlalchemy.schema import CreateTable

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.database_columns import column_type, rows_of
from streams_orchestration.operators.database_url import resolve_url
from streams_orchestration.operators.epoch_sink import DeliveryKey
from streams_orchestration.operators.libraries import pa

MARKS = "streams_deliveries"
CONNECT_SECONDS = 10

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
    sa.Column("rows", sa.BigInteger(), nullable=False),  # of all deliveries
    sa.Column("written_at", sa.DateTime(timezone=True)),
)
"""The last delivery of every sink: since deliveries come in order, it says of each whether it was made."""


class TableError(ValueError):
    """The table cannot be written; says why and what to do, without secrets and tuples."""


class DatabaseTable:
    """A connection to one table."""

    def __init__(self, url: str, table: str, columns: dict[str, str], schema: pa.Schema, key: tuple[str, ...]) -> None:
        """Connect to nothing yet.

        Args:
            url: with references to environment variables.
            table: its name, with that of its schema in front if need be.
            columns: attribute -> column.
            schema: of the tuples.
            key: columns that say which row a tuple replaces; none when all are added.

        Raises:
            DatabaseUrlError: the address cannot be used.
        """
        self.name = table
        self.columns = columns
        self.key = key
        self.schema = schema
        self.url = resolve_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        owner, _, name = table.rpartition(".")
        self.table = sa.Table(
            name,
            sa.MetaData(),
            *(
                sa.Column(column, column_type(schema.field(attribute).type), primary_key=column in key)
                for attribute, column in columns.items()
            ),
            schema=owner or None,
        )
        options: dict[str, Any] = {"timeout": CONNECT_SECONDS} if self.sqlite else {"connect_timeout": CONNECT_SECONDS}
        if not self.sqlite and importlib.util.find_spec("psycopg") is None:
            message = "PostgreSQL needs the Python package psycopg; install it with `pip install 'psycopg[binary]'`"
            raise TableError(message)
        self._engine = sa.create_engine(self.url, connect_args=options, hide_parameters=True, pool_pre_ping=True)
        self._statement = self._upsert() if key else sa.insert(self.table)

    def prepare(self, *, create: bool) -> None:
        """See that table and marks are there and fit.

        Args:
            create: make the table if it is missing.

        Raises:
            TableError: it is missing, or its columns do not fit.
        """
        try:
            self._make(marks)
            existing = self._existing()
            if existing is None and create:
                self._make(self.table)
                existing = self._existing()
        except SQLAlchemyError as error:
            raise self._error(error) from error
        if existing is None:
            definition = str(CreateTable(self.table).compile(self._engine)).strip()
            message = (
                f"there is no table {self.name}; say createTable: true, or make it: {' '.join(definition.split())}"
            )
            raise TableError(message)
        self._check(existing)

    def write(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> int:
        """Write a delivery, unless it was written before: all of it or nothing.

        Returns:
            How many rows were written.

        Raises:
            TableError: the database refuses, or is not there; nothing was written.
        """
        mine = (marks.c.life == key.life, marks.c.operator == key.operator, marks.c.channel == key.channel)
        before = sa.or_(
            marks.c.generation < key.generation,
            sa.and_(marks.c.generation == key.generation, marks.c.number < key.number),
        )
        now = datetime.datetime.now(datetime.UTC)
        rows = 0
        try:
            with self._engine.begin() as connection:
                first = {"life": key.life, "operator": key.operator, "channel": key.channel}
                first |= {"generation": -1, "number": -1, "epoch": -1, "rows": 0}
                connection.execute(self._insert(marks).values(**first).on_conflict_do_nothing())
                # a second process waits here for the first, and then finds nothing to do
                values = {"generation": key.generation, "number": key.number, "epoch": key.epoch, "written_at": now}
                if connection.execute(sa.update(marks).where(*mine, before).values(**values)).rowcount == 0:
                    return 0
                for batch in batches:
                    for chunk in rows_of(batch, self.columns, decimals_as_text=self.sqlite):
                        connection.execute(self._statement, chunk)
                        rows += len(chunk)
                connection.execute(sa.update(marks).where(*mine).values(rows=marks.c.rows + rows))
        except SQLAlchemyError as error:
            raise self._error(error) from error
        return rows

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()

    def _insert(self, table: sa.Table) -> Any:
        return sqlite.insert(table) if self.sqlite else postgresql.insert(table)

    def _upsert(self) -> Any:
        new = self._insert(self.table)
        others = {column: new.excluded[column] for column in self.columns.values() if column not in self.key}
        if not others:
            return new.on_conflict_do_nothing(index_elements=list(self.key))
        return new.on_conflict_do_update(index_elements=list(self.key), set_=others)

    def _make(self, table: sa.Table) -> None:
        """Make a table if it is missing; another process may be doing so, too."""
        try:
            table.create(self._engine, checkfirst=True)
        except DBAPIError:
            if not sa.inspect(self._engine).has_table(table.name, schema=table.schema):
                raise

    def _existing(self) -> sa.Table | None:
        # checked first: reading the columns of a table that is made meanwhile may find it with none
        if not sa.inspect(self._engine).has_table(self.table.name, schema=self.table.schema):
            return None
        try:
            return sa.Table(self.table.name, sa.MetaData(), schema=self.table.schema, autoload_with=self._engine)
        except NoSuchTableError:
            return None

    def _check(self, existing: sa.Table) -> None:
        names = [column.name for column in existing.columns]
        for column in self.columns.values():
            if column not in names:
                message = (
                    f"the table {self.name} has no column {column}{nearest(column, names)}; "
                    "columns: {attribute: column} maps attributes to others, suppress leaves them out"
                )
                raise TableError(message)
        for column in existing.columns:
            supplied = column.name in self.columns.values() or column.nullable or column.server_default is not None
            counted = self.sqlite and column.primary_key and isinstance(column.type, sa.Integer)
            if not supplied and not column.identity and not counted:
                message = (
                    f"the column {column.name} of {self.name} is NOT NULL, has no default and no attribute: "
                    "map one with columns, or give it a default"
                )
                raise TableError(message)
        if self.key:
            inspector = sa.inspect(self._engine)
            unique = [tuple(column.name for column in existing.primary_key.columns)]
            for each in (
                *inspector.get_unique_constraints(existing.name, schema=existing.schema),
                *(index for index in inspector.get_indexes(existing.name, schema=existing.schema) if index["unique"]),
            ):
                unique.append(tuple(str(name) for name in each["column_names"]))
            if set(self.key) not in [set(columns) for columns in unique]:
                columns = ", ".join(self.key)
                message = (
                    f"key: the table {self.name} has no unique key of ({columns}); "
                    f"make one: CREATE UNIQUE INDEX ON {self.name} ({columns})"
                )
                raise TableError(message)

    def _error(self, error: SQLAlchemyError) -> TableError:
        """In words: what the database says, without statements and tuples, and what to do."""
        reason = str(getattr(error, "orig", None) or error).strip()
        if self.url.password and str(self.url.password) in reason:
            reason = reason.replace(str(self.url.password), "***")
        reason = reason.splitlines()[0] if reason else type(error).__name__
        place = self.url.get_backend_name()
        if isinstance(error, IntegrityError):
            remedy = "a constraint refuses the rows; mend the table or its constraints"
        elif isinstance(error, OperationalError):
            remedy = "check that it is up, and that user, password and database are right"
        else:
            remedy = "check the table's columns and their types, and the rights of the user"
        return TableError(f"table {self.name} ({place}): {reason}; {remedy}")
