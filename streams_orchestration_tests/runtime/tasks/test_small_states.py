"""Small files of states, which the catalog holds in the row of their commit."""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.operators.states.state import load_state
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks import state_files
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.tasks.state_files import SMALL_STATE, SMALL_STATES, read_state, small_state
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import counts, expected_counts, redeploy, run_some, visits
from streams_orchestration_tests.runtime.saved import begun, take

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("database", "no_hosts"), POSTGRESQL_IS_DEEP]

COUNT = 120
LARGE = 1 << 20
"""More bytes than a state of these tests has."""


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalApplication:
    """Running totals, four tuples a batch, whose state is small enough for the catalog."""
    monkeypatch.setattr(state_files, "SMALL_STATE", LARGE)
    monkeypatch.setattr(state_files, "SMALL_STATES", LARGE)
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Totals", "KeyedTotals", "Rows", schema="Total"), sink("Out", "Totals")]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 4)


def batches(local: LocalApplication, count: int) -> None:
    for _ in range(count):
        assert local.step(local.programs[0])


def epoch(local: LocalApplication) -> None:
    local.trigger()
    batches(local, 1)


def stored(local: LocalApplication) -> StoredState:
    with local.catalog.read() as connection:
        return newest_states(connection, local.name, 0)["Totals"]


def on_disk(local: LocalApplication) -> list[str]:
    return local.home.store.below(f"data/{local.name}/states")


def another_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "INSTANCES", InstanceCache())


def finish(local: LocalApplication) -> None:
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT), factor=1)


def test_a_small_state_is_in_the_catalog_and_in_no_file(local: LocalApplication):
    batches(local, 2)
    (file,) = stored(local).files
    assert (file.path, file.batch) == ("", 1)
    content = base64.b64decode(file.content)
    assert len(content) == file.size
    assert load_state([content]).keys() == read_state(local.home.store, stored(local)).keys()
    assert on_disk(local) == []


def test_every_worker_and_a_reset_read_it_from_there(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    batches(local, 2)
    epoch(local)
    cut = stored(local)
    batches(local, 5)
    assert stored(local) != cut
    (unit,) = local.units
    reset_unit(local.catalog, local.name, unit, force=True)
    assert stored(local) == cut
    while local.plan(local.programs[0]) is not None:
        another_worker(monkeypatch)
        batches(local, 1)
    finish(local)


@pytest.mark.usefixtures("states_as_changes")
def test_a_chain_has_small_changes_in_the_catalog_and_the_rest_in_a_file(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    batches(local, 1)
    whole = stored(local).files[0].size
    (unit,) = local.units
    reset_unit(local.catalog, local.name, unit, force=True)
    monkeypatch.setattr(state_files, "SMALL_STATE", whole - 1)
    batches(local, 2)
    first, second = stored(local).files
    assert (bool(first.path), bool(second.path)) == (True, False)
    assert on_disk(local) == [first.path]
    while local.plan(local.programs[0]) is not None:
        another_worker(monkeypatch)
        batches(local, 1)
        collect_garbage(local.catalog, local.name, local.programs, local.units)
    assert on_disk(local) == sorted(file.path for file in stored(local).files if file.path)
    finish(local)


@pytest.mark.parametrize(
    "content",
    [
        lambda good: good[:-4],
        lambda good: good[:8] + ("A" if good[8] != "A" else "B") + good[9:],
        lambda good: good[:-1] + "?",
        lambda good: good[:-1],
    ],
    ids=["shortened", "altered", "not in base64", "not of whole bytes"],
)
def test_a_content_that_was_altered_in_the_catalog_is_refused(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, content: object
):
    (program,) = local.programs
    batches(local, 1)
    (file,) = stored(local).files
    assert callable(content)
    with local.catalog.write() as connection:
        damaged = [asdict(replace(file, content=content(file.content)))]
        connection.execute(update(tables.state).values(files=damaged))
    another_worker(monkeypatch)
    plan = local.plan(program)
    assert plan is not None
    (failed,) = [result.failure for result in local.execute(program, plan) if result.failure]
    assert failed.nature == "data"
    assert failed.message.startswith("operator Totals: its state in the catalog cannot be read: ")


@pytest.mark.parametrize("limit", [LARGE, 700, 0], ids=["in the catalog", "some in files", "in files"])
def test_states_of_both_kinds_are_divided_saved_and_cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int):
    monkeypatch.setattr(state_files, "SMALL_STATE", limit)
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 1), 4)
    run_some(local, 4)
    place = take(local).place
    redeploy(local, visits(tmp_path, 3, 2))
    local.run()
    assert counts(local) == expected_counts()
    clone = begun(Home(tmp_path / "other"), visits(tmp_path, 3, 1), place)
    clone.run()
    assert counts(clone)
    assert counts(clone).items() <= expected_counts().items(), "the counts of the savepoint go on"


def test_the_limit_is_lower_for_the_operators_of_a_large_pe(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    (program,) = local.programs
    monkeypatch.undo()
    assert small_state(program) == SMALL_STATE
    (totals,) = [each for each in program.operators.values() if each.name == "Totals"]
    many = {number: replace(totals, index=number) for number in range(100)}
    assert small_state(replace(program, operators=many)) == SMALL_STATES // 100
    assert small_state(replace(program, operators={})) == SMALL_STATE
