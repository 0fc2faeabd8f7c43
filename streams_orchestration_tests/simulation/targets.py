"""The servers of a simulation that sinks write to, and the database among them: SQLite as a server.

Connections to it can be lost. A process may be interrupted before each statement that writes and around the commit.
The server rolls back what a killed process has not committed, and ends the session of one that stands still while
another waits for its lock.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from streams_orchestration.operators.databases import table
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal, SimulatedProcess

FILE = "target.db"
"""The name of the database below the state directory."""
READING = ("SELECT", "PRAGMA")
PATIENCE_SECONDS, IDLE_SECONDS = 10.0, 5.0
"""Seconds that a session waits for a lock, and after which the session of a process that stands still is ended."""
GONE, BROKEN, LOCKED = "unable to open database file", "disk I/O error", "database is locked"


def path_of(home: Home) -> Path:
    """Return the file of the database that the sinks of a state directory write to."""
    return home.root / FILE


@contextlib.contextmanager
def plain(home: Home) -> Iterator[None]:
    """Let sinks within a block write to the database of a state directory, without faults."""
    address = f"sqlite:///{path_of(home)}"
    with patch.object(table, "engine_of", lambda _url: create_engine(address, poolclass=NullPool)):
        yield


class TargetServer:
    """A server that sinks write to."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.away_until = 0.0
        """Simulated time until which it answers nobody."""
        self.lose_next: str | None = None
        """`before` or `after`: the next commit loses its connection before, or after, it has taken effect."""
        self.commits = 0
        self.on_commit: Callable[[], None] = lambda: None
        """Called after each transaction that writes."""

    def is_reached(self) -> bool:
        """Return True if it answers the process that asks."""
        now = self.scheduler.now
        return now >= self.away_until and now >= self.scheduler.machine.storage_away_until

    def end(self, process: SimulatedProcess) -> None:
        """End the connections of a process that has ended, if the server has any."""


class Target(TargetServer):
    """The database, and the sessions of all simulated processes."""

    def __init__(self, scheduler: Scheduler, path: Path) -> None:
        super().__init__(scheduler)
        self.path = path
        self._writer: Session | None = None
        self._freed = Signal()
        self._owners: dict[Session, SimulatedProcess] = {}
        """The processes of the sessions that have a transaction open."""
        self._ended: set[Session] = set()

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let the sinks of all processes within a block write here."""
        with patch.object(table, "engine_of", self._engine):
            yield

    def _engine(self, _url: object) -> Engine:
        return create_engine("sqlite://", creator=self._connect, poolclass=NullPool, hide_parameters=True)

    def _connect(self) -> Session:
        self.scheduler.step("target connect")
        if not self.is_reached():
            raise sqlite3.OperationalError(GONE)
        session: Session = sqlite3.connect(self.path, timeout=0.0, check_same_thread=False, factory=Session)
        session.target = self
        sqlite3.Connection.execute(session, "PRAGMA journal_mode=WAL")
        sqlite3.Connection.execute(session, "PRAGMA synchronous=OFF")
        return session

    def before(self, session: Session, sql: str) -> None:
        """Step before a statement that writes, and wait for the lock before the first one of a transaction."""
        self._require(session)
        if sql.lstrip().upper().startswith(READING):
            return
        self.scheduler.step("target statement" if session.in_transaction else "target begin")
        self._require(session)
        if not session.in_transaction:
            self._take(session)

    def _take(self, session: Session) -> None:
        """Take the lock, and begin a transaction."""
        until = self.scheduler.now + PATIENCE_SECONDS
        while self._writer is not None:
            patience = min(until - self.scheduler.now, IDLE_SECONDS)
            if not self.scheduler.wait(self._freed, max(patience, 0.0)):
                self._end_idle()
                if self._writer is not None and self.scheduler.now >= until:
                    raise sqlite3.OperationalError(LOCKED)
        assert self.scheduler.current is not None
        self._writer, self._owners[session] = session, self.scheduler.current.process
        sqlite3.Connection.execute(session, "BEGIN IMMEDIATE")

    def _end_idle(self) -> None:
        """End the session of a process that stands still, or that is cut off."""
        writer = self._writer
        owner = None if writer is None else self._owners[writer]
        if owner is not None and (owner.is_stopped or self.scheduler.now < owner.machine.storage_away_until):
            assert writer is not None
            self._ended.add(writer)
            self.roll_back(writer)

    def _require(self, session: Session) -> None:
        """Raise OperationalError if a session was ended, or the connection is lost."""
        if session in self._ended or not self.is_reached():
            self.roll_back(session)
            raise sqlite3.OperationalError(GONE)

    def commit(self, session: Session) -> None:
        """Commit a transaction, whose connection may be lost meanwhile."""
        if not session.in_transaction:
            return
        self.scheduler.step("target commit")
        self._require(session)
        lost, self.lose_next = self.lose_next, None
        if lost == "before":
            self.roll_back(session)
            raise sqlite3.OperationalError(BROKEN)
        sqlite3.Connection.commit(session)
        self._close(session)
        self.commits += 1
        self.on_commit()
        self.scheduler.step("target committed")
        if lost == "after":
            raise sqlite3.OperationalError(BROKEN)

    def roll_back(self, session: Session) -> None:
        """Roll a transaction back, if one is open."""
        if session in self._owners:
            sqlite3.Connection.rollback(session)
            self._close(session)

    def _close(self, session: Session) -> None:
        self._owners.pop(session, None)
        if self._writer is session:
            self._writer = None
            self.scheduler.notify(self._freed)

    def end(self, process: SimulatedProcess) -> None:
        """Roll back what a killed process has not committed."""
        for session in [session for session, owner in self._owners.items() if owner is process]:
            self.roll_back(session)


class Session(sqlite3.Connection):
    """A connection of a simulated process."""

    target: Target

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor whose statements are steps, of whatever class was asked for."""
        return super().cursor(SessionCursor)

    def commit(self) -> None:
        """Commit the transaction."""
        self.target.commit(self)

    def rollback(self) -> None:
        """Roll the transaction back."""
        self.target.roll_back(self)

    def close(self) -> None:
        """Roll back what was not committed, and disconnect."""
        self.target.roll_back(self)
        super().close()


class SessionCursor(sqlite3.Cursor):
    """A cursor of a session."""

    def execute(self, sql: str, parameters: Any = ()) -> SessionCursor:
        """Run a statement."""
        session: Any = self.connection
        session.target.before(session, sql)
        super().execute(sql, parameters)
        if session.isolation_level is None:  # each statement is a transaction
            session.commit()
        return self

    def executemany(self, sql: str, parameters: Any) -> SessionCursor:
        """Run a statement for each of several rows."""
        session: Any = self.connection
        session.target.before(session, sql)
        super().executemany(sql, parameters)
        if session.isolation_level is None:
            session.commit()
        return self
