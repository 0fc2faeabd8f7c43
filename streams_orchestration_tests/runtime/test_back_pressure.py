"""A slow consumer bounds its producer by the segments between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.storage.home import Home
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

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("database"), POSTGRESQL_IS_DEEP]

COUNT = OUTSTANDING_LIMIT + 8


def test_a_producer_stops_at_the_limit_and_goes_on_when_the_consumer_has_read(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    local = LocalApplication(Home(tmp_path / "home"), totals(file, fusion="legacy"), 1)
    source = next(program for program in local.programs if program.sources)
    batches = 0
    while local.step(source):
        batches += 1
        assert batches < COUNT, "nothing holds the source back"
    with local.catalog.read() as connection:
        longest = connection.scalar(select(func.max(tables.segment.c.number)))
    assert longest == OUTSTANDING_LIMIT - 1
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT))


def test_a_long_epoch_does_not_wait_for_a_consumer_outside_of_the_region_that_waits_for_its_end(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    outside: Any = {"annotations": {"autonomous": True}}
    graph = [source("Rows", file), node("Doubled", "Doubling", "Rows"), node("Out", "Passing", "Doubled", **outside)]
    local = LocalApplication(Home(tmp_path / "home"), compiled([*graph, sink("Kept", "Out")], fusion="legacy"), 1)
    inside = [program for program in local.programs if program.unit == "region-0"]
    for _ in range(2 * OUTSTANDING_LIMIT):
        for program in inside:
            local.step(program)
    local.run()
    assert published(local.published("Kept")) == sorted((k, 2 * n) for k, n in rows(COUNT))
