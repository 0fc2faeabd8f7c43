"""Units that commit at the same time, are reset and collected, each under its own lock."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import CatalogError, StaleGenerationError
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

CHAINS, ROWS, DISTURBANCES = 2, 40, 6

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]


def regions(directory: Path) -> LocalApplication:
    """Chains of two regions, the second one with state and a sink."""
    file = write_rows(directory / "rows.parquet", ROWS)
    graph = [
        part
        for number in range(CHAINS)
        for part in (
            source(f"Rows{number}", file),
            node(f"Totals{number}", "RunningTotals", f"Rows{number}", schema="Total", annotations=PERIODIC),
            sink(f"Kept{number}", f"Totals{number}"),
        )
    ]
    return LocalApplication(Home(directory / "home"), compiled(graph, fusion="legacy"), 2)


@pytest.mark.usefixtures("database")
def test_units_that_commit_at_once_are_exact_through_resets_and_collections(tmp_path: Path):
    local = regions(tmp_path)
    units = sorted({program.unit for program in local.programs})
    assert len(units) == 2 * CHAINS
    over = threading.Event()
    errors: list[Exception] = []

    def work(unit: str) -> None:
        members = [program for program in local.programs if program.unit == unit]
        while not over.is_set():
            for program in members:
                try:
                    local.step(program)
                except (StaleGenerationError, StepError):
                    continue  # a reset came in between, and has taken away what the batch read
                except CatalogError as error:
                    errors.append(error)
                    return

    workers = [threading.Thread(target=work, args=(unit,)) for unit in units]
    for worker in workers:
        worker.start()
    chosen = random.Random(7)
    for number in range(DISTURBANCES):
        local.trigger()
        reset_unit(local.catalog, local.name, chosen.choice(units), force=True)
        local.report_running()
        if number % 3 == 0:
            collect_garbage(local.catalog, local.name, local.programs)
    over.set()
    for worker in workers:
        worker.join(60)
    assert errors == []
    local.run()
    for number in range(CHAINS):
        assert published(local.published(f"Kept{number}")) == expected_totals(rows(ROWS), factor=1)
