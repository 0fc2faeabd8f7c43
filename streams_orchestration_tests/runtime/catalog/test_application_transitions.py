"""A named act writes all columns of an application that it concerns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import (
    StoredPlan,
    begin_bounded_run,
    insert_application,
    stop_bounded_run,
    want_removed,
    want_running,
    want_stopped,
)
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.catalog.states import WantedState
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.watch import advance_units

ENDS: dict[str, tuple[Callable[[Connection], object], WantedState]] = {
    "by a command": (lambda connection: want_stopped(connection, "app"), "STOPPED"),
    "at the end of its input": (lambda connection: stop_bounded_run(connection, "app", "run"), "STOPPED"),
    "by its removal": (lambda connection: want_removed(connection, "app"), "REMOVED"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_temporary_run_that_was_stopped_does_not_end_once_more(tmp_path: Path, case: str):
    act, wanted = ENDS[case]
    catalog = create_catalog(Home(tmp_path / "home").prepare())
    with catalog.write() as connection:
        insert_application(connection, "app", StoredPlan("", b"", ""), Settings())
        begin_bounded_run(connection, "app", "run")
        want_running(connection, "app", until=1.0)
        act(connection)
    assert row(catalog).runs_until is None
    advance_units(catalog, "app")
    assert row(catalog).wanted == wanted


def row(catalog: Catalog) -> ApplicationRow:
    with catalog.read() as connection:
        return ApplicationRow.one(connection, select(tables.application))
