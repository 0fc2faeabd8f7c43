"""The readings that are repeated while an application runs cost a known number of statements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.engine import RootTransaction

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog.database import Database, Mode
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status_summaries import read_summaries
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import joined

READINGS: dict[str, tuple[int, Callable[[Host], object]]] = {
    "a host asks if it is wanted": (1, lambda host: host.presence.row()),
    "a host reads its PEs and the other hosts": (2, Host.reconcile),
    "a host updates its units": (5, lambda host: advance_units(host.catalog, "app")),
    "the sensor looks which application has changed": (6, lambda host: read_summaries(host.catalog)),
    "a loop reads the units": (5, lambda host: read_units(host.catalog, "app")),
    "a command or a page reads the status": (11, lambda host: read_status(host.catalog, "app")),
}
"""Reading -> the number of its statements, and the reading."""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return the host of three PEs in one region, which works."""
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=3)))
    joined(home)
    host = Host(home, "app", 0, "mine", IdleEngine())
    host.reconcile()
    host.reconcile()
    advance_units(host.catalog, "app")
    return host


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements within transactions; a listener to all engines would make them slower for all later tests."""
    executed: list[str] = []
    begin = Database.begin

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        executed.append(statement)

    def listened(database: Database, mode: Mode, unit: str = "") -> tuple[Connection, RootTransaction]:
        connection, transaction = begin(database, mode, unit)
        event.listen(connection, "before_cursor_execute", note)
        return connection, transaction

    replace_function(monkeypatch, Database, "begin", listened)
    return executed


@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_costs_no_more_statements_than_before(host: Host, statements: list[str], reading: str):
    number, read = READINGS[reading]
    statements.clear()
    read(host)
    assert len(statements) == number, statements
