"""A table or query that is read incrementally by a column whose values grow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
from sqlalchemy.types import NullType

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.databases.address import resolve_url
from streams_orchestration.operators.databases.connecting import engine_of
from streams_orchestration.operators.databases.errors import DatabaseError, explained

CHUNK = 10_000
"""Rows per chunk from the database."""
_COLON = re.compile(r"(?<![:\\]):(?!:)")
_POSTGRESQL = sa.text("SELECT oid FROM pg_class WHERE oid = to_regclass(:name) AND relkind IN ('r', 'p')")
_SQLITE = sa.text("SELECT schema_version FROM pragma_schema_version")
_MYSQL = sa.text(
    "SELECT CREATE_TIME FROM INFORMATION_SCHEMA.TABLES "
    "WHERE TABLE_NAME = :name AND TABLE_SCHEMA = COALESCE(:owner, DATABASE())"
)
"""SQL query for the creation time of a table in MariaDB and MySQL, as its identity. ALTER may change the time."""


class TableIdentity(NamedTuple):
    """The identity of a table: its `sign`. Offsets store it to detect that a table was dropped and created again."""

    sign: str
    exact: bool
    """True if another sign proves that the table was created again. Otherwise ALTER may have changed the sign."""


class Range(NamedTuple):
    """Rows in order of the growing column. Rows with equal values are never split across ranges."""

    upper: Any
    """The upper bound of the growing column: all rows up to this value were read. None if there was no bound."""
    chunks: list[Sequence[Sequence[Any]]]
    """The rows, in chunks: the wanted columns, then the growing one."""

    @property
    def number(self) -> int:
        """The number of rows."""
        return sum(map(len, self.chunks))


class IncrementalTable:
    """A table or query that is read by its growing column.

    All methods raise DatabaseError; it is a DatabaseAwayError if the database cannot be reached.
    """

    def __init__(self, url: str, *, table: str | None, query: str | None, column: str, columns: Mapping[str, str]):
        """Check the address. A connection is made on first use.

        Args:
            url: the address, with references to environment variables.
            table: the table's name, with its schema if needed; exactly one of `table` and `query` is given.
            query: a SELECT statement.
            column: the growing column.
            columns: maps attributes to the columns to read.

        Raises:
            DatabaseUrlError: the address cannot be used.
        """
        self.name = f"table {table}" if table else "the query"
        self.column = column
        self._table = table
        self._columns = dict(columns)
        self._url = resolve_url(url)
        self._engine = engine_of(self._url)
        self._by: Any = sa.column(column)
        self._relation: Any = _relation(table, query)
        self._order: list[str] | None = None
        self.unindexed = False
        """True if no index starts with the growing column; determined on the first statement."""

    def highest(self) -> Any:
        """Return the largest value of the growing column, or None if no row has a value.

        Raises:
            DatabaseError: a column is missing, or the database refuses.
            DatabaseAwayError: the database cannot be reached.
        """
        return self._scalar(sa.select(sa.func.max(self._by)).select_from(self._relation))

    def identity(self) -> TableIdentity | None:
        """Return the identity of the table; None for a query, a missing table, and except in SQLite for a view.

        Raises:
            DatabaseError: the database refuses.
            DatabaseAwayError: the database cannot be reached.
        """
        if self._table is None:
            return None
        with self._connected() as connection:
            return table_identity(connection, self._table)

    def has_nulls(self) -> bool:
        """Return True if the growing column is null in some row; those rows are never read."""
        statement = sa.select(sa.literal_column("1")).select_from(self._relation).where(self._by.is_(None)).limit(1)
        return self._scalar(statement) is not None

    def has(self, value: Any) -> bool:
        """Return True if the growing column has this value in some row."""
        one = sa.select(sa.literal_column("1")).select_from(self._relation)
        return self._scalar(one.where(self._by == sa.bindparam("value", value, type_=NullType())).limit(1)) is not None

    def count(self, after: Any, upper: Any, most: int) -> int:
        """Count the rows whose growing column is above `after` and at most `upper`. Stop at `most`.

        None as `after` starts at the first row, None as `upper` goes to the last.
        """
        some = sa.select(sa.literal_column("1").label("one")).select_from(self._relation)
        inner = some.where(*self._between(after, upper)).limit(most).subquery("counted")
        return int(self._scalar(sa.select(sa.func.count()).select_from(inner)) or 0)

    def read(self, after: Any, ceiling: Any, limit: int) -> Range:
        """Return about `limit` rows after `after` (None: from the start) and up to `ceiling` (None: to the end).

        All rows with the last value are among them. If fewer than `limit` rows are left, the upper bound of the range
        is `ceiling`.
        """
        between = self._between(after, ceiling)
        last = sa.select(self._by).select_from(self._relation).where(*between).order_by(self._by)
        names = [*self._columns.values(), self.column]
        with self._connected() as connection:
            self._prepare(connection)
            upper = connection.scalar(last.limit(1).offset(max(limit, 1) - 1))
            upper = ceiling if upper is None else upper
            statement = (
                sa.select(*(sa.column(name).label(f"c{number}") for number, name in enumerate(names)))
                .select_from(self._relation)
                .where(*self._between(after, upper))
                .order_by(self._by, *(sa.column(name) for name in self._order or ()))
            )
            rows = connection.execution_options(yield_per=CHUNK).execute(statement)
            return Range(upper, [list(chunk) for chunk in rows.partitions()])

    def _scalar(self, statement: Any) -> Any:
        with self._connected() as connection:
            self._prepare(connection)
            return connection.scalar(statement)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise explained(error, self.name, self._url) from error

    def _between(self, after: Any, upper: Any) -> list[Any]:
        conditions: list[Any] = []
        if after is not None:
            conditions.append(self._by > sa.bindparam("after", after, type_=NullType()))
        if upper is not None:
            conditions.append(self._by <= sa.bindparam("upper", upper, type_=NullType()))
        return conditions

    def _prepare(self, connection: Connection) -> None:
        """Check once that all columns exist; note the order of rows and whether the column lacks an index."""
        if self._order is not None:
            return
        nothing = sa.select(sa.text("*")).select_from(self._relation).where(sa.text("1 = 0"))
        names = list(connection.execute(nothing).keys())
        for column in (self.column, *self._columns.values()):
            if column not in names:
                message = f"{self.name} has no column {column}{nearest(column, names)}"
                raise DatabaseError(message)
        self.unindexed = self._is_unindexed(connection)
        key = self._primary_key(connection) or [self.column, *self._columns.values()]
        self._order = [name for name in dict.fromkeys(key) if name != self.column]

    def _is_unindexed(self, connection: Connection) -> bool:
        if self._table is None:
            return False
        owner, _, name = self._table.rpartition(".")
        inspector = sa.inspect(connection)
        try:
            of_table = {"table_name": name, "schema": owner or None}
            indexes = [each["column_names"] for each in inspector.get_indexes(**of_table)]
            indexes += [each["column_names"] for each in inspector.get_unique_constraints(**of_table)]
            indexes.append(inspector.get_pk_constraint(**of_table)["constrained_columns"])
            is_view = name in inspector.get_view_names(schema=owner or None)
        except (NoSuchTableError, NotImplementedError):  # a view, or a database that does not tell
            return False
        return not is_view and not any(columns[:1] == [self.column] for columns in indexes)

    def _primary_key(self, connection: Connection) -> list[str]:
        """Return the primary key, which orders rows with the same value of the growing column; empty without one."""
        if self._table is None:
            return []
        owner, _, name = self._table.rpartition(".")
        try:
            key = sa.inspect(connection).get_pk_constraint(name, schema=owner or None)
        except NoSuchTableError:  # a view
            return []
        return list(key["constrained_columns"])


def _relation(table: str | None, query: str | None) -> Any:
    if table is not None:
        owner, _, name = table.rpartition(".")
        return sa.table(name, schema=owner or None)
    text = _COLON.sub(r"\\:", str(query).strip().rstrip(";"))
    return sa.text(text).columns().subquery("rows_of_the_query")


def table_identity(connection: Connection, table: str) -> TableIdentity | None:
    """Return the identity of a table; None for a view or a missing table, except in SQLite.

    SQLite has no identity of a table, so the version of its whole schema is used.

    Args:
        connection: a connection to the table's database.
        table: the name of the table, with its schema if needed.

    Raises:
        SQLAlchemyError: the database cannot be asked.
    """
    owner, _, name = table.rpartition(".")
    match connection.dialect.name:
        case "postgresql":
            quoted = connection.dialect.identifier_preparer.format_table(sa.table(name, schema=owner or None))
            sign, exact = connection.scalar(_POSTGRESQL, {"name": quoted}), True
        case "sqlite":
            sign, exact = connection.scalar(_SQLITE), False
        case _:
            sign = connection.scalar(_MYSQL, {"name": name, "owner": owner or None})
            exact = False
    return None if sign is None else TableIdentity(str(sign), exact)
