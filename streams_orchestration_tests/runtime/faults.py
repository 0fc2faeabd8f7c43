"""Faults: the connection to the catalog is lost at a statement or around a commit; a process that publishes dies."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from sqlalchemy.engine.default import DefaultDialect

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.sinks import publishing
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration_tests.postgresql import Server

Result = TypeVar("Result")


@dataclass
class Fault:
    """Happens once, at one point of an attempt."""

    server: Server | None
    """The PostgreSQL server; None for SQLite, whose disk fails instead."""
    point: int = 0
    """At this statement, or commit before it reaches the server; counted together, from 1."""
    commit: int = 0
    """After this commit was made, before the answer comes; from 1."""
    points: int = 0
    commits: int = 0
    happened: bool = False

    def at_statement(self, connection: Any) -> None:
        self.points += 1
        if not self.happened and self.points == self.point:
            self._happen(connection)
            if self.server is None:
                message = "database or disk is full"
                raise sqlite3.OperationalError(message)

    def after_commit(self, connection: Any) -> None:
        self.commits += 1
        if not self.happened and self.commits == self.commit:
            self._happen(connection)
            if self.server is None:
                message = "disk I/O error"
                raise sqlite3.OperationalError(message)
            connection.execute("SELECT 1")  # the driver learns now what it would have learnt from the answer

    def _happen(self, connection: Any) -> None:
        """Terminate a backend, so that the driver notices it.

        With a timeout, the server would look for the end of the backend only every 100 ms.
        """
        self.happened = True
        if self.server is not None:
            assert isinstance(connection, psycopg.Connection)
            pid = connection.info.backend_pid
            with self.server.connect() as administrator:
                administrator.execute("SELECT pg_terminate_backend(%s)", [pid])
                while administrator.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
                    pass


@dataclass
class Faults:
    """Operations that meet faults, and are tried again until they are done."""

    server: Server | None
    points: dict[str, int] = field(default_factory=dict)
    """A map from each operation that has met a fault at every point to the number of its points."""
    commits: dict[str, int] = field(default_factory=dict)
    """Answers to commits that were lost."""
    current: Fault | None = None
    thread: int = field(default_factory=threading.get_ident)
    """The one that meets faults; what others do is not counted."""
    _calls: dict[str, int] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)

    def fault(self) -> Fault | None:
        """Return the fault of the attempt under way, for the thread that makes it."""
        return self.current if threading.get_ident() == self.thread else None

    def through(self, name: str, action: Callable[[], Result]) -> Result:
        """Do something, with faults: by turns one after a commit, and one after the other at every point."""
        call = self._calls[name] = self._calls.get(name, -1) + 1
        if call % 2:
            fault = Fault(self.server, commit=1 + call // 2 % 4)
            result = self._attempts(action, fault)
            self.commits[name] = self.commits.get(name, 0) + fault.happened
            return result
        while name not in self.points:
            fault = Fault(self.server, point=self._next.get(name, 1))
            self._next[name] = fault.point + 1
            done, result = self._attempt(action, fault)
            if not fault.happened:
                self.points[name] = fault.points
            if done:  # by itself, although the connection was lost, or since no point was left
                return result  # type: ignore[return-value]
        return action()

    def _attempts(self, action: Callable[[], Result], fault: Fault) -> Result:
        while True:
            done, result = self._attempt(action, fault)
            if done:
                return result  # type: ignore[return-value]

    def _attempt(self, action: Callable[[], Result], fault: Fault) -> tuple[bool, Result | None]:
        happened = fault.happened
        self.current = fault
        try:
            return True, action()
        except CatalogUnavailableError:
            assert fault.happened
            assert not happened
            return False, None
        finally:
            self.current = None


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Yield the drivers, with the faults built in."""
    patch = pytest.MonkeyPatch()

    def watched(name: str) -> None:
        original = getattr(DefaultDialect, name)

        def execute(self: Any, cursor: Any, *arguments: Any, **named: Any) -> Any:
            if (fault := faults.fault()) is not None:
                fault.at_statement(cursor.connection)
            return original(self, cursor, *arguments, **named)

        patch.setattr(DefaultDialect, name, execute)

    for name in ("do_execute", "do_execute_no_params"):
        watched(name)
    commit = DefaultDialect.do_commit

    def do_commit(self: Any, connection: Any) -> None:
        fault = faults.fault()
        if fault is None:
            commit(self, connection)
            return
        driver = getattr(connection, "dbapi_connection", connection)
        fault.at_statement(driver)
        commit(self, connection)
        fault.after_commit(driver)

    patch.setattr(DefaultDialect, "do_commit", do_commit)
    try:
        yield faults
    finally:
        patch.undo()


class KilledError(BaseException):
    """The process ends here."""


def kill_at(patch: pytest.MonkeyPatch, call: int) -> Callable[[], bool]:
    """Let the process die before the `call`-th step that changes anything; tells whether there was one."""
    steps = 0

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **more: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == call:
                raise KilledError
            return function(*arguments, **more)

        return step

    patch.setattr(os, "link", dying(os.link))
    patch.setattr(Path, "unlink", dying(Path.unlink))
    patch.setattr(publishing, "sync_directory", dying(publishing.sync_directory))
    patch.setattr(Store, "sync", dying(Store.sync))
    patch.setattr(Catalog, "write", dying(Catalog.write))
    return lambda: steps >= call
