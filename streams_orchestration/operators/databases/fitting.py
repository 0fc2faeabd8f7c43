"""Checks that an existing table fits the configuration of a sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy import Engine

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.databases.errors import DatabaseRefusedError


def check_fit(engine: Engine, existing: sa.Table, name: str, columns: Sequence[str], key: Sequence[str]) -> None:
    """Check that tuples can be written to the table.

    Args:
        engine: the engine of the database.
        existing: the table as it is.
        name: the name that the sink uses.
        columns: the written columns.
        key: the key columns, which decide which row a tuple replaces.

    Raises:
        DatabaseRefusedError: a column is missing, a column needs a value that no attribute supplies, the table has no
            unique key of these columns, or in MariaDB and MySQL it has another unique key.
        SQLAlchemyError: the database cannot be asked.
    """
    _check_columns(engine, existing, name, columns)
    if not key:
        return
    unique = list(_unique_keys(engine, existing))
    if set(key) not in unique:
        listed = ", ".join(key)
        message = (
            f"key: the table {name} has no unique key of ({listed}); "
            f"create one: CREATE UNIQUE INDEX {_index_name(engine, name)}ON {name} ({listed})"
        )
        raise DatabaseRefusedError(message)
    counted = {
        column.name for column in existing.columns if column.autoincrement is True and column.name not in columns
    }
    others = [each for each in unique if not each >= set(key) and not each & counted]
    if engine.dialect.name == "mysql" and others:
        message = (
            f"key: the table {name} has another unique key, ({', '.join(sorted(others[0]))}), and MariaDB and "
            "MySQL would also replace rows that match it; drop it, or leave key out"
        )
        raise DatabaseRefusedError(message)


def check_transactions(engine: Engine, *tables: sa.Table) -> None:
    """Check that the tables support transactions. In MariaDB and MySQL that depends on the storage engine.

    Raises:
        DatabaseRefusedError: a table's storage engine has no transactions.
        SQLAlchemyError: the database cannot be asked.
    """
    if engine.dialect.name != "mysql":
        return
    statement = sa.text(
        "SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine "
        "WHERE t.table_schema = COALESCE(:schema, DATABASE()) AND t.table_name = :name AND e.transactions <> 'YES'"
    )
    with engine.connect() as connection:
        for table in tables:
            storage = connection.scalar(statement, {"schema": table.schema, "name": table.name})
            if storage is not None:
                message = (
                    f"the storage engine of the table {table.name}, {storage}, has no transactions, so a failed "
                    f"delivery would leave some of its rows; run ALTER TABLE {table.name} ENGINE = InnoDB"
                )
                raise DatabaseRefusedError(message)


def _check_columns(engine: Engine, existing: sa.Table, name: str, columns: Sequence[str]) -> None:
    names = [column.name for column in existing.columns]
    for column in columns:
        if column not in names:
            message = (
                f"the table {name} has no column {column}{nearest(column, names)}; "
                "columns: {attribute: column} maps attributes to others, suppress leaves them out"
            )
            raise DatabaseRefusedError(message)
    for column in existing.columns:
        supplied = column.name in columns or column.nullable or column.server_default is not None
        rowid = engine.dialect.name == "sqlite" and column.primary_key and isinstance(column.type, sa.Integer)
        if not supplied and not column.identity and not rowid and column.autoincrement is not True:
            message = (
                f"the column {column.name} of {name} is NOT NULL, has no default and no attribute: "
                "map one with columns, or give it a default"
            )
            raise DatabaseRefusedError(message)


def _unique_keys(engine: Engine, existing: sa.Table) -> Iterator[set[str]]:
    inspector = sa.inspect(engine)
    if len(existing.primary_key.columns):
        yield {column.name for column in existing.primary_key.columns}
    # SQLite lists the index of a UNIQUE column only with this option
    options = {"include_auto_indexes": True} if engine.dialect.name == "sqlite" else {}
    indexes = inspector.get_indexes(existing.name, schema=existing.schema, **options)
    for each in (
        *inspector.get_unique_constraints(existing.name, schema=existing.schema),
        *(index for index in indexes if index["unique"]),
    ):
        yield {str(name) for name in each["column_names"]}


def _index_name(engine: Engine, table: str) -> str:
    """Return a name for a new index, followed by a blank; empty for PostgreSQL, which chooses one itself."""
    return "" if engine.dialect.name == "postgresql" else f"{table.rpartition('.')[2]}_key "
