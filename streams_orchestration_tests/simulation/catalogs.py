"""The catalog of a simulation: SQLite with the product's statements, and connections that can be lost.

A transaction may be interrupted before each of its statements and around its commit. A killed process leaves it to the
database to roll back.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic_core import from_json
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from streams_orchestration import world
from streams_orchestration.runtime.catalog import catalog as catalogs
from streams_orchestration.runtime.catalog import changes, start_lock
from streams_orchestration.runtime.catalog.address import BUSY_SECONDS
from streams_orchestration.runtime.catalog.changes import ANYTHING, CommitListener
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.catalog.tables import metadata
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.hosts import planner_notifier
from streams_orchestration_tests.simulation.connections import LightConnection, Statements
from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal, SimulatedProcess
from streams_orchestration_tests.simulation.worlds import EPOCH, Local

LOCKED, GONE, BROKEN = "database is locked", "unable to open database file", "disk I/O error"
FULL = "database or disk is full"
IDLE_TRANSACTION_SECONDS = 10.0
"""Seconds after which a server ends a session that stands still within a transaction."""
STATEMENTS = Statements(from_json)
"""The statements of all runs of this process."""
KEPT_STATEMENTS = 1_000
"""Statements that a connection of the driver keeps prepared."""
Tables = Collection[str]
EVERYTHING: Tables = frozenset(metadata.tables)


def opened(path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection to a catalog, whose locks are in memory: no other process may use the file."""
    return sqlite3.connect(
        f"{path.as_uri()}?vfs=unix-excl", uri=True, timeout=0.0, check_same_thread=False, isolation_level=None,
        cached_statements=KEPT_STATEMENTS, factory=factory,
    )  # fmt: skip


class Notifications:
    """The notifications of a simulation, by the path of their file."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._signals: dict[Path, tuple[Signal, list[int]]] = {}

    def at(self, path: Path) -> tuple[Signal, list[int]]:
        """Return the signal of a file, and the number of its notifications."""
        return self._signals.setdefault(path, (Signal(), [0]))

    def send(self, path: Path) -> None:
        """Notify the listeners to a file."""
        signal, count = self.at(path)
        count[0] += 1
        self.scheduler.notify(signal)

    def open(self, path: Path) -> CommitListener:
        """Return a listener to a file."""
        return SimulatedListener(self, path)


class SimulatedListener(CommitListener):
    """A listener to a file."""

    def __init__(self, notifications: Notifications, path: Path) -> None:
        self._notifications = notifications
        self._signal, self._count = notifications.at(path)
        self._heard = self._count[0]
        self._interrupted = False

    def wait(self) -> None:
        """Wait until a commit is notified, or the wait is interrupted."""
        if self._count[0] == self._heard and not self._interrupted:
            self._notifications.scheduler.wait(self._signal)

    def interrupt(self) -> None:
        """End the wait; other listeners to the file check it in vain."""
        self._interrupted = True
        self._notifications.scheduler.notify(self._signal)

    def take(self) -> tuple[str, ...]:
        """Return `ANYTHING` if a commit was notified since the last call."""
        before, self._heard = self._heard, self._count[0]
        return (ANYTHING,) if before != self._heard else ()

    def close(self) -> None:
        """Do nothing."""


class SharedFile:
    """One SQLite file, and the connections of all simulated processes to it."""

    def __init__(self, scheduler: Scheduler, notifications: Notifications, path: Path, is_server: bool) -> None:
        self.scheduler, self.notifications, self.path = scheduler, notifications, path
        self.away_until = 0.0
        """Simulated time until which no transaction begins."""
        self.is_full: Callable[[], bool] = lambda: False
        """Tells whether the disk has no room for a transaction that writes."""
        self.is_server = is_server
        """True if the catalog has a clock of its own, and ends sessions that idle within a transaction."""
        self.ahead = 0.0
        """Seconds by which the clock of the server is ahead."""
        self.commits = 0
        self.on_commit: Callable[[Tables], None] = lambda _: None
        """Called after each transaction that writes, with the tables that it has written."""
        self.lose_next: str | None = None
        """`before` or `after`: the next commit loses its connection before, or after, it has taken effect."""
        self.unheard = 0
        """The number of notifications to come that nobody hears."""
        self.findings: list[str] = []
        """The rules of transactions that were broken."""
        self.repeated = 0
        """The number of times that a transaction went on behind another one."""
        self._writer: sqlite3.Connection | None = None
        self._freed = Signal()
        self._open: dict[sqlite3.Connection, SimulatedProcess | None] = {}
        self._idle: list[sqlite3.Connection] = []
        self._taken: dict[sqlite3.Connection, SimulatedProcess | None] = {}
        self._made: list[sqlite3.Connection] = []
        self._written: dict[sqlite3.Connection, set[str]] = {}
        """The tables that open transactions have written, apart from those that make the catalog."""
        self._ended: set[sqlite3.Connection] = set()
        self.statements = STATEMENTS
        self.name = str(path)

    def found(self) -> list[str]:
        """Return the rules of transactions that were broken since the last call, each once."""
        findings, self.findings = self.findings, []
        return sorted({*findings})

    def make(self) -> Engine:
        """Return an engine of SQLAlchemy's, which makes the tables."""
        engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        event.listen(engine, "begin", lambda connection: self.begin(connection.connection.dbapi_connection, "create"))
        dialect: Any = engine.dialect
        dialect.do_commit = lambda proxied: self.commit(proxied.dbapi_connection)
        dialect.do_rollback = lambda proxied: self.roll_back(proxied.dbapi_connection)
        return engine

    def _connect(self) -> sqlite3.Connection:
        connection = opened(self.path)
        self._made.append(connection)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    def take(self) -> sqlite3.Connection:
        """Return an idle connection of the driver."""
        raw = self._idle.pop() if self._idle else self._connect()
        current = self.scheduler.current
        self._taken[raw] = current and current.process
        return raw

    def give_back(self, raw: sqlite3.Connection) -> None:
        """Keep an idle connection of the driver."""
        self._taken.pop(raw, None)
        if raw not in self._ended:
            self._idle.append(raw)

    def close(self) -> None:
        """Close all connections, also those of processes that were killed."""
        for connection in self._made:
            connection.close()

    def begin(self, raw: sqlite3.Connection, mode: str) -> None:
        """Begin a transaction; the mode may be followed by the unit that it writes."""
        mode, _, unit = mode.partition(" ")
        began = world.boot_time()
        self.scheduler.step(f"begin {mode}")
        if not self._is_reached():
            raise sqlite3.OperationalError(GONE)
        if self.is_server and clock.is_stale():
            clock.read(EPOCH + self.scheduler.now + self.ahead, began)
        current = self.scheduler.current
        process = current.process if current else None
        if mode != "read":
            if self.is_full():
                raise sqlite3.OperationalError(FULL)
            self._take_turn(raw, mode, unit)
        self._open[raw] = process
        self._begin(raw, mode)

    def _take_turn(self, raw: sqlite3.Connection, _mode: str, _unit: str) -> None:
        """Wait until a transaction may write."""
        until = self.scheduler.now + BUSY_SECONDS
        while self._writer is not None:
            left = until - self.scheduler.now
            patience = min(left, IDLE_TRANSACTION_SECONDS) if self.is_server else left
            if not self.scheduler.wait(self._freed, max(patience, 0.0)):
                if self._end_idle():
                    continue
                if self.scheduler.now >= until:
                    raise sqlite3.OperationalError(LOCKED)
        self._writer = raw

    def _begin(self, raw: sqlite3.Connection, mode: str) -> None:
        raw.execute("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")

    @property
    def writer(self) -> SimulatedProcess | None:
        """The process that has a transaction open in which it writes."""
        return None if self._writer is None else self._open.get(self._writer)

    def execute(self, raw: sqlite3.Connection) -> None:
        """Step before a statement."""
        self.scheduler.step("statement")
        self._require(raw)

    def wrote(self, raw: sqlite3.Connection, table: str) -> None:
        """Note that a transaction has written a table."""
        self._written.setdefault(raw, set()).add(table)

    def _is_reached(self) -> bool:
        now = self.scheduler.now
        return now >= self.away_until and now >= self.scheduler.machine.catalog_away_until

    def _require(self, raw: sqlite3.Connection) -> None:
        """Raise OperationalError if a session was ended, or its machine has lost its connection."""
        if raw in self._ended or self.scheduler.now < self.scheduler.machine.catalog_away_until:
            if raw in self._open:
                self.roll_back(raw)
            raise sqlite3.OperationalError(GONE)

    def _end_idle(self) -> bool:
        """End the session of a writer that stands still within its transaction, as a server does."""
        writer = self._writer
        owner = None if writer is None else self._open.get(writer)
        if not self.is_server or writer is None or owner is None or not self._stands_still(owner):
            return False
        self.scheduler.note(f"end the session of {owner.pid} {owner.name}")
        self._ended.add(writer)
        self.roll_back(writer)
        return True

    def _stands_still(self, process: SimulatedProcess | None) -> bool:
        """Return True if a process is stopped, or cut off from the catalog."""
        return process is not None and (process.is_stopped or self.scheduler.now < process.machine.catalog_away_until)

    def _writes(self, raw: sqlite3.Connection) -> bool:
        return self._writer is raw

    def _before_commit(self, raw: sqlite3.Connection) -> None:
        """Act between the end of a connection and the commit; do nothing here."""

    def commit(self, raw: sqlite3.Connection) -> None:
        """Commit a transaction, whose connection may be lost meanwhile."""
        writes = self._writes(raw)
        self.scheduler.step("commit" if writes else "end of reading")
        self._require(raw)
        lost = self.lose_next if writes else None
        if lost is not None:
            self.lose_next = None
        if lost == "before":
            raw.rollback()
            self._close(raw)
            raise sqlite3.OperationalError(BROKEN)
        self._before_commit(raw)
        raw.commit()
        written = self._written.get(raw)
        self._close(raw)
        if writes:
            self.commits += 1
            self.on_commit(EVERYTHING if written is None else written)
            self.scheduler.step("committed")
        if lost == "after":
            raise sqlite3.OperationalError(BROKEN)

    def roll_back(self, raw: sqlite3.Connection) -> None:
        """Roll a transaction back."""
        if raw in self._open:
            raw.rollback()
            self._close(raw)

    def _close(self, raw: sqlite3.Connection) -> None:
        self._open.pop(raw, None)
        self._written.pop(raw, None)
        if self._writer is raw:
            self._writer = None
            self.scheduler.notify(self._freed)

    def end(self, process: SimulatedProcess) -> None:
        """Roll back what a killed process has not committed, and let others have its connections."""
        for raw in [raw for raw, owner in self._open.items() if owner is process]:
            raw.rollback()
            self._close(raw)
        for raw in [raw for raw, owner in self._taken.items() if owner is process]:
            self.give_back(raw)


class SimulatedDatabase(SqliteDatabase):
    """The shared file, as one `Catalog` has it."""

    def __init__(self, shared: SharedFile) -> None:
        self._shared = shared
        self.path, self.name, self._busy_seconds = shared.path, shared.name, BUSY_SECONDS
        self.engine = _Undisposed()  # type: ignore[assignment]

    def begin(self, mode: str, unit: str = "") -> Any:
        """Begin a transaction; a `LightConnection` is its own transaction."""
        if mode == "create":
            connection = self._shared.make().connect()
        else:
            connection = LightConnection(self._shared, f"{mode} {unit}".rstrip())
        try:
            return connection, connection.begin()
        except DBAPIError:
            connection.close()
            raise

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Do nothing: a connection makes the file."""

    def open_listener(self) -> CommitListener:
        """Return a listener to the file."""
        return self._shared.notifications.open(self.path)

    def notify_listeners(self, connection: Connection, changed: str) -> None:
        """Notify the listeners."""
        self._shared.notifications.send(self.path)

    def damage(self, *, indexes: bool = False) -> str | None:
        """Return None: the file is sound."""
        return None


class _Undisposed:
    """The engine of all processes, which one of them cannot dispose of."""

    def dispose(self) -> None:
        """Do nothing."""


@contextlib.contextmanager
def installed(
    scheduler: Scheduler,
    notifications: Notifications,
    shared: SharedFile,
    database: type[SimulatedDatabase] = SimulatedDatabase,
) -> Iterator[SharedFile]:
    """Let all catalogs within a block be simulated ones of a file."""
    with (
        patch.object(catalogs, "database_of", lambda _home, **_: database(shared)),
        patch.object(start_lock, "database_of", lambda _home, **_: database(shared)),
        patch.object(catalogs, "_turns", Local(scheduler)),
        patch.object(catalogs, "open_file_listener", notifications.open),
        patch.object(changes, "open_file_listener", notifications.open),
        patch.object(planner_notifier, "notify", notifications.send),
    ):
        yield shared
    shared.close()
