"""A batch is true with its commit, or it never was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.errors.errors import StaleGenerationError, StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.stepping import StepError, publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.units.controller import unit_row
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration.runtime.units.unit_store import record_of
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.sample_operators import RunningTotals

pytestmark = [pytest.mark.usefixtures("database", "no_hosts"), POSTGRESQL_IS_DEEP]

COUNT = 20


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    return LocalApplication(Home(tmp_path / "home"), totals(file, fusion="manual", pes=1), 5)


def content(local: LocalApplication) -> dict[str, list[Any]]:
    """Return all of the catalog."""
    with local.catalog.read() as connection:
        return {
            table.name: sorted(tuple(row) for row in connection.execute(select(table)).all())
            for table in tables.metadata.sorted_tables
            if table is not tables.host
        }


def unit(local: LocalApplication) -> UnitStatus:
    return read_status(local.catalog, local.name).units[0]


STALE = {
    "a stale generation": {"generation": 0},
    "a stale life": {"life": "another"},
    "a batch that was committed already": {"batch": 0},
    "a batch too early": {"batch": 2},
}


@pytest.mark.parametrize("case", STALE)
def test_a_commit_that_does_not_follow_is_refused_and_changes_nothing(local: LocalApplication, case: str):
    (program,) = local.programs
    local.step(program)
    plan = local.plan(program)
    assert plan is not None
    results = local.execute(program, plan)
    before = content(local)
    with pytest.raises(StaleGenerationError, match=r"PE 0 of app: the commit of batch .* the catalog is at"):
        commit_batch(local.catalog, program, replace(plan, **STALE[case]), results, 0.0)
    assert content(local) == before
    commit_batch(local.catalog, program, plan, results, 0.0)


def test_a_commit_after_a_reset_is_refused(local: LocalApplication):
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    results = local.execute(program, plan)
    reset_unit(local.catalog, local.name, "region-0")
    with pytest.raises(StaleGenerationError, match="generation 1; the catalog is at generation 2"):
        commit_batch(local.catalog, program, plan, results, 0.0)


def test_a_commit_of_an_application_that_is_gone_is_refused(local: LocalApplication):
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    results = local.execute(program, plan)
    with local.catalog.write() as connection:
        connection.execute(tables.application.delete())
    with pytest.raises(StaleGenerationError, match="it is gone"):
        commit_batch(local.catalog, program, plan, results, 0.0)


def test_rows_are_counted_and_a_reset_takes_them_back(local: LocalApplication):
    (program,) = local.programs
    local.step(program)
    (pe,) = read_status(local.catalog, local.name).pes
    assert (pe.row.rows_in, pe.row.rows_out) == (5, 10)
    reset_unit(local.catalog, local.name, "region-0")
    (pe,) = read_status(local.catalog, local.name).pes
    assert (pe.row.rows_in, pe.row.rows_out, pe.row.batch) == (0, 0, -1)
    assert pe.row.epoch == 2, "the sequence id of what was abandoned is not used again (B4)"


def test_a_reset_goes_back_to_the_last_complete_epoch(local: LocalApplication):
    (program,) = local.programs
    local.step(program)
    local.trigger()
    local.step(program)
    local.step(program)
    assert (unit(local).completed_epoch, unit(local).open_epoch) == (1, 2)
    reset_unit(local.catalog, local.name, "region-0")
    (pe,) = read_status(local.catalog, local.name).pes
    assert (pe.row.batch, pe.row.epoch, pe.row.rows_in, pe.generation) == (1, 3, 10, 2)


def test_a_reset_of_an_older_generation_does_nothing(local: LocalApplication):
    assert reset_unit(local.catalog, local.name, "region-0", generation=1).generation == 2
    before = content(local)
    assert reset_unit(local.catalog, local.name, "region-0", generation=1).generation == 2
    assert content(local) == before
    assert reset_unit(local.catalog, local.name, "region-0", generation=2).generation == 3


@pytest.mark.slow
def test_resets_in_a_row_are_limited(local: LocalApplication):
    for attempt in range(1, 6):
        reset_unit(local.catalog, local.name, "region-0")
        assert (unit(local).state, unit(local).row.attempts) == ("RESETTING", attempt)
        local.report_running()
        assert (unit(local).state, unit(local).row.attempts) == ("PROCESSING", attempt), "a reset gives none back (B5)"
    with pytest.raises(StreamsRuntimeError, match=r"region-0 was reset 5 times in a row .*--force"):
        reset_unit(local.catalog, local.name, "region-0")
    assert unit(local).state == "MAXIMUM_RESET_ATTEMPTS_REACHED"
    assert unit(local).generation == 6
    assert reset_unit(local.catalog, local.name, "region-0", force=True).generation == 7
    assert (unit(local).state, unit(local).row.attempts, unit(local).row.max_attempts) == ("RESETTING", 6, 10)
    local.trigger()
    local.step(local.programs[0])
    assert (unit(local).row.attempts, unit(local).row.max_attempts) == (0, 5), "a complete epoch takes both back"
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT))


def test_a_forced_reset_adds_to_the_limit_only_once_it_is_reached(local: LocalApplication):
    assert reset_unit(local.catalog, local.name, "region-0", force=True).generation == 2
    assert (unit(local).row.attempts, unit(local).row.max_attempts) == (1, 5)


def test_a_complete_epoch_gives_all_attempts_back(local: LocalApplication):
    for _ in range(4):
        reset_unit(local.catalog, local.name, "region-0")
    local.trigger()
    local.step(local.programs[0])
    assert unit(local).row.attempts == 0


def test_a_completed_unit_is_not_reset(local: LocalApplication):
    local.run()
    before = content(local)
    assert reset_unit(local.catalog, local.name, "region-0", force=True).generation == 1
    assert content(local) == before


def test_an_unknown_unit_is_named_with_the_nearest(local: LocalApplication):
    with pytest.raises(StreamsRuntimeError, match=r"app: there is no unit region0; .*region-0"):
        reset_unit(local.catalog, local.name, "region0")


@pytest.mark.parametrize("permanent", [True, False])
def test_a_failing_operator_commits_nothing_and_says_whether_a_reset_helps(tmp_path: Path, permanent: bool):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    refusing = node("Strict", "Refusing", "Rows", parameters={"value": rows(COUNT)[12][1], "permanent": permanent})
    graph = [source("Rows", file), refusing, sink("Out", "Strict")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), COUNT)
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    (failure,) = [result.failure for result in local.execute(program, plan) if result.failure]
    assert (failure.nature == "data") is permanent
    kind = "" if permanent else "RuntimeError: "
    assert failure.message.startswith(f"operator Strict: {kind}n is {rows(COUNT)[12][1]} (")
    assert "sample_operators.py, line " in failure.message


def test_a_batch_that_failed_leaves_nothing_in_memory(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None

    def refuse(_operator: RunningTotals) -> None:
        message = "no room"
        raise OSError(message)

    with monkeypatch.context() as broken:
        broken.setattr(RunningTotals, "checkpoint", refuse)
        assert any(result.failure for result in local.execute(program, plan))
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT))


def test_a_state_that_became_empty_is_not_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Held", "Holding", "Rows"), sink("Out", "Held")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)
    local.step(local.programs[0])
    local.trigger()
    local.step(local.programs[0])
    monkeypatch.setattr(stages, "INSTANCES", InstanceCache())
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))


def test_tuples_of_another_type_than_the_stream_s_are_refused_with_both(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Odd", "OtherSchema", "Rows"), sink("Out", "Odd")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="legacy"))
    with pytest.raises(StepError, match=r"operator Odd: it submits tuples of n bigint, but output port 0 has k string"):
        local.run()


def pending(local: LocalApplication) -> list[Path]:
    return sorted(local.home.results(local.name).glob("*/_pending/*"))


def test_files_are_published_when_their_epoch_is_complete(local: LocalApplication):
    (program,) = local.programs
    local.step(program)
    assert (len(pending(local)), local.published("Out")) == (2, [])
    local.trigger()
    local.step(program)
    assert (pending(local), len(local.published("Out"))) == ([], 2)


def closed_epoch(local: LocalApplication) -> None:
    """Complete one epoch of which nothing is published."""
    (program,) = local.programs
    local.trigger()
    plan = local.plan(program)
    assert plan is not None
    commit_batch(local.catalog, program, plan, local.execute(program, plan), 0.0)


def test_nothing_is_left_beside_the_results_of_a_complete_application(local: LocalApplication):
    local.run()
    assert {path.name.partition("-")[0] for path in local.home.results(local.name).glob("*/*")} == {"part"}


def test_publishing_again_after_a_crash_before_the_catalog_knew(local: LocalApplication):
    closed_epoch(local)
    with local.catalog.read() as connection:
        before = [dict(row) for row in connection.execute(select(tables.sink_file)).mappings()]
    assert publish(local.catalog, local.name) == 2
    parts = {path: path.read_bytes() for path in [*local.published("Out"), *local.published("Raw")]}
    with local.catalog.write() as connection:
        connection.execute(tables.sink_file.insert(), before)
    assert publish(local.catalog, local.name) == 2
    assert {path: path.read_bytes() for path in parts} == parts
    assert publish(local.catalog, local.name) == 0


def test_a_pending_file_that_is_gone_is_named(local: LocalApplication):
    closed_epoch(local)
    pending(local)[0].unlink()
    with pytest.raises(StreamsRuntimeError, match=r"operator (Out|Raw): .*_pending.* is gone: start over with --fresh"):
        publish(local.catalog, local.name)


def test_a_batch_outside_of_regions_forgets_as_much_of_a_failure_as_a_checkpoint(tmp_path: Path):
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", COUNT), annotations={}), sink("Out", "Rows")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)
    (program,) = local.programs
    failure = {
        "attempts": 3,
        "max_attempts": 9,
        "cause": "boom",
        "kind": "a",
        "give_up_at": 1e10,
        "tries": [["a", 3, 1.0, False]],
    }
    with local.catalog.write() as connection:
        connection.execute(tables.unit.update().values(failure))
        before = unit_row(connection, local.name, program.unit)
    assert before.region is None
    local.step(program)
    with local.catalog.read() as connection:
        after = record_of(unit_row(connection, local.name, program.unit))
    forgiven = record_of(before).forgive(before.configured_attempts, 0.0)
    assert after == replace(forgiven, completed_epoch=after.completed_epoch, current_epoch=after.current_epoch)
    assert after.completed_epoch > forgiven.completed_epoch


def test_an_application_is_not_complete_before_all_is_published(local: LocalApplication):
    (program,) = local.programs
    while read_status(local.catalog, local.name).pes[0].state != "COMPLETED":
        local.trigger()
        plan = local.plan(program)
        assert plan is not None
        commit_batch(local.catalog, program, plan, local.execute(program, plan), 0.0)
    assert not complete(local.catalog, local.name)
    publish(local.catalog, local.name)
    assert complete(local.catalog, local.name)
    assert read_status(local.catalog, local.name).state == "COMPLETED"
