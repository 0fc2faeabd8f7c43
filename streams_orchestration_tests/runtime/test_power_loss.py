"""A loss of power at any moment: what the catalog names is there, and what was visible or taken back stays so."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.undeliverable import Undeliverable, count_set_aside, set_aside
from streams_orchestration.operators.standard.files.consumed_files import ConsumedFiles
from streams_orchestration.operators.standard.systems.sql_sink import SqlSink
from streams_orchestration.operators.storage.durable_files import sync_names, write_durably
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks import state_files
from streams_orchestration.runtime.tasks.state_files import SMALL_STATE
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.applications import compiled, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.power import Disk, recorded
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some, visits
from streams_orchestration_tests.runtime.running import joined
from streams_orchestration_tests.runtime.saved import begun, take

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 20


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    with recorded(tmp_path / "home", monkeypatch) as disk:
        yield disk


@pytest.fixture(params=[SMALL_STATE, 0], ids=["small states in the catalog", "all states in files"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "SMALL_STATE", request.param)


def sinking(tmp_path: Path, **parameters: Any) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), sink("Out", "Rows", parameters={"file": "Out", "closeMode": "batch"} | parameters)]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)


def visible(local: LocalApplication) -> list[tuple[Any, ...]]:
    return published(local.published("Out"))


@pytest.mark.usefixtures("disk", "small")
@pytest.mark.parametrize("pes", [1, 3])
def test_a_commit_names_only_files_that_are_on_disk(tmp_path: Path, pes: int):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, pes), 4)
    run_some(local, 12)
    local.run()


@pytest.mark.usefixtures("disk")
def test_a_merged_file_is_on_disk_before_it_takes_the_place_of_others(tmp_path: Path):
    local = sinking(tmp_path, closeMode="size", bytesPerFile=1_000_000)
    local.run()
    assert len(local.published("Out")) == 1


@pytest.mark.usefixtures("disk", "small")
def test_a_redeploy_names_only_states_that_are_on_disk(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 1), 4)
    run_some(local, 4)
    redeploy(local, visits(tmp_path, 3, 2))
    local.run()


@pytest.mark.usefixtures("disk", "small")
def test_an_application_begins_from_a_savepoint_with_states_that_are_on_disk(tmp_path: Path):
    compilation = visits(tmp_path, 2, 1)
    local = LocalApplication(Home(tmp_path / "home"), compilation, 4)
    run_some(local, 4)
    place = find_savepoint(local.home, str(take(local).place))
    begun(local.home, compilation, place, fresh=True).run()


@pytest.mark.usefixtures("small")
def test_a_savepoint_is_on_disk_when_it_has_its_name(tmp_path: Path, disk: Disk):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 1), 4)
    run_some(local, 4)
    directory = take(local).place.path
    assert directory is not None
    assert all(disk.keeps(path) for path in directory.rglob("*") if path.is_file())


def test_each_step_of_a_publication_is_on_disk_before_the_next_one(tmp_path: Path, disk: Disk):
    local = sinking(tmp_path)
    local.commit()
    local.commit(boundary=True)
    disk.calls.clear()
    publish(local.catalog, local.name)
    kinds = [(call.partition(" ")[0], "_pending" in call) for call in disk.calls]
    assert kinds[:6] == [
        ("link", False), ("link", False), ("fsync", False), ("unlink", True), ("unlink", True), ("commit", False),
    ]  # fmt: skip


def test_a_batch_is_written_in_the_order_of_what_relies_on_what(tmp_path: Path, disk: Disk):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 1, 2), 4)
    run_some(local, 2)
    disk.calls.clear()
    local.step(local.programs[0])
    calls = [call for call in disk.calls if call.startswith(("fsync", "commit"))]
    contents = [call for call in calls if "." in call]
    directories = [call for call in calls if call.startswith("fsync") and "." not in call]
    assert contents, "the batch has written something"
    assert calls[:-1] == [*contents, *directories], "contents, then names"
    assert calls[-1] == "commit"
    assert len(directories) == len({call.split()[1] for call in directories}), "a directory is synchronised once"


@pytest.mark.covering
@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("call", range(1, 10))
def test_publishing_loses_nothing_with_the_power(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, visibility: str, call: int
):
    local = sinking(tmp_path, visibility=visibility)
    local.commit()
    local.commit(boundary=True)
    with monkeypatch.context() as patch:
        died = kill_at(patch, call)
        try:
            publish(local.catalog, local.name)
        except KilledError:
            assert died()
    disk.lose_power(removals=False)
    publish(local.catalog, local.name)
    assert visible(local) == sorted(rows(10))


def test_files_that_a_reset_retracted_do_not_reappear_after_a_power_loss(tmp_path: Path, disk: Disk):
    local = sinking(tmp_path, visibility="read_uncommitted")
    local.commit(boundary=True)
    local.commit()
    publish(local.catalog, local.name)
    reset_unit(local.catalog, local.name, "region-0")
    publish(local.catalog, local.name)
    disk.lose_power(removals=True)
    local.run()
    assert visible(local) == sorted(rows(COUNT))


def test_files_that_the_last_sweep_removed_do_not_reappear_after_a_power_loss(tmp_path: Path, disk: Disk):
    """No process looks for files of a complete application."""
    local = sinking(tmp_path)
    joined(local.home)
    left = local.home.data(local.name) / "states" / "pe-0" / "of-a-killed-task.state"
    left.parent.mkdir(parents=True)
    write_durably(left, b"state")
    sync_names([left])
    assert Host(local.home, local.name, 0, "mine", IdleEngine()).janitor.last_sweep()
    assert not left.exists()
    disk.lose_power(removals=True)
    assert not left.exists()


def test_results_that_a_fresh_start_removed_do_not_reappear_after_a_power_loss(tmp_path: Path, disk: Disk):
    local = sinking(tmp_path, file=str(disk.root / "elsewhere"))
    local.run()
    former = [*(disk.root / "elsewhere").glob("*.parquet")]
    assert former
    deploy(local.home, deployable(local.compilation), fresh=True)
    disk.lose_power(removals=True)
    assert not any(path.exists() for path in former)


def test_directories_that_a_fresh_start_removed_are_not_on_disk_afterwards(tmp_path: Path, disk: Disk):
    local = sinking(tmp_path, file=str(disk.root / "elsewhere"))
    local.run()
    home = local.home
    former = [home.logs(local.name) / "pe-7.log", home.results(local.name) / "Former" / "part.csv"]
    former += [home.data(local.name) / "spark" / "metadata"]
    for path in former:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, b"former")
    sync_names(former)
    tops = [home.logs(local.name), home.results(local.name), home.data(local.name)]
    assert all(top.name in disk.names[top.parent] for top in tops)
    deploy(home, deployable(local.compilation), fresh=True)
    assert not any(top.name in disk.names[top.parent] for top in tops)


@pytest.mark.parametrize("parameters", [{"deleteFile": True}, {"moveFileToDirectory": "done"}], ids=str)
def test_consumed_files_do_not_reappear_after_a_power_loss(tmp_path: Path, disk: Disk, parameters: dict[str, Any]):
    (disk.root / "done").mkdir()
    file = disk.root / "a.csv"
    write_durably(file, b"n\n1\n")
    sync_names([file])
    bench = Bench(ConsumedFiles, [], ["n int NOT NULL"], disk.root, file="*.csv", format="csv", **parameters)
    operator = bench.operator
    assert isinstance(operator, ConsumedFiles)
    operator.confirm(bench.produce().offset)
    disk.lose_power(removals=True)
    assert not file.exists()
    disk.lose_power(removals=False)
    assert len([*disk.root.glob("done/*")]) == ("deleteFile" not in parameters)


def test_a_file_is_copied_durably_to_another_file_system(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch):
    link = os.link

    def on_another_file_system(source: Path, target: Path) -> None:
        if Path(target).parent.name == "done":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(target))
        link(source, target)

    (disk.root / "done").mkdir()
    file = disk.root / "a.csv"
    write_durably(file, b"n\n1\n")
    os.utime(file, (1e9, 1e9))
    bench = Bench(
        ConsumedFiles, [], ["n int NOT NULL"], disk.root, file="*.csv", format="csv", moveFileToDirectory="done"
    )
    operator = bench.operator
    assert isinstance(operator, ConsumedFiles)
    offset = bench.produce().offset
    monkeypatch.setattr(os, "link", on_another_file_system)
    operator.confirm(offset)
    disk.lose_power(removals=False)
    (moved,) = disk.root.glob("done/*")
    assert (moved.read_text(), moved.stat().st_mtime) == ("n\n1\n", 1e9)


def test_tuples_that_a_repeated_delivery_takes_are_not_set_aside_again_after_a_power_loss(tmp_path: Path, disk: Disk):
    context = Bench(SqlSink, ["n int"], results=disk.root, url=f"sqlite:///{tmp_path}/target.db", table="t").context
    key = DeliveryKey("life", "Out", -1, 1, 0, 1)
    set_aside(context, key, [Undeliverable(0, "n", "too large", {"n": 1})])
    assert count_set_aside(context, key) == 1
    set_aside(context, key, [])
    disk.lose_power(removals=True)
    assert count_set_aside(context, key) == 0
