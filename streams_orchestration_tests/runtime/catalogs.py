"""Catalogs to which something happens from outside."""

from __future__ import annotations

import psycopg

from streams_orchestration.runtime.catalog.address import database_of
from streams_orchestration.runtime.catalog.postgresql import PostgresqlDatabase
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.storage.home import Home


def remove_catalog(home: Home) -> None:
    """Somebody removes it."""
    database = database_of(home)
    if isinstance(database, SqliteDatabase):
        for path in database.path.parent.glob(f"{database.path.name}*"):
            path.unlink()
    elif isinstance(database, PostgresqlDatabase):
        url = database.engine.url
        host = str(url.query["host"])
        with psycopg.connect(host=host, user=url.username, dbname=url.database, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {database.schema} CASCADE".encode())
