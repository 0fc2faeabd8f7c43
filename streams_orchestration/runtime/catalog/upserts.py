"""Upserts, which insert a row or replace the row with its key; every database has its own syntax for them."""

from __future__ import annotations

import functools
from importlib import import_module

from sqlalchemy import Connection, Insert, Table


def upsert(connection: Connection, table: Table) -> Insert:
    """Return the upsert of a table for the kind of database of a connection; it needs a value for every column."""
    return _upsert(connection.dialect.name, table)


@functools.cache  # making a statement takes longer than running it
def _upsert(dialect: str, table: Table) -> Insert:
    insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)  # every process uses one of them only
    values = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)
