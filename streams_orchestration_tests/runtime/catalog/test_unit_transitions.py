"""A named act writes all columns of a unit that it concerns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import UnitState
from streams_orchestration.runtime.catalog.unit_transitions import complete_units, reopen_unit, stop_units
from streams_orchestration.runtime.storage.home import Home

BEFORE = 1.0
"""Unix seconds at which the unit entered its state."""


def row(connection: Connection) -> UnitRow:
    return UnitRow.one(connection, select(tables.unit))


ENDS: dict[str, tuple[UnitState, Callable[[Connection], None], UnitState]] = {
    "a unit is complete": ("PROCESSING", lambda connection: complete_units(connection, "app", ["pe-0"]), "COMPLETED"),
    "a unit stops": ("PROCESSING", lambda connection: stop_units(connection, "app"), "STOPPED"),
    "a stopped unit stops again": ("STOPPED", lambda connection: stop_units(connection, "app"), "STOPPED"),
    "a complete unit is not stopped": ("COMPLETED", lambda connection: stop_units(connection, "app"), "COMPLETED"),
    "a complete unit is opened again": (
        "COMPLETED",
        lambda connection: reopen_unit(connection, row(connection)),
        "STOPPED",
    ),
    "a unit at its end is opened again": (
        "STOPPED",
        lambda connection: reopen_unit(connection, row(connection)),
        "STOPPED",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_unit_is_in_its_state_since_it_entered_it(tmp_path: Path, case: str):
    before, act, after = ENDS[case]
    times = {"drain_timeout": 1.0, "reset_timeout": 1.0, "since": BEFORE}
    catalog = create_catalog(Home(tmp_path / "home").prepare())
    with catalog.write() as connection:
        values = {"name": "pe-0", "state": before, "max_attempts": 5, "configured_attempts": 5, **times}
        connection.execute(insert(tables.unit).values(application="app", **values))
        act(connection)
        unit = row(connection)
    assert (unit.state, unit.since > BEFORE) == (after, after != before)
