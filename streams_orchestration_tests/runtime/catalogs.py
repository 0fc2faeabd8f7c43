"""Catalogs to which something happens from outside."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from streams_orchestration.runtime.catalog.address import database_of
from streams_orchestration.runtime.catalog.postgresql import PostgresqlDatabase
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.storage.home import Home


def remove_catalog(home: Home) -> None:
    """Remove the catalog, while others may use it."""
    database = database_of(home)
    if isinstance(database, SqliteDatabase):
        for path in database.path.parent.glob(f"{database.path.name}*"):
            path.unlink()
    elif isinstance(database, PostgresqlDatabase):
        url = database.engine.url
        host = str(url.query["host"])
        with psycopg.connect(host=host, user=url.username, dbname=url.database, autocommit=True) as connection:
            while True:  # the server ends one of two transactions that lock the tables in different orders
                with suppress(psycopg.errors.DeadlockDetected):
                    connection.execute(f"DROP SCHEMA {database.schema} CASCADE".encode())
                    break
