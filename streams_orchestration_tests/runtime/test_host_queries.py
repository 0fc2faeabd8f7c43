"""A host starts, stops and replaces the queries of its PEs as the catalog wants it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import deploy
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.test_orphans import joined


class Query:
    """Runs for ever."""

    idle = True
    begun = True

    def __init__(self, _spark: Any, _home: Any, _program: Any, _directories: Any, generation: int, **_: Any) -> None:
        self.generation = generation

    def start(self) -> None:
        pass

    def failure(self) -> None:
        return None

    def stop(self) -> None:
        pass


def test_what_a_query_has_left_is_removed_when_the_next_generation_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = Home(tmp_path / "home")
    deploy(home, totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=1))
    joined(home)
    monkeypatch.setattr("streams_orchestration.runtime.queries.query.PeQuery", Query)
    host = Host(home, "app", 0, "mine")
    host._reconcile()
    left = home.data("app") / "streams" / "pe-0" / "uncommitted.arrow"
    left.parent.mkdir(parents=True)
    left.touch()
    host._reconcile()
    assert left.exists(), "the query may be about to commit it"
    with Catalog(home).write() as connection:
        connection.execute(update(tables.unit).values(generation=2))
    host._reconcile()
    assert not left.exists()
    assert [query.generation for query in host.queries.values()] == [2]
