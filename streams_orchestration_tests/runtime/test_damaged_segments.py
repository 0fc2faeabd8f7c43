"""A segment that was damaged under a running application is noticed and named, and a reset of the region mends it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import expected_totals, published, rows, totals, write_rows
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("database", "no_hosts"), POSTGRESQL_IS_DEEP]

COUNT = 20


def alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "altered": (alter, "is truncated or was altered"),
    "truncated": (lambda path: os.truncate(path, 100), "is truncated or was altered"),
    "emptied": (lambda path: os.truncate(path, 0), "is truncated or was altered"),
    "removed": (Path.unlink, "cannot be read: No such file"),
}


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    return LocalApplication(Home(tmp_path / "home"), totals(file, fusion="legacy"), 5)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_consumer_names_it_and_a_reset_of_the_region_writes_it_anew(local: LocalApplication, damage: str):
    happen, message = DAMAGES[damage]
    local.step(next(program for program in local.programs if program.sources))
    with local.catalog.read() as connection:
        stream, path = connection.execute(select(tables.segment.c.stream, tables.segment.c.path)).first() or ("", "")
    path = local.home.store.title(path)
    happen(Path(path))
    consumer = next(p for p in local.programs if stream in {each.stream for each in p.inputs})
    plan = local.plan(consumer)
    assert plan is not None
    (error,) = [result.failure.message for result in local.execute(consumer, plan) if result.failure]
    assert f"stream {stream}: the segment {path} {message}" in error
    assert "A reset of the region" in error
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT))
