"""Stored states as chains of files: what a commit names, what a reset goes back to, what is kept."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.tasks.stored_states import newest_states, state_files
from streams_orchestration.runtime.units import garbage as garbages
from streams_orchestration.runtime.units.garbage import Garbage, collect_garbage, sweep
from streams_orchestration_tests.runtime.applications import (
    ALONE,
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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("database", "no_hosts", "states_in_files"),
    POSTGRESQL_IS_DEEP,
]

COUNT = 120


@pytest.fixture
def local(tmp_path: Path, states_as_changes: None) -> LocalApplication:
    """Running totals whose state is stored as changes, four tuples a batch."""
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Totals", "KeyedTotals", "Rows", schema="Total"), sink("Out", "Totals")]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 4)


def batches(local: LocalApplication, count: int) -> None:
    for _ in range(count):
        assert local.step(local.programs[0])


def epoch(local: LocalApplication) -> None:
    local.trigger()
    batches(local, 1)


def stored(local: LocalApplication, pe: int = 0) -> StoredState:
    with local.catalog.read() as connection:
        return newest_states(connection, local.name, pe)["Totals"]


def another_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "INSTANCES", InstanceCache())


def on_disk(local: LocalApplication) -> set[str]:
    return set(local.home.store.below(f"data/{local.name}/states"))


def needed(local: LocalApplication) -> set[str]:
    with local.catalog.read() as connection:
        return state_files(connection, local.name)


def back(local: LocalApplication) -> None:
    (unit,) = local.units
    reset_unit(local.catalog, local.name, unit, force=True)


def finish(local: LocalApplication) -> None:
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT), factor=1)


def test_a_commit_names_a_chain_of_files_of_which_each_batch_writes_one(local: LocalApplication):
    batches(local, 1)
    first = stored(local)
    assert [file.batch for file in first.files] == [0]
    batches(local, 1)
    second = stored(local)
    assert second.files[0] == first.files[0]
    assert [file.batch for file in second.files] == [0, 1]
    assert second.files[1].size < second.files[0].size
    for file in second.files:
        path = local.home.root / file.path
        assert path.name.startswith(f"g1-b{file.batch}-")
        assert path.stat().st_size == file.size


def test_a_reset_goes_back_to_the_chain_of_the_cut(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    batches(local, 2)
    epoch(local)
    cut = stored(local)
    batches(local, 5)
    assert stored(local) != cut
    back(local)
    assert stored(local) == cut
    assert on_disk(local) >= {file.path for file in cut.files}
    assert on_disk(local) == needed(local)
    another_worker(monkeypatch)
    finish(local)


def test_without_a_cut_a_reset_leaves_no_state(local: LocalApplication):
    batches(local, 4)
    back(local)
    assert on_disk(local) == needed(local) == set()
    finish(local)


@pytest.mark.parametrize("worker", ["the same", "another one"])
def test_every_worker_goes_on_with_the_chain(local: LocalApplication, monkeypatch: pytest.MonkeyPatch, worker: str):
    lengths = []
    while local.plan(local.programs[0]) is not None:
        batches(local, 1)
        lengths.append(len(stored(local).files))
        if worker == "another one":
            another_worker(monkeypatch)
    assert max(lengths) > 1
    finish(local)


def test_changes_of_an_uncommitted_batch_are_not_in_the_chain(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    """The host dies between the write of the changes and the commit."""
    (program,) = local.programs
    batches(local, 3)
    before = on_disk(local)
    plan = local.plan(program)
    assert plan is not None
    local.execute(program, plan)
    (lost,) = on_disk(local) - before
    another_worker(monkeypatch)
    sweep(local.catalog, local.name, [program.pe], [program])
    assert lost not in on_disk(local)
    assert on_disk(local) == needed(local)
    finish(local)


def test_an_attempt_of_a_task_that_failed_later_does_not_spoil_the_next_one(local: LocalApplication):
    """The same worker runs the batch again: what the first attempt stored does not count as stored."""
    (program,) = local.programs
    batches(local, 3)
    plan = local.plan(program)
    assert plan is not None
    local.execute(program, plan)
    finish(local)


def kept(local: LocalApplication) -> Counter[str]:
    with local.catalog.read() as connection:
        return Counter(connection.scalars(select(tables.state.c.operator)))


def test_between_two_cuts_the_catalog_keeps_what_they_and_the_next_batch_need(local: LocalApplication):
    batches(local, 2)
    epoch(local)
    cut = {file.path for file in stored(local).files}
    for _ in range(4):
        batches(local, 4)
        collect_garbage(local.catalog, local.name, local.programs, local.units)
        assert kept(local)["Totals"] == 2
        assert cut | {file.path for file in stored(local).files} == needed(local) == on_disk(local)
    back(local)
    assert needed(local) == on_disk(local) == cut
    finish(local)


def test_files_of_a_former_cut_are_collected_after_a_new_one(local: LocalApplication):
    for _ in range(3):
        batches(local, 2)
        epoch(local)
        collect_garbage(local.catalog, local.name, local.programs, local.units)
        assert {file.path for file in stored(local).files} == needed(local) == on_disk(local)
        assert kept(local)["Totals"] == 1


def test_garbage_is_looked_for_when_the_cut_has_moved_or_many_batches_were_made(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    garbage = Garbage(local.catalog, local.name, local.programs, local.units, 1)
    batches(local, 1)
    assert garbage.collect()
    batches(local, 1)
    assert not garbage.collect()
    epoch(local)
    assert garbage.collect()
    assert not garbage.collect()
    assert {file.path for file in stored(local).files} == needed(local) == on_disk(local)
    monkeypatch.setattr(garbages, "BATCHES", 1)
    batches(local, 1)
    assert garbage.collect()


@pytest.mark.usefixtures("states_as_changes")
def test_a_boundary_that_may_become_the_cut_yet_keeps_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One PE is beyond the boundary, the other one has not come to it."""
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Totals", "KeyedTotals", "Rows", schema="Total")]
    graph.append(sink("Out", "Totals", config=ALONE))
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=2), 4)
    (writes,) = [program for program in local.programs if program.sources]
    (reads,) = [program for program in local.programs if not program.sources]
    local.trigger()
    assert local.step(writes)
    boundary = stored(local, writes.pe)
    for _ in range(3):
        assert local.step(writes)
    collect_garbage(local.catalog, local.name, local.programs, local.units)
    assert kept(local)["Totals"] == 2
    while local.step(reads):
        pass
    back(local)
    assert stored(local, writes.pe) == boundary
    another_worker(monkeypatch)
    finish(local)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def exchange(path: Path) -> None:
    """Exchange the file for another whole one of the same size."""
    content = bytearray(path.read_bytes())
    start = content.index(b"\n") + 1
    content[-30] ^= 1
    content[start : start + 4] = zlib.crc32(content[start + 4 :]).to_bytes(4, "big")
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [truncate, alter, exchange, Path.unlink])
@pytest.mark.parametrize("which", [0, 1])
def test_a_bad_file_anywhere_in_the_chain_is_named(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, harm: object, which: int
):
    (program,) = local.programs
    batches(local, 2)
    path = local.home.root / stored(local).files[which].path
    assert callable(harm)
    harm(path)
    another_worker(monkeypatch)
    plan = local.plan(program)
    assert plan is not None
    (failed,) = [result.failure for result in local.execute(program, plan) if result.failure]
    assert failed.nature == "data"
    assert failed.message.startswith(f"operator Totals: its state {path} cannot be read: ")
    assert "start over with --fresh" in failed.message
