"""The catalog of a simulation as PostgreSQL: transactions of several units are open at one time.

SQLite has one writer, so a transaction that writes is set aside when another one goes on: it is rolled back, and its
statements are repeated on the newest state when it goes on itself. That is what READ COMMITTED does, as long as no two
open transactions write the same row. If they do, the second one waits for the first one, as for a lock on the row. Two
transactions of units must never do so; nor may one write rows of a unit that is not its own.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection

from streams_orchestration.runtime.catalog.address import BUSY_SECONDS
from streams_orchestration.runtime.catalog.changes import CommitListener
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.simulation import catalogs
from streams_orchestration_tests.simulation.catalogs import (
    IDLE_TRANSACTION_SECONDS,
    LOCKED,
    Notifications,
    SharedFile,
    SimulatedDatabase,
    SimulatedListener,
    opened,
)
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

WRITING = ("INSERT", "UPDATE", "DELETE")
NOTED = "CREATE TEMP TABLE noted (source TEXT, id INTEGER, act TEXT, unit TEXT, pe INTEGER)"
"""The rows that the last statement has written."""
Row = tuple[str, int]
"""The table of a row, and its number there."""


class Written(NamedTuple):
    """A statement that has written."""

    sql: str
    parameters: Any
    many: bool
    size: int
    """The number of rows."""


@dataclass(eq=False)
class Turn:
    """An open transaction that writes, or one that waits for its turn."""

    session: Session
    process: SimulatedProcess | None
    mode: str
    unit: str
    """Application and name of the unit that it has the turn of; empty for all units."""
    written: list[Written] = field(default_factory=list[Written])
    rows: set[Row] = field(default_factory=set[Row])
    """The committed rows that it has changed or deleted."""

    def excludes(self, other: Turn) -> bool:
        """Return True if the other one has to wait for this one."""
        modes = self.mode, other.mode
        if "create" in modes or "note" not in modes:
            return modes != ("unit", "unit") or self.unit == other.unit
        return False

    def __str__(self) -> str:
        return f"{self.mode} {self.unit}".strip()


class ServerFile(SharedFile):
    """One SQLite file that stands for a schema of PostgreSQL's."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._turns: dict[sqlite3.Connection, Turn] = {}
        self._queue: list[Turn] = []
        self._active: Turn | None = None
        """The transaction that SQLite has open."""

    def _connect(self) -> sqlite3.Connection:
        session = opened(self.path, Session)
        assert isinstance(session, Session)
        self._made.append(session)
        session.server = self
        _run(session, "PRAGMA journal_mode=WAL")
        _run(session, "PRAGMA synchronous=OFF")
        return session

    def _take_turn(self, raw: sqlite3.Connection, mode: str, unit: str) -> None:
        assert isinstance(raw, Session)
        current = self.scheduler.current
        turn = Turn(raw, current and current.process, mode, unit)
        self._queue.append(turn)
        until = self.scheduler.now + BUSY_SECONDS
        try:
            while blocking := self._blocking(turn):
                self._await(blocking, until)
        finally:
            if turn in self._queue:
                self._queue.remove(turn)
            self.scheduler.notify(self._freed)
        self._turns[raw] = turn
        raw.note_rows()

    def _begin(self, raw: sqlite3.Connection, mode: str) -> None:
        if mode == "read":
            super()._begin(raw, mode)

    def _blocking(self, turn: Turn) -> list[Turn]:
        """Return the transactions that a turn waits for: those that are open, and those that wait for longer."""
        before = self._queue[: self._queue.index(turn)]
        return [other for other in (*self._turns.values(), *before) if other.excludes(turn)]

    def _await(self, blocking: Collection[Turn], until: float) -> None:
        """Wait until a transaction ends; end the session of one that stands still.

        Raises:
            sqlite3.OperationalError: it took too long.
        """
        patience = min(until - self.scheduler.now, IDLE_TRANSACTION_SECONDS)
        if self.scheduler.wait(self._freed, max(patience, 0.0)):
            return
        idle = [turn for turn in blocking if turn.session in self._turns and self._stands_still(turn.process)]
        for turn in idle:
            assert turn.process is not None
            self.scheduler.note(f"end the session of {turn.process.pid} {turn.process.name}")
            self._ended.add(turn.session)
            self.roll_back(turn.session)
        if not idle and self.scheduler.now >= until:
            raise sqlite3.OperationalError(LOCKED)

    @property
    def writer(self) -> SimulatedProcess | None:
        """The process that runs, if it has a transaction open in which it writes."""
        current = self.scheduler.current
        writers = [turn.process for turn in self._turns.values()]
        return current.process if current is not None and current.process in writers else None

    def _writes(self, raw: sqlite3.Connection) -> bool:
        return raw in self._turns or super()._writes(raw)

    def _before_commit(self, raw: sqlite3.Connection) -> None:
        if raw in self._turns:
            self._go_on(self._turns[raw])

    def _close(self, raw: sqlite3.Connection) -> None:
        turn = self._turns.pop(raw, None)
        if turn is not None and turn is self._active:
            self._active = None
        super()._close(raw)
        self.scheduler.notify(self._freed)

    def end(self, process: SimulatedProcess) -> None:
        """Roll back what a killed process has not committed, and forget what it waits for."""
        self._queue = [turn for turn in self._queue if turn.process is not process]
        super().end(process)

    def run(self, session: Session, sql: str, parameters: Any, many: bool, act: Callable[[], Any]) -> Any:
        """Run a statement of a session by `act`; within a transaction that writes, wait for the rows that it writes."""
        turn = self._turns.get(session)
        if turn is None:
            return act()
        self._go_on(turn)
        if not sql.lstrip().upper().startswith(WRITING):
            return act()
        until = self.scheduler.now + BUSY_SECONDS
        while True:
            others = {row: other for other in self._turns.values() if other is not turn for row in other.rows}
            if others:
                _run(session, "SAVEPOINT statement")
            result = act()
            noted = list(self._noted(turn))
            rows = _changed(noted)
            held = {others[row]: row for row in sorted(rows & others.keys())}
            if not held:
                break
            self._judge(turn, held)
            _run(session, "ROLLBACK TO statement")
            while blocking := [other for other in held if other.session in self._turns]:
                self._await(blocking, until)
            self._require(session)
            self._go_on(turn)
        if others:
            _run(session, "RELEASE statement")
        turn.rows |= rows
        turn.written.append(Written(sql, parameters, many, len(noted)))
        return result

    def _go_on(self, turn: Turn) -> None:
        """Set aside what SQLite has open, and repeat the statements of a transaction that was set aside."""
        if self._active is turn:
            return
        if self._active is not None:
            sqlite3.Connection.rollback(self._active.session)
        _run(turn.session, "BEGIN IMMEDIATE")
        self._active = turn
        if not turn.written:
            return
        self.repeated += 1
        turn.rows.clear()
        for each in turn.written:
            cursor = sqlite3.Cursor(turn.session)
            (cursor.executemany if each.many else cursor.execute)(each.sql, each.parameters)
            cursor.fetchall()
            noted = list(self._noted(turn))
            turn.rows |= _changed(noted)
            if len(noted) != each.size:
                self.findings.append(f"{turn}: {each.sql} has written {each.size} rows, and {len(noted)} when repeated")

    def _noted(self, turn: Turn) -> Iterator[tuple[Row, str]]:
        """Yield the rows that the last statement has written, each with what it has done."""
        for source, number, act, unit, pe in _run(turn.session, "SELECT * FROM temp.noted").fetchall():
            yield (source, number), act
            own = turn.unit.partition("/")[2]
            if turn.mode == "unit" and (owner := unit or self._unit_of(turn, pe)) not in ("", own):
                self.findings.append(f"a transaction of unit {own} writes a row of {source} that belongs to {owner}")
        _run(turn.session, "DELETE FROM temp.noted")

    def _unit_of(self, turn: Turn, pe: int | None) -> str:
        """Return the unit of a PE; an empty text if there is none."""
        found = _run(turn.session, "SELECT unit FROM pe WHERE id = ?", pe).fetchall()
        return found[0][0] if found else ""

    def _judge(self, turn: Turn, held: dict[Turn, Row]) -> None:
        """Find transactions of two units that write the same row."""
        for other, (source, _) in held.items():
            if turn.mode == other.mode == "unit":
                self.findings.append(f"transactions of {turn.unit} and {other.unit} write the same row of {source}")


class Session(sqlite3.Connection):
    """A session of a simulated process."""

    server: ServerFile
    _notes = False

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor whose statements the server runs, of whatever class was asked for."""
        return super().cursor(SessionCursor)

    def note_rows(self) -> None:
        """Note from now on which rows are written."""
        if self._notes:
            return
        self._notes = True
        _run(self, NOTED)
        for (table,) in _run(self, "SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            names = {row[1] for row in _run(self, f"PRAGMA main.table_info({table})").fetchall()}
            unit = "name" if table == "unit" else "unit" if "unit" in names else None
            pe = "id" if table == "pe" else "pe" if "pe" in names else None
            for act, side in (("INSERT", "new"), ("UPDATE", "old"), ("DELETE", "old")):
                values = [f"{side}.{each}" if each else "NULL" for each in (unit, None if unit else pe)]
                _run(
                    self,
                    f"CREATE TEMP TRIGGER {act.lower()}_{table} AFTER {act} ON main.{table} BEGIN "
                    f"INSERT INTO noted VALUES ('{table}', {side}.rowid, '{act}', {values[0]}, {values[1]}); END",
                )


class SessionCursor(sqlite3.Cursor):
    """A cursor of a session, which reads all rows at once, so that no statement is under way behind it."""

    _rows: list[Any]

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Run a statement."""
        return self._run(sql, parameters, False, super().execute)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        """Run a statement for several parameters."""
        return self._run(sql, parameters, True, super().executemany)

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> Any:
        """Return the next row."""
        return self._rows.pop(0) if self._rows else None

    def _run(self, sql: str, parameters: Any, many: bool, execute: Callable[..., Any]) -> Any:
        session = self.connection
        assert isinstance(session, Session)

        def act() -> Any:
            execute(sql, parameters)
            self._rows = super(SessionCursor, self).fetchall()
            return self

        return session.server.run(session, sql, parameters, many, act)


def _run(session: sqlite3.Connection, sql: str, *parameters: Any) -> sqlite3.Cursor:
    """Run a statement of the simulation's own."""
    return sqlite3.Cursor(session).execute(sql, parameters)


def _changed(noted: Sequence[tuple[Row, str]]) -> set[Row]:
    """Return the rows that there were before the transaction; an inserted row may have another number when repeated."""
    inserted = {row for row, act in noted if act == "INSERT"}
    return {row for row, act in noted if act != "INSERT"} - inserted


class ServerNotifications(Notifications):
    """The notifications of a server, by the path of the catalog."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.heard: list[str] = []
        """The units that the server has notified of."""

    def notify(self, shared: ServerFile, unit: str) -> None:
        """Tell all listeners that a unit has changed."""
        self.heard.append(unit)
        self.send(shared.path)


class ServerListener(SimulatedListener):
    """A listener to the server."""

    def __init__(self, notifications: ServerNotifications, shared: ServerFile) -> None:
        super().__init__(notifications, shared.path)
        self._said, self._at = notifications.heard, len(notifications.heard)

    def take(self) -> tuple[str, ...]:
        """Return the units that have changed since the last call."""
        super().take()
        at, self._at = self._at, len(self._said)
        return tuple(sorted({*self._said[at:]}))


class ServerDatabase(SimulatedDatabase):
    """The server, as one `Catalog` has it."""

    names_units = True
    _shared: ServerFile

    def open_listener(self) -> CommitListener:
        """Return a listener to the server."""
        notifications = self._shared.notifications
        assert isinstance(notifications, ServerNotifications)
        return ServerListener(notifications, self._shared)

    def notify_listeners(self, connection: Connection, changed: str) -> None:
        """Notify the listeners in a transaction of its own; a notification may be lost."""
        self._shared.scheduler.step("notify")
        notifications = self._shared.notifications
        assert isinstance(notifications, ServerNotifications)
        if self._shared.unheard:
            self._shared.unheard -= 1
        else:
            notifications.notify(self._shared, changed)


def installed(
    scheduler: Scheduler, home: Home, kind: str, *, is_server: bool
) -> contextlib.AbstractContextManager[SharedFile]:
    """Let all catalogs within a block be simulated ones of a home.

    Args:
        scheduler: of the simulation.
        home: the state directory.
        kind: `sqlite`, or `postgresql`.
        is_server: True if SQLite has a clock of its own, and ends sessions that stand still.
    """
    if kind == "sqlite":
        notifications = Notifications(scheduler)
        return catalogs.installed(
            scheduler, notifications, SharedFile(scheduler, notifications, home.catalog, is_server)
        )
    notifications = ServerNotifications(scheduler)
    server = ServerFile(scheduler, notifications, home.catalog, True)
    return catalogs.installed(scheduler, notifications, server, ServerDatabase)
