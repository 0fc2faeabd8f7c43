"""An application that begins at a savepoint has the results of one that has run through."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime.applications import (
    RowTuple,
    expected_of_network,
    network,
    published,
    rows,
)
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import COUNT, counts, run_some, visits
from streams_orchestration_tests.runtime.saved import begun, take
from streams_orchestration_tests.runtime.shaped import compilation
from streams_orchestration_tests.runtime.shaped import results as of_shape
from streams_orchestration_tests.runtime.shapes import SHAPES

pytestmark = pytest.mark.slow


def results(local: LocalApplication) -> dict[str, list[RowTuple]]:
    return {name: published(local.published(name)) for name in expected_of_network(COUNT)}


def together(*parts: dict[str, list[RowTuple]]) -> dict[str, list[RowTuple]]:
    return {name: sorted(row for part in parts for row in part[name]) for name in parts[0]}


@examples(9)
@given(turns=st.integers(0, 12), pes=st.integers(1, 5))
def test_an_application_begun_at_a_savepoint_gives_the_remaining_results(
    tmp_path_factory: pytest.TempPathFactory, turns: int, pes: int
):
    directory = tmp_path_factory.mktemp("run")
    plan = network(directory, COUNT, fusion="manual", pes=3)
    local = LocalApplication(Home(directory / "home"), plan, source_limit=4)
    run_some(local, turns)
    created = take(local)
    before = results(local)
    local.run()
    assert results(local) == expected_of_network(COUNT)
    other = begun(Home(directory / "other"), network(directory, COUNT, fusion="manual", pes=pes), created.place)
    other.run()
    assert together(before, results(other)) == expected_of_network(COUNT)


@examples(9)
@given(turns=st.integers(0, 12), width=st.integers(1, 4))
def test_a_width_may_be_another_one(tmp_path_factory: pytest.TempPathFactory, turns: int, width: int):
    directory = tmp_path_factory.mktemp("run")
    local = LocalApplication(Home(directory / "home"), visits(directory, 2, 3), source_limit=4)
    run_some(local, turns)
    created = take(local)
    other = begun(Home(directory / "other"), visits(directory, width, 2), created.place)
    other.run()
    last = counts(local) | counts(other)
    assert last == Counter(key for key, _ in set(rows(COUNT)))


PANES = {
    "window": "timeInterval, intervalDuration(0.010), discardAge(0.003)",
    "output": {"at": "paneTime()", "k": "paneTiming()", "n": "Count()"},
}


@pytest.mark.parametrize("turns", [1, 2, 4, 7])
def test_event_time_goes_on_where_it_was(tmp_path: Path, turns: int):
    """Partition b of the source is idle, so its late tuples depend on what was decided before the savepoint."""
    rows = [f"{3 * n} a {n}" for n in range(8)]
    (tmp_path / "rows").write_text("\n".join(["1 b 0", *rows]) + "\n")
    graph = [
        lines("Rows", tmp_path / "rows", idleAfter=0.001, maxDrift=1.0),
        lines("Others", tmp_path / "others", lag=0.005),
        through("Panes", "Aggregate", ["Rows", "Others"], parameters=PANES)
        | {"outputs": [{"stream": name, "schema": "T"} for name in ("Panes", "Late")]},
        *(
            {"name": f"{name}Out", "operator": "FileSink", "inputs": [name],
             "parameters": {"file": name, "format": "jsonl"}}
            for name in ("Panes", "Late")
        ),
    ]  # fmt: skip
    (tmp_path / "others").write_text("".join(f"{at} c {at}\n" for at in range(0, 30, 7)))

    def end(local: LocalApplication) -> dict[str, list[RowTuple]]:
        for _ in range(4):
            run_some(local, 1)
        local.run()
        return {name: published(local.published(f"{name}Out")) for name in ("Panes", "Late")}

    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph), source_limit=3)
    run_some(local, turns)
    created = take(local)
    cut = clocks_of(local)
    before = {name: published(local.published(f"{name}Out")) for name in ("Panes", "Late")}
    for name, more in (("rows", ["2 b 9", "40 a 10", "8 b 11", "end"]), ("others", ["33 c 33", "end"])):
        (tmp_path / name).open("a").write("\n".join(more) + "\n")
    other = begun(Home(tmp_path / "other"), local.compilation, created.place, limit=3)
    assert clocks_of(other) == cut
    assert turns == 1 or cut
    assert together(before, end(other)) == end(local)


def clocks_of(local: LocalApplication) -> dict[str, int]:
    """Return the watermarks of sources for which others may have to wait."""
    with local.catalog.read() as connection:
        positions = connection.scalars(select(tables.pe.c.position)).all()
    return {name: value for position in positions for name, value in position["clocks"].items()}


SAVED = [name for name in SHAPES if "operator drives" not in name]


@pytest.mark.parametrize("name", often(SAVED, SAVED[::2]))
@pytest.mark.parametrize("turns", [5, pytest.param(12, marks=pytest.mark.deep)])
def test_applications_of_every_shape_give_the_remaining_results(name: str, turns: int, data: Path, tmp_path: Path):
    plan = compilation(data, name, 0)
    local = LocalApplication(Home(tmp_path / "home"), plan, source_limit=4)
    run_some(local, turns)
    place, before = take(local).place, of_shape(local, name)
    other = begun(Home(tmp_path / "other"), plan, place)
    other.run()
    assert together(before, of_shape(other, name)) == SHAPES[name].expected


def test_an_application_goes_from_sqlite_to_postgresql(
    tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch
):
    plan = visits(tmp_path, 2, 3)
    local = LocalApplication(Home(tmp_path / "home"), plan, source_limit=4)
    run_some(local, 4)
    exported = export_savepoint(local.home, take(local).manifest.title, tmp_path / "exported").place
    monkeypatch.setenv("STREAMS_CATALOG", postgresql.url("moved"))
    moved = begun(Home(tmp_path / "moved"), plan, exported)
    moved.run()
    assert not moved.home.catalog.exists()
    assert counts(local) | counts(moved) == Counter(key for key, _ in set(rows(COUNT)))


def test_an_application_goes_to_other_state_directories(tmp_path: Path, database: str):
    plan = visits(tmp_path, 2, 3)
    local = LocalApplication(Home(tmp_path / "home"), plan, source_limit=4)
    run_some(local, 4)
    export_savepoint(local.home, take(local).manifest.title, tmp_path / "exported")
    second = Home(tmp_path / "second")
    other = begun(second, plan, import_savepoint(second, tmp_path / "exported").place)
    run_some(other, 2)
    third = begun(Home(tmp_path / "third"), plan, take(other, "again").place)
    third.run()
    assert counts(local) | counts(other) | counts(third) == Counter(key for key, _ in set(rows(COUNT)))
