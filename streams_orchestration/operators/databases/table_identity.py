"""The identity of a table, which an offset has: one that was dropped and made anew is told from the one that was read.

The catalog of PostgreSQL numbers its tables. MariaDB and MySQL tell when a table was made, which an ALTER may change;
SQLite has a number that each change of the schema raises. Where those change, the rows that were read decide.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection


class TableIdentity(NamedTuple):
    """The sign of a table, and whether another sign is another table for sure."""

    sign: str
    exact: bool


_POSTGRESQL = sa.text("SELECT oid FROM pg_class WHERE oid = to_regclass(:name) AND relkind IN ('r', 'p')")
_SQLITE = sa.text("SELECT schema_version FROM pragma_schema_version")
_MYSQL = sa.text(
    "SELECT CREATE_TIME FROM INFORMATION_SCHEMA.TABLES "
    "WHERE TABLE_NAME = :name AND TABLE_SCHEMA = COALESCE(:owner, DATABASE())"
)


def table_identity(connection: Connection, table: str) -> TableIdentity | None:
    """Return the identity of a table, None of a view.

    Args:
        connection: to its database.
        table: its name, with that of its schema in front if need be.
    """
    owner, _, name = table.rpartition(".")
    match connection.dialect.name:
        case "postgresql":
            quoted = connection.dialect.identifier_preparer.format_table(sa.table(name, schema=owner or None))
            sign, exact = connection.scalar(_POSTGRESQL, {"name": quoted}), True
        case "sqlite":
            sign, exact = connection.scalar(_SQLITE), False
        case _:
            sign, exact = connection.scalar(_MYSQL, {"name": name, "owner": owner or None}), False
    return None if sign is None else TableIdentity(str(sign), exact)
