"""Runs that take only what is there: each goes on behind the one before, and nothing is lost or doubled in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.run_kinds import RunKind
from streams_orchestration.runtime.deployment.source_probing import find_sources_with_input
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units import bounded_run, holding
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow
AVAILABLE, ON = RunKind(available_now=True), RunKind(reopens=True)
AUTONOMOUS: Any = {"annotations": {"autonomous": True}}
BY_KEY = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}


def application(directory: Path, **consistent: Any) -> PlannedCompilation:
    """Two regions and what is outside of regions, with state everywhere, over two directories of files."""
    region = {"annotations": {"consistent": consistent or PERIODIC["consistent"]}}
    graph = [
        source("Rows", directory / "first", **region),
        node("PerKey", "TotalsOfKeys", "Rows", schema="Total", annotations=BY_KEY),
        sink("Totals", "PerKey"),
        source("Other", directory / "second"),
        node("Held", "Holding", "Other"),
        node("HeldTotals", "RunningTotals", "Held", schema="Total"),
        sink("Others", "HeldTotals"),
        node("Tail", "KeyedTotals", "Rows", schema="Total", **AUTONOMOUS),
        sink("Tails", "Tail"),
        node("Either", "Passing", "Rows", **AUTONOMOUS) | {"inputs": [["Rows", "Other"]]},
        {"name": "Both", "operator": "FileSink", "inputs": ["Either"], "parameters": {"file": "Both"}},
    ]
    graph[1]["outputs"] = ["PerKey"]
    inner = [node("Kept", "Doubling", "In"), node("Sums", "KeyedTotals", "Kept", schema="Total")]
    composites = {"TotalsOfKeys": {"inputs": ["In"], "outputs": ["Sums"], "graph": inner}}
    return compiled(graph, composites, fusion="manual", pes=4)


class Feed:
    """The input files, and the rows that were written into them."""

    def __init__(self, directory: Path) -> None:
        self.first: list[Any] = []
        self.second: list[Any] = []
        self._directory, self._files = directory, 0
        for name in ("first", "second"):
            (directory / name).mkdir(parents=True)
        self.add()

    def add(self, count: int = 23) -> None:
        """Add a file to both directories."""
        self._files += 1
        for name, begin, known in (("first", 0, self.first), ("second", 1000, self.second)):
            write_rows(self._directory / name / f"{self._files:03d}.parquet", count, begin + len(known))
            known.extend(rows(count, begin + len(known)))

    def expected(self) -> dict[str, list[Any]]:
        """Return the tuples of the sinks once all input is taken; `Held` waits for the end of its epoch."""
        return {
            "Totals": expected_totals(self.first),
            "Others": expected_totals(self.second, factor=1),
            "Tails": expected_totals(self.first, factor=1),
            "Both": sorted(self.first + self.second),
        }


def results(local: LocalApplication) -> dict[str, list[Any]]:
    return {name: published(local.published(name)) for name in ("Totals", "Others", "Tails", "Both")}


def started(tmp_path: Path, compilation: PlannedCompilation, run: RunKind = AVAILABLE) -> LocalApplication:
    return LocalApplication(Home(tmp_path / "home"), compilation, source_limit=10, begins=run)


def state(local: LocalApplication) -> tuple[str, str]:
    a = tables.application
    with local.catalog.read() as connection:
        return tuple(connection.execute(select(a.c.wanted, a.c.state).where(a.c.name == local.name)).one())


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return Feed(tmp_path / "data")


def test_each_run_is_bounded_run_and_goes_on_behind_the_one_before(tmp_path: Path, feed: Feed):
    compilation = application(tmp_path / "data")
    for count in (23, 0, 7):
        local = started(tmp_path, compilation)
        local.run()
        assert results(local) == feed.expected()
        assert state(local) == ("STOPPED", "RUNNING")
        if count:
            feed.add(count)


def test_rows_that_come_during_a_run_are_left_for_the_next_one(tmp_path: Path, feed: Feed):
    compilation = application(tmp_path / "data")
    local = started(tmp_path, compilation)
    for program in local.programs:
        local.step(program)
    before = feed.expected()
    feed.add()
    local.run()
    assert results(local) == before
    local = started(tmp_path, compilation)
    local.run()
    assert results(local) == feed.expected()


@pytest.mark.parametrize("turns", [2, 5, 9, 14])
def test_a_run_that_dies_anywhere_is_made_good_by_the_next_one(
    tmp_path: Path, feed: Feed, turns: int, monkeypatch: pytest.MonkeyPatch
):
    """Its processes are gone between two steps, after a batch was run and not committed, and before it was shown."""
    for module in (holding, bounded_run):  # the next run goes on when the hold of one that has died ends
        monkeypatch.setattr(module, "HOLD_SECONDS", 1.0)
    compilation = application(tmp_path / "data")
    for _ in range(2):
        local = started(tmp_path, compilation)
        for turn in range(turns):
            if turn % 3 == 2:
                local.trigger()
            for program in local.programs:
                plan = local.plan(program)
                if plan is not None:
                    done = local.execute(program, plan)
                    if (turn, program.pe % 2) != (turns - 1, 0):
                        commit_batch(local.catalog, program, plan, done, 0.0)
            local.advance_to_end()
        feed.add(9)
    local = started(tmp_path, compilation)
    local.run()
    assert results(local) == feed.expected()


def test_a_reset_within_a_run_keeps_its_bound(tmp_path: Path, feed: Feed):
    compilation = application(tmp_path / "data")
    local = started(tmp_path, compilation)
    for _ in range(3):
        for program in local.programs:
            local.step(program)
    before = feed.expected()
    feed.add()
    u = tables.unit
    with local.catalog.write() as connection:
        regions = (u.c.application == local.name, u.c.region.is_not(None))
        connection.execute(update(u).where(*regions).values(state="STARTED", dirty=True, cause="a test"))
        connection.execute(update(u).where(*regions).values(asked=u.c.generation))
    local.report_running()
    local.run()
    assert results(local) == before


def test_a_region_that_its_source_drives_ends_its_epoch_with_the_run(tmp_path: Path, feed: Feed):
    compilation = application(tmp_path / "data", trigger="operatorDriven")
    for _ in range(3):
        local = started(tmp_path, compilation)
        local.run()
        assert results(local) == feed.expected()
        feed.add(8)


def test_a_plain_run_behind_it_comes_to_the_end(tmp_path: Path, feed: Feed):
    compilation = application(tmp_path / "data")
    started(tmp_path, compilation).run()
    feed.add()
    local = started(tmp_path, compilation, RunKind())
    local.run()
    assert (results(local), state(local)) == (feed.expected(), ("RUNNING", "COMPLETED"))


@pytest.mark.parametrize("run", [ON, AVAILABLE], ids=["to the new end", "what is there"])
def test_an_application_that_is_complete_goes_on_when_there_is_more(tmp_path: Path, feed: Feed, run: RunKind):
    compilation = application(tmp_path / "data")
    started(tmp_path, compilation, RunKind()).run()
    for _ in range(2):
        assert find_sources_with_input(Catalog(Home(tmp_path / "home")), "app") == [] or run is AVAILABLE
        feed.add(11)
        local = started(tmp_path, compilation, run)
        local.run()
        assert results(local) == feed.expected()


def test_a_complete_application_names_the_sources_that_have_more(tmp_path: Path, feed: Feed):
    started(tmp_path, application(tmp_path / "data"), RunKind()).run()
    home = Home(tmp_path / "home")
    assert find_sources_with_input(Catalog(home), "app") == []
    write_rows(tmp_path / "data" / "second" / "002.parquet", 3)
    assert find_sources_with_input(Catalog(home), "app") == ["Other"]


def test_endless_sources_are_refused_by_name_before_anything_is_written(tmp_path: Path):
    beacon = node("Ticks", "Beacon", annotations=PERIODIC)
    http = node("Calls", "HttpSource", annotations=PERIODIC, parameters={"port": 1})
    compilation = compiled([beacon, http, sink("Out", "Ticks", "Calls")])
    with pytest.raises(NotDeployableError, match=r"(?s)Calls: a HttpSource receives.*Ticks: a Beacon without iter"):
        started(tmp_path, compilation)
    assert not Catalog(Home(tmp_path / "home")).exists
