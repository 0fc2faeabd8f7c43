"""Lake tables on this machine's disk: what a commit names is on disk before it, and the commit before it counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyiceberg.catalog import sql
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import Engine, event

from streams_orchestration.operators.lakes import delta_table, on_disk
from streams_orchestration.operators.storage.durable_files import forget_names
from streams_orchestration_tests.operators.lakes.lakes import LAKES, Delta, deliver, delivery
from streams_orchestration_tests.runtime.power import Disk

COMMITS: dict[str, tuple[Any, str]] = {
    "delta": (deltalake.DeltaTable, "create_write_transaction"),
    "iceberg": (SqlCatalog, "commit_table"),
}
ROWS = [("a", 1), ("b", 2)]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk below a lake, on which nothing is yet."""
    (tmp_path / "copies").mkdir()
    disk = Disk(tmp_path / "lake", tmp_path / "copies")
    disk.root.mkdir()
    monkeypatch.setattr(os, "fsync", disk.sync)
    forget_names(Path("/"))
    return disk


@pytest.fixture(params=list(COMMITS))
def lake(request: pytest.FixtureRequest, disk: Disk) -> Iterator[tuple[str, Delta]]:
    yield request.param, LAKES[request.param](disk.root)


def data_files(disk: Disk, lake: Delta) -> list[Path]:
    return [path for path in disk.root.rglob("*.parquet") if path.is_relative_to(lake.files)]


def of_table(lake: Delta) -> list[Path]:
    """Return all files that the newest commit needs; the newest of Iceberg's metadata files replaces the others."""
    files = [path for path in lake.files.rglob("*") if path.is_file()]
    *superseded, _ = sorted((path for path in files if path.name.endswith(".metadata.json")), key=_number) or [None]
    return [path for path in files if path not in superseded]


def _number(path: Path) -> int:
    """Return the number of a file of metadata, `00002-….metadata.json`; two files may have the same time."""
    return int(path.name.partition("-")[0])


def test_data_files_have_their_names_on_disk_before_the_commit_that_names_them(
    disk: Disk, lake: tuple[str, Delta], monkeypatch: pytest.MonkeyPatch
):
    kind, table = lake
    owner, method = COMMITS[kind]
    commit: Callable[..., Any] = getattr(owner, method)
    seen: list[Path] = []

    def checked(*arguments: Any, **more: Any) -> Any:
        files = data_files(disk, table)
        assert [path for path in files if not disk.keeps(path)] == []
        seen.extend(files)
        return commit(*arguments, **more)

    monkeypatch.setattr(owner, method, checked)
    deliver(table.sink(), ROWS, delivery(1), batches=2)
    assert seen


@pytest.mark.parametrize("key", [[], ["k"]], ids=["appended", "by key"])
def test_a_delivery_counts_when_all_of_its_commit_is_on_disk(disk: Disk, lake: tuple[str, Delta], key: list[str]):
    _, table = lake
    sink = table.sink(key=key) if key else table.sink()
    for epoch in (1, 2):
        deliver(sink, ROWS, delivery(epoch))
        assert [path for path in of_table(table) if not disk.keeps(path)] == []


@pytest.mark.parametrize("key", [[], ["k"]], ids=["appended", "by key"])
def test_an_iceberg_catalog_names_only_what_is_on_disk(disk: Disk, key: list[str], monkeypatch: pytest.MonkeyPatch):
    table = LAKES["iceberg"](disk.root)
    sink = table.sink(key=key) if key else table.sink()
    commits: list[int] = []

    def check(_connection: Any) -> None:
        files = of_table(table)
        assert [path for path in files if not disk.keeps(path)] == []
        commits.append(len(files))

    create = vars(sql)["create_engine"]

    def checked(*arguments: Any, **options: Any) -> Engine:
        engine = create(*arguments, **options)
        event.listen(engine, "commit", check)
        return engine

    monkeypatch.setattr(sql, "create_engine", checked)
    for epoch in (1, 2):
        deliver(sink, [("a", epoch), ("b", 2)], delivery(epoch))
    assert commits[-1] > commits[0]


def test_a_delivery_to_delta_that_was_made_before_is_on_disk_too(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    table = LAKES["delta"](disk.root)
    with monkeypatch.context() as ended:
        ended.setattr(delta_table, "sync_files", lambda _: None)
        deliver(table.sink(), ROWS, delivery(1))
    assert not all(map(disk.keeps, of_table(table)))
    deliver(table.sink(), ROWS, delivery(1))
    assert [path for path in of_table(table) if not disk.keeps(path)] == []


def test_files_of_object_stores_are_no_files_of_this_machine():
    assert on_disk.local_path("s3://bucket/table/data") is None
    assert on_disk.local_path("file:///data/x") == on_disk.local_path("/data/x") == Path("/data/x")
