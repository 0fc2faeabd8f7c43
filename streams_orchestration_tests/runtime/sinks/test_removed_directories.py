"""Directories of files that wait are removed at the end of an application, by every host that finds it at its end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.sinks.completing import remove_empty
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


def test_two_hosts_that_end_together_may_remove_the_same_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", 5)), sink("Out", "Rows")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph))
    local.run()
    with local.catalog.read() as connection:
        pending = Path(connection.scalars(select(tables.sink.c.pending)).one() or "")
    pending.mkdir()
    scandir = os.scandir

    def removed_before(path: Any) -> Any:
        pending.rmdir()  # by the other host, after this one has seen it
        monkeypatch.setattr(os, "scandir", scandir)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", removed_before)
    remove_empty(local.catalog, "app")
    assert not pending.exists()


@pytest.mark.parametrize("name", ["day=5/merged-000-5.parquet", ".000-5.parquet.5"])
def test_a_file_that_a_killed_publisher_has_left_is_removed_when_the_application_is_completed(
    name: str, tmp_path: Path
):
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", 5)), sink("Out", "Rows")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph))
    local.commit(boundary=True)
    with local.catalog.read() as connection:
        (first,) = connection.scalars(select(tables.sink_file.c.pending))
    pending = Path(first).parent
    (pending / name).parent.mkdir(exist_ok=True)
    (pending / name).touch()
    local.run()
    assert not pending.exists()
