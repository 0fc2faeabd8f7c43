"""The catalog: one SQL database that is the authority on where every application stands."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.schema import CreateTable

from streams_orchestration.runtime.errors import CatalogBusyError, CatalogError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.tables import metadata

BUSY_SECONDS = 20.0
LAYOUT = zlib.crc32("".join(str(CreateTable(table)) for table in metadata.sorted_tables).encode()) >> 1
"""Identifies the tables and columns, so that a catalog of another version is told from a damaged one."""


class Catalog:
    """Transactions on the catalog of one home.

    SQLite in write-ahead mode: readers never wait, writers take turns. A write transaction takes the write lock when it
    begins, so that what it reads stays true until it commits.
    """

    def __init__(self, home: Home, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = home.catalog
        self.busy_seconds = busy_seconds
        self._engine = _engine(self.path, busy_seconds)

    @classmethod
    def create(cls, home: Home) -> Catalog:
        """The catalog, made if there is none.

        Raises:
            StateDirectoryError: the home cannot be written.
            CatalogError: the file is no catalog, or cannot be written.
        """
        home.prepare()
        catalog = cls(home)
        if not catalog.exists:
            with catalog.write() as connection:
                metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {LAYOUT}")
        return catalog

    @property
    def exists(self) -> bool:
        """Whether anything was ever deployed in this home; a file that is just being made does not count yet.

        Raises:
            CatalogError: the file is no catalog, or one of another version.
        """
        if not self.path.exists():
            return False
        with self.read() as connection:
            if not inspect(connection).has_table(metadata.sorted_tables[0].name):
                return False
            layout = connection.exec_driver_sql("PRAGMA user_version").scalar()
        if layout != LAYOUT:
            message = (
                f"{self.path}: the catalog was made by another version of the product. Use that version, "
                "or start anew in another state directory (STREAMS_HOME); the results stay where they are."
            )
            raise CatalogError(message)
        return True

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view."""
        with self._errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that commits when the block ends and changes nothing when it raises."""
        with self._errors(), self._engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            reason = str(error.orig)
            if "locked" in reason or "busy" in reason:
                raise CatalogBusyError(self.path, self.busy_seconds) from error
            remedy = {
                "disk is full": "Make room on its disk",
                "readonly": "Give it and its directory write permission",
                "unable to open": "Check that its directory exists and can be written",
            }
            mend = next((text for sign, text in remedy.items() if sign in reason), "Look at the file and its disk")
            message = f"{self.path}: the catalog cannot be used: {reason}. {mend}. What was committed is kept."
            raise CatalogError(message) from error
        except IntegrityError as error:
            message = f"{self.path}: two processes wrote the same entry ({error.orig}); nothing was changed, try again"
            raise CatalogError(message) from error
        except DatabaseError as error:
            message = (
                f"{self.path}: not a catalog, or a damaged one: {error.orig}. "
                "Restore it from a copy, or move the state directory away and start anew."
            )
            raise CatalogError(message) from error


def _engine(path: Path, busy_seconds: float) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": busy_seconds, "check_same_thread": False})

    # SQLAlchemy's documented recipe: pysqlite must not begin transactions by itself, or there is no BEGIN IMMEDIATE.
    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
