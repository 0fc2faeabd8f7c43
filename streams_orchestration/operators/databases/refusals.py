"""Finds the rows that a database permanently refuses, and the column at fault."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from streams_orchestration.operators.databases.columns import NotStorableError, check_numbers
from streams_orchestration.operators.databases.errors import is_away, is_constraint

Row = dict[str, Any]
_NAMED = re.compile(
    r"[Cc]olumn [`']?(?:[^`'\s.]+[`']?\.[`']?)*([^`'\s.]+)[`']?|NOT NULL constraint failed: \S*?([^\s.]+)$"
)
"""Matches the column name in an error of MariaDB, MySQL or SQLite."""
_NOT_A_NUMBER = "can not be used with MySQL"
_OF_ROWS = ("22", "23", "P0001")
"""PostgreSQL SQLSTATEs about values: data exceptions, constraint violations, exceptions raised by triggers."""


class RefusedRow(NamedTuple):
    """A row that the database refuses, independent of the other rows."""

    number: int
    """The row's number within the delivery, from 1."""
    row: Row
    column: str
    """The column that causes the refusal; empty if it is unknown."""
    error: SQLAlchemyError | NotStorableError


def write_rows(
    connection: Connection,
    statement: Any,
    rows: Sequence[Row],
    number: int,
    table: sa.Table | None,
    numbers: Sequence[str] = (),
) -> Iterator[RefusedRow]:
    """Write rows in a transaction while the result is iterated. Refused rows are found by bisection and yielded.

    Args:
        connection: a connection in a transaction.
        statement: the statement that takes rows.
        rows: the rows by column.
        number: the number of the first row.
        table: the table as it is in the database, if known.
        numbers: columns to check for numbers that the database cannot store.

    Raises:
        SQLAlchemyError: the cause is not in a row.
    """
    savepoint = connection.begin_nested()
    try:
        for row in rows if numbers else ():
            check_numbers(row, numbers, connection.dialect.name)
        connection.execute(statement, rows)
    except (SQLAlchemyError, NotStorableError) as error:
        if isinstance(error, SQLAlchemyError) and not is_of_row(error):
            raise
        savepoint.rollback()
        if len(rows) == 1:
            is_number = isinstance(error, NotStorableError)
            column = error.column if is_number else column_of(connection, error, rows[0], table)
            yield RefusedRow(number, rows[0], column, error)
            return
        middle = len(rows) // 2
        yield from write_rows(connection, statement, rows[:middle], number, table, numbers)
        yield from write_rows(connection, statement, rows[middle:], number + middle, table, numbers)
    else:
        savepoint.commit()


def is_of_row(error: SQLAlchemyError) -> bool:
    """Return True if an error comes from the values of a row, so a retry would fail as well."""
    if isinstance(error, DataError | IntegrityError) or is_constraint(error):
        return True
    original = getattr(error, "orig", None)
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_OF_ROWS) and not is_away(error)
    return _NOT_A_NUMBER in str(original)


def column_of(connection: Connection, error: SQLAlchemyError, row: Row, table: sa.Table | None) -> str:
    """Return the column because of which a row is refused; empty if it is unknown.

    PostgreSQL names no column in many errors. Each value of the row is then cast in the connection's transaction,
    within a savepoint, to find the one that its column refuses.
    """
    original: Any = getattr(error, "orig", None)
    named = getattr(getattr(original, "diag", None), "column_name", None)
    if named:
        return str(named)
    if connection.dialect.name != "postgresql":
        found = _NAMED.search(str(original).splitlines()[0] if str(original) else "")
        return next((name for name in (found.groups() if found else ()) if name in row), "")
    with_nul = next((name for name, value in row.items() if isinstance(value, str) and "\0" in value), None)
    if with_nul is not None:
        return with_nul
    return "" if table is None or isinstance(error, IntegrityError) else _by_type(connection, row, table)


def _by_type(connection: Connection, row: Row, table: sa.Table) -> str:
    """Return the first column whose type refuses its value.

    PostgreSQL's error names no column, so each value is tried. The name is empty if no type does.
    """
    for name, value in row.items():
        kind = table.columns[name].type
        if isinstance(kind, sa.String) and kind.length is not None and len(str(value or "")) > kind.length:
            return name
        savepoint = connection.begin_nested()
        try:
            connection.execute(sa.select(sa.cast(sa.bindparam("value", value), kind)))
        except SQLAlchemyError:
            savepoint.rollback()
            return name
        savepoint.commit()
    return ""


def write_one_by_one(
    connection: Connection, statement: Any, refused: Sequence[RefusedRow], table: sa.Table | None
) -> list[RefusedRow]:
    """Retry refused rows until a pass accepts none of them, and return the others: a row may refer to a later one.

    Raises:
        SQLAlchemyError: the cause is not in a row.
    """
    while True:
        left = [
            each._replace(column=again.column, error=again.error)
            for each in refused
            for again in write_rows(connection, statement, [each.row], each.number, table)
        ]
        if len(left) == len(refused):
            return left
        refused = left
