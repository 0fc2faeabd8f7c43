"""A catalog in an SQLite file, in write-ahead mode: readers never wait, writers take turns."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from streams_orchestration import world
from streams_orchestration.operators.storage.durable_files import NO_LINKS, sync_contents, sync_names
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog.changes import CommitListener, notify, open_file_listener
from streams_orchestration.runtime.catalog.database import Database, Mode, reason_of
from streams_orchestration.runtime.errors.errors import (
    CatalogBusyError,
    CatalogDamagedError,
    CatalogError,
    CatalogMissingError,
    CatalogPlaceError,
    CatalogUnavailableError,
)

PASSING = ("disk is full", "I/O", "readonly", "unable to open")
"""Parts of messages about errors that can pass, such as a full disk."""
REMEDIES = {
    "disk is full": "Make room on its disk",
    "readonly": "Give it and its directory write permission",
    "unable to open": "Check that its directory exists and can be written",
}

DAMAGE = ("malformed", "corrupt", "not a database", "unsupported file format", "Could not decode", "JSON")
"""Parts of messages about a file that is damaged."""
CHECK_SECONDS = 5.0
"""The longest time of a check for damage in seconds; after that, the damage found so far is reported."""
CHECK_STEPS = 100_000
"""The steps of SQLite's machine between two readings of the time in a check for damage."""
FINDINGS = 3
"""The number of findings of a check for damage that a message shows."""

SWITCH_PAUSES = Pauses(first=0.005, longest=0.5)
"""Pauses between two attempts to switch a new file to write-ahead mode."""

NOTIFIED = "-notified"
"""Suffix of the notification file, whose times are set after commits, since SQLite cannot notify other processes."""


class SqliteDatabase(Database):
    """A catalog in one SQLite file, which no connection creates: `create` does, with all tables."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.name = str(path)
        self._notified = path.with_name(path.name + NOTIFIED)
        self._busy_seconds = busy_seconds
        self.engine = create_engine(
            f"sqlite:///{path}", creator=self._connect, json_deserializer=self._json, hide_parameters=True
        )

        @event.listens_for(self.engine, "connect")
        def _on_connect(connection: Any, _record: Any) -> None:
            # SQLAlchemy's documented recipe: pysqlite must not begin transactions by itself
            connection.isolation_level = None
            cursor = connection.cursor()
            self._switch(cursor)
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.close()

    def _connect(self) -> sqlite3.Connection:
        address = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(address, timeout=self._busy_seconds, check_same_thread=False, uri=True)

    def _switch(self, cursor: sqlite3.Cursor) -> None:
        """Switch the file to write-ahead mode, unless it is in it.

        While another process does the same with a new file, SQLite refuses this at once, whatever the timeout is. So
        this method tries again, for as long as a writer waits for its turn.
        """
        until, failures = 0.0, 0
        while True:
            try:
                cursor.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                failures += 1
                if failures == 1:
                    until = world.monotonic() + self._busy_seconds
                pause = SWITCH_PAUSES.after(failures)
                if "locked" not in str(error) or world.monotonic() + pause > until:
                    raise
            else:
                return
            world.sleep(pause)

    @classmethod
    def at(cls, url: URL, busy_seconds: float) -> SqliteDatabase:
        """Return the database of an address.

        Raises:
            CatalogPlaceError: the address does not name a file that every process finds.
        """
        path = Path(url.database or "")
        if not path.is_absolute():
            message = "the file's path must be absolute, with four slashes: sqlite:////directory/catalog.db"
            raise CatalogPlaceError(message)
        return cls(path, busy_seconds)

    def begin_statement(self, mode: Mode, unit: str = "") -> str:  # noqa: ARG002  there is one lock
        """Return the statement that begins a transaction; a writer takes the lock before it reads anything."""
        return "BEGIN" if mode == "read" else "BEGIN IMMEDIATE"

    def synchronise(self, connection: Connection) -> None:
        """Do nothing, because SQLite uses the clock of the machine."""

    def identity(self) -> tuple[int, int] | None:
        """Return device and inode of the file, which differ for a new file in its place; None if there is no file."""
        try:
            facts = self.path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def open_listener(self) -> CommitListener:
        """Return a listener to a file beside the catalog's file."""
        if not self.path.exists():
            raise FileNotFoundError(self.path)
        return open_file_listener(self._notified)

    # a file beside the catalog cannot say which application has changed
    def notify_listeners(self, connection: Connection, changed: str) -> None:  # noqa: ARG002
        """Notify the listeners."""
        notify(self._notified)

    def exists(self) -> bool:
        """Return True if the file exists."""
        return self.path.exists()

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Create the file with its tables under another name, then link it, so that it never exists without tables.

        Do nothing if the file exists, and keep the file of another process that was faster. A file system without hard
        links gets an empty file.
        """
        if self.path.exists():
            return
        part = SqliteDatabase(self.path.with_name(f".{self.path.name}.{world.new_id()}"), self._busy_seconds)
        try:
            part.path.touch()
            connection, transaction = part.begin("create")
            with connection, transaction:
                fill(connection)
            part.engine.dispose()
            sync_contents([part.path])
            with suppress(FileExistsError):
                os.link(part.path, self.path)
            sync_names([self.path])
        except DBAPIError as error:
            raise self.error(error) from error
        except OSError as error:
            if error.errno not in NO_LINKS:
                reason = f"{error.strerror or error}. {REMEDIES['unable to open']}."
                message = f"{self.name}: the catalog cannot be created: {reason}"
                raise CatalogError(message) from error
            self.path.touch()
        finally:
            part.engine.dispose()
            for path in self.path.parent.glob(f"{part.path.name}*"):
                with suppress(OSError):
                    path.unlink()

    def prepare(self, connection: Connection) -> None:
        """Do nothing: an SQLite file needs no preparation."""

    def damage(self, *, indexes: bool = False) -> str | None:
        """Return the first `FINDINGS` findings of SQLite's own check; None without any, or if it cannot read the file.

        The check reads the whole file, about 1 GB a second, and ends after `CHECK_SECONDS` with the findings so far. An
        error that shows damage, with which it fails, is the result.

        Args:
            indexes: also compare the indexes with the tables.
        """
        check = "integrity_check" if indexes else "quick_check"
        until, findings = world.monotonic() + CHECK_SECONDS, list[str]()

        def note(text: str) -> None:
            findings.extend(line for line in text.splitlines() if not line.startswith("***"))

        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as connection:
                connection.set_progress_handler(lambda: world.monotonic() > until, CHECK_STEPS)
                # a cursor loses the row in front of an error, so a function of SQL notes each finding
                connection.create_function("note", 1, note)
                statement = f"SELECT note({check}) FROM pragma_{check}({FINDINGS})"  # noqa: S608  both are constants
                connection.execute(statement).fetchall()
        except sqlite3.DatabaseError as error:
            reason = str(error)
            if any(sign in reason for sign in DAMAGE):
                return reason
        return None if findings in ([], ["ok"]) else "; ".join(findings[:FINDINGS])

    def _json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise CatalogDamagedError(self.name, "a value is not JSON") from error

    def doubtful(self, error: DBAPIError) -> bool:
        """Return True for an error of the disk, after which it is unknown whether the transaction was committed."""
        return "I/O" in reason_of(error)

    def refusal(self, error: DBAPIError) -> CatalogError:
        """Return the error for a lock that is not free, a full disk, or a file that is damaged or not a catalog.

        It is a CatalogUnavailableError if the fault may pass by itself. If the error may come from
        damage, the file is checked for it; see `damage`.
        """
        reason = reason_of(error).partition(" with text")[0]  # the bytes follow
        if "unable to open" in reason and self.path.is_dir():
            return CatalogError(f"{self.name}: the catalog must be a file, but this is a directory. Move it away.")
        missing = "unable to open" in reason and self.path.parent.is_dir() and not self.path.exists()
        if missing or "no such table" in reason:
            return CatalogMissingError(f"{self.name}: there is no catalog: {reason}")
        if any(sign in reason for sign in DAMAGE) or not isinstance(error, OperationalError):
            found = self.damage(indexes=True)
            return CatalogDamagedError(self.name, reason if found in (None, reason) else f"{reason}; {found}")
        if "locked" in reason or "busy" in reason:
            return CatalogBusyError(self.name, self._busy_seconds, "for example with `fuser`")
        mend = next((text for sign, text in REMEDIES.items() if sign in reason), "Check the file and its disk")
        message = f"{self.name}: the catalog cannot be used: {reason}. {mend}. Committed data is kept."
        passing = any(sign in reason for sign in PASSING)
        return CatalogUnavailableError(message) if passing else CatalogError(message)
