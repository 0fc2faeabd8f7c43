"""A catalog in an SQLite file, in write-ahead mode: readers never wait, writers take turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from streams_orchestration.runtime.catalog.changes import Bell, file_bell, ring
from streams_orchestration.runtime.catalog.database import Database, Mode, reason_of
from streams_orchestration.runtime.catalog.versions import UNVERSIONED
from streams_orchestration.runtime.errors import (
    CatalogBusyError,
    CatalogError,
    CatalogMissingError,
    CatalogPlaceError,
    CatalogUnavailableError,
)

PASSING = ("disk is full", "I/O", "readonly", "unable to open")
"""Signs of errors that can pass: when there is room, a disk, or the right to write again."""
REMEDIES = {
    "disk is full": "Make room on its disk",
    "readonly": "Give it and its directory write permission",
    "unable to open": "Check that its directory exists and can be written",
}


BELL = "-bell"
"""Suffix of the name of the bell's file, whose times tell of a commit. SQLite cannot wake another process."""


class SqliteDatabase(Database):
    """One file."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.name = str(path)
        self._bell = path.with_name(path.name + BELL)
        self._busy_seconds = busy_seconds
        arguments = {"timeout": busy_seconds, "check_same_thread": False}
        self.engine = create_engine(f"sqlite:///{path}", connect_args=arguments)

        @event.listens_for(self.engine, "connect")
        def _on_connect(connection: Any, _record: Any) -> None:
            # SQLAlchemy's documented recipe: pysqlite must not begin transactions by itself
            connection.isolation_level = None
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.close()

        self.listen()

    @classmethod
    def at(cls, url: URL, busy_seconds: float) -> SqliteDatabase:
        """The file that an address names.

        Raises:
            CatalogPlaceError: it names none that every process finds.
        """
        path = Path(url.database or "")
        if not path.is_absolute():
            message = "the file's path must be absolute, with four slashes: sqlite:////directory/catalog.db"
            raise CatalogPlaceError(message)
        return cls(path, busy_seconds)

    def begin(self, mode: Mode, unit: str = "") -> str:  # noqa: ARG002  there is one lock
        """Return the statement that begins a transaction; a writer takes the lock before it reads anything."""
        return "BEGIN" if mode == "read" else "BEGIN IMMEDIATE"

    def synchronise(self, connection: Connection) -> None:
        """Do nothing: SQLite's clock is that of the machine."""

    def identity(self) -> tuple[int, int] | None:
        """Return device and inode of the file, which differ for a new file in its place; None when there is none."""
        try:
            facts = self.path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def bell(self) -> Bell:
        """Return the bell of the file beside the catalog's."""
        if not self.path.exists():
            raise FileNotFoundError(self.path)
        return file_bell(self._bell)

    def committed(self, connection: Connection, changed: str) -> None:  # noqa: ARG002  it cannot say what has changed
        """Ring the bell."""
        ring(self._bell)

    def exists(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()

    def prepare(self, connection: Connection) -> None:
        """Do nothing: the file exists already."""

    def unversioned(self, connection: Connection) -> str | None:
        """Return the revision that the mark in `PRAGMA user_version` stands for; None without a mark."""
        mark = connection.exec_driver_sql("PRAGMA user_version").scalar()
        return UNVERSIONED.get(mark, f"layout {mark}") if mark else None

    def doubtful(self, error: DBAPIError) -> bool:
        """Whether the disk failed: then it is unknown what was written."""
        return "I/O" in reason_of(error)

    def refusal(self, error: DBAPIError) -> CatalogError:
        """A lock that is not obtained, a full disk, a file that cannot be used, or that is no catalog."""
        reason = reason_of(error)
        if "no such table" in reason:
            return CatalogMissingError(f"{self.name}: there is no catalog: {reason}")
        if not isinstance(error, OperationalError):
            message = (
                f"{self.name}: not a catalog, or a damaged one: {reason}. "
                "Restore it from a copy, or move the state directory away and start anew."
            )
            return CatalogError(message)
        if "locked" in reason or "busy" in reason:
            return CatalogBusyError(self.name, self._busy_seconds, "for example with `fuser`")
        mend = next((text for sign, text in REMEDIES.items() if sign in reason), "Look at the file and its disk")
        message = f"{self.name}: the catalog cannot be used: {reason}. {mend}. What was committed is kept."
        passing = any(sign in reason for sign in PASSING)
        return CatalogUnavailableError(message) if passing else CatalogError(message)
