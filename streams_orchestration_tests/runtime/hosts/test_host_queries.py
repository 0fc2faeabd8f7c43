"""A host starts, stops and replaces the queries of its PEs as the catalog wants it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.hosts import queries, unit_observer
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.logs.logs import read_log_end
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.sinks.sinks import record_failure
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.holding import HeldUnits, hold_units, release_units
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import joined


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return the host of three PEs in one region, in a first start."""
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=3)))
    joined(home)
    return Host(home, "app", 0, "mine", IdleEngine())


def test_only_so_many_queries_start_at_the_same_time(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queries, "STARTING", 2)
    host.queries.engine = engine = IdleEngine(begun=False)
    host.reconcile()
    host.reconcile()
    assert len(host.queries.running) == 2
    engine.queries[0].starting = False
    host.reconcile()
    assert len(host.queries.running) == 3


def test_a_query_that_fails_for_what_the_last_cut_needs_fails_for_good(host: Host, monkeypatch: pytest.MonkeyPatch):
    host.queries.engine = engine = IdleEngine()
    host.reconcile()
    for query in engine.queries:
        query.failed = Failure("a segment is gone")
    monkeypatch.setattr(queries, "check_and_record_cuts", lambda *_: {"region-0": "it is lost"})
    host.reconcile()
    for pe in read_status(Catalog(host.home), "app").pes:
        assert (pe.state, pe.row.permanent, pe.row.error) == ("FAILED", True, "a segment is gone")


def test_a_failure_of_a_sink_stays_although_the_query_of_its_pe_runs(host: Host):
    host.reconcile()
    lost = OutputError("Out", "an output is gone", lost=True)
    record_failure(host.catalog, "app", "Out", lost)
    host.reconcile()
    (pe,) = (pe for pe in read_status(Catalog(host.home), "app").pes if "Out" in pe.row.operators)
    assert (pe.state, pe.row.permanent, pe.row.error) == ("FAILED", True, str(lost))


def test_a_host_rotates_its_log_and_that_of_the_standby_it_was(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_MACHINE", "north")
    own, standby, other = host.home.host_log("app", 0), *map(host.home.standby_log, ("north", "south"))
    host.janitor.log_size = 100
    for log in (own, standby, other):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("a line\n" * 100)
    host.janitor.tidy()
    assert [log.stat().st_size for log in (own, standby, other)] == [0, 0, 700]
    assert read_log_end(own, 1000)[0] == read_log_end(standby, 1000)[0] == ["a line"] * 100


def test_a_log_that_cannot_be_rotated_stops_no_host(host: Host, caplog: pytest.LogCaptureFixture):
    own = host.home.host_log("app", 0)
    host.janitor.log_size = 100
    own.with_name("host-0.log.part").mkdir(parents=True)
    own.write_text("a line\n" * 1000)
    for _ in range(3):
        host.janitor.tidy()
    assert caplog.text.count("host-0.log is not rotated; it is tried again") == 1
    assert own.stat().st_size == 7000


def set_unit(host: Host, **values: Any) -> None:
    with host.catalog.write() as connection:
        connection.execute(update(tables.unit).values(**values))


def test_units_are_told_at_once_of_what_has_happened_and_else_now_and_then(host: Host):
    host.reconcile()
    assert host.reconcile(), "the PEs run: the region may begin to work"
    advance_units(host.catalog, "app")
    assert not host.reconcile()
    set_unit(host, timer="period", deadline=0.0)
    assert host.reconcile(), "the period has passed"
    set_unit(host, timer="drain", deadline=0.0)
    assert not host.reconcile(), "it is for somebody else to begin a reset"
    set_unit(host, state="UNHEALTHY", timer=None)
    assert not host.reconcile()
    set_unit(host, asked=1)
    assert host.reconcile(), "a reset begins as soon as all hosts are there"
    set_unit(host, state="RESETTING", generation=2)
    assert host.reconcile()


def test_a_host_looks_at_the_units_of_others_now_and_then_and_when_one_has_died(
    host: Host, monkeypatch: pytest.MonkeyPatch
):
    checks: list[Any] = []
    monkeypatch.setattr(unit_observer, "advance_units_and_trial", lambda *given: checks.append(given[2]))
    everything, own = None, {"region-0"}
    for now in (100.0, 101.0, 109.0, 110.0, 111.0):
        host.observer.advance(now)
    assert checks == [everything, own, own, everything, own]
    host.observer.neighbours = [(2**22 + 1, 1.0)]
    assert host.reconcile(), "nobody may be left who checks its units"
    host.observer.advance(112.0)
    assert checks[-1] is everything
    host.reconcile()
    host.observer.advance(113.0)
    assert checks[-1] == own


def test_files_of_a_query_are_removed_when_the_next_generation_begins(tmp_path: Path):
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=1)))
    joined(home)
    host = Host(home, "app", 0, "mine", IdleEngine())
    host.reconcile()
    left = home.data("app") / "streams" / "pe-0" / "uncommitted.arrow"
    left.parent.mkdir(parents=True)
    left.touch()
    host.reconcile()
    assert left.exists(), "the query may be about to commit it"
    with Catalog(home).write() as connection:
        connection.execute(update(tables.unit).values(generation=2))
    host.reconcile()
    assert not left.exists()
    assert [query.generation for query in host.queries.running.values()] == [2]


def test_no_query_starts_with_the_program_of_another_plan(host: Host):
    with host.catalog.write() as connection:
        connection.execute(update(tables.application).values(plan=2))
    assert host.reconcile(), "the plan is loaded at the next turn"
    assert host.queries.running == {}


def test_a_host_that_is_done_stays_while_units_are_held_for_another_plan(host: Host):
    """Else states that a redeploy has written, and that died with it, were left for good."""
    with host.catalog.write() as connection:
        connection.execute(update(tables.pe).values(final=True, state="COMPLETED"))
    set_unit(host, state="COMPLETED")
    units = [unit.name for unit in read_status(Catalog(host.home), "app").units]
    hold_units(HeldUnits(host.catalog, "app", (), units))
    host.reconcile()
    assert not host.complete_finished()
    release_units(host.catalog, "app")
    assert host.complete_finished()
