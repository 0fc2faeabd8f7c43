"""The commit that closes an epoch for the last PE of a unit tells its state machine; a counter says which that is."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.unit_transitions import count_unclosed
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries import commits
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, node, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.applications import published as published_rows
from streams_orchestration_tests.runtime.local import LocalApplication

PES, ROWS = 4, 24
EVENTS = st.lists(st.sampled_from([*range(PES)] * 3 + ["trigger", "reset"]), max_size=40)

pytestmark = pytest.mark.usefixtures("no_hosts")


@functools.cache
def region(directory: Path) -> PlannedCompilation:
    """Return one region that is a chain of PEs."""
    file = write_rows(directory / "rows.parquet", ROWS)
    graph = [source("Rows", file), node("First", "Passing", "Rows"), node("Second", "Passing", "First")]
    return compiled([*graph, sink("Kept", "Second")], fusion="legacy")


def waiting_for(local: LocalApplication) -> tuple[dict[str, int], dict[str, int | None]]:
    """Return the counter of every unit, by its name, and what it counts."""
    with local.catalog.read() as connection:
        units = connection.execute(select(tables.unit)).all()
        counted = {
            unit.name: connection.scalar(select(count_unclosed(local.name, unit.name, unit.current_epoch)))
            for unit in units
        }
    return {unit.name: unit.unclosed for unit in units}, counted


@given(events=EVENTS)
@examples(8)
def test_the_counter_says_how_many_pes_have_not_closed_the_current_epoch(
    events: list[int | str], tmp_path_factory: pytest.TempPathFactory
):
    with tempfile.TemporaryDirectory() as directory:
        compilation = region(tmp_path_factory.getbasetemp())
        local = LocalApplication(Home(Path(directory)), compilation, 4)
        assert len(local.programs) == PES
        for event in events:
            if event == "trigger":
                local.trigger()
            elif event == "reset":
                reset_unit(local.catalog, local.name, local.units[0], force=True)
                local.report_running()
            else:
                local.step(local.programs[int(event)])
            counters, counted = waiting_for(local)
            assert list(counters) == local.units
            assert counters == counted
        local.run()
        assert published_rows(local.published("Kept")) == sorted(rows(ROWS))


def test_only_the_last_pe_that_closes_an_epoch_tells_the_state_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = LocalApplication(Home(tmp_path / "home"), region(tmp_path), 4)
    reported: list[str] = []
    advance = commits.advance_unit
    monkeypatch.setattr(commits, "advance_unit", lambda *given: reported.append(given[1].unit.name) or advance(*given))
    local.trigger()
    while reported == []:
        for program in local.programs:
            local.step(program)
    with local.catalog.read() as connection:
        assert connection.scalars(select(tables.unit.c.completed_epoch)).all() == [1]
    assert reported == ["region-0"]
