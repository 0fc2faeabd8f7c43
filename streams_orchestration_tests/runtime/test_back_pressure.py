"""A slow consumer bounds its producer by the segments between them."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import func, select

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.planning import OUTSTANDING_LIMIT
from streams_orchestration_tests.runtime.applications import expected_totals, published, rows, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

COUNT = 4 * OUTSTANDING_LIMIT


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
