"""Writers take turns: writers of one unit, of several units, and of anything."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.errors.errors import CatalogBusyError
from streams_orchestration.runtime.storage.home import Home

UNIT, OTHER, ELSEWHERE = ("app", "region-0"), ("app", "region-1"), ("application", "region-0")
ALL = None
Writer = tuple[str, str] | None
WAITS: dict[str, tuple[Writer, Writer, bool]] = {
    "the same unit": (UNIT, UNIT, True),
    "another unit": (UNIT, OTHER, False),
    "the same name in another application": (UNIT, ELSEWHERE, False),
    "a unit while anything may be written": (ALL, UNIT, True),
    "anything while a unit is written": (UNIT, ALL, True),
}
_WAITS_FOR_A_NUMBER = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")


def writing(catalog: Catalog, writer: Writer) -> AbstractContextManager[Any]:
    return catalog.write() if writer is None else catalog.write_unit(*writer)


@pytest.mark.parametrize("case", WAITS)
def test_a_writer_waits_for_those_that_may_write_the_same_rows(tmp_path: Path, database: str, case: str):
    first, second, waits = WAITS[case]
    home = Home(tmp_path)
    create_catalog(home)
    impatient = Catalog(home, busy_seconds=0.05)
    refused = pytest.raises(CatalogBusyError) if waits or database == "sqlite" else nullcontext()
    with writing(Catalog(home), first), refused, writing(impatient, second):
        pass
    with writing(impatient, second):  # its turn has come
        pass


def test_a_writer_reads_the_changes_of_the_writer_before_it(tmp_path: Path, database: str):
    """Its snapshot is taken when its turn has come, not when it began to wait."""
    if database == "sqlite":
        pytest.skip("a file of SQLite has one lock for all who write")
    home = Home(tmp_path)
    create_catalog(home)
    e = tables.epoch
    values = {"application": "app", "unit": "region-0", "epoch": 1, "cut": {}, "completed_at": 0.0}
    seen: list[int] = []

    def read() -> None:
        with Catalog(home).write_unit(*UNIT) as connection:
            seen.extend(connection.scalars(select(e.c.epoch)))

    with Catalog(home).write_unit(*UNIT) as connection:
        connection.execute(insert(e).values(**values))
        waiting = threading.Thread(target=read)
        waiting.start()
        while not connection.scalar(_WAITS_FOR_A_NUMBER):
            assert waiting.is_alive()
    waiting.join(60)
    assert seen == [1]
