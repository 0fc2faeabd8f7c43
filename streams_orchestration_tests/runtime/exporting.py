"""Two applications, one of which exports what the other one imports."""

from __future__ import annotations

import functools
import itertools
import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import select, update

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    node,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

AUTONOMOUS: dict[str, Any] = {"annotations": {"autonomous": True}}


EVENTS = st.lists(
    st.tuples(st.sampled_from(["step"] * 5 + ["trigger", "reset", "collect"]), st.integers(0, 1), st.integers(0, 9)),
    max_size=40,
)


def export(stream: str, **parameters: Any) -> dict[str, Any]:
    return {"name": "Out", "operator": "Export", "inputs": [stream], "parameters": parameters, **AUTONOMOUS}


def imported(name: str = "In", **parameters: Any) -> dict[str, Any]:
    return {
        "name": name, "operator": "Import", "outputs": [{"stream": name, "schema": "Row"}], "parameters": parameters,
    }  # fmt: skip


def exporter(home: Path, count: int, name: str = "exporter", **parameters: Any) -> LocalApplication:
    file = write_rows(home / f"{name}.parquet", count)
    graph = [source("Rows", file), node("Doubled", "Doubling", "Rows"), export("Doubled", **parameters)]
    return LocalApplication(Home(home), compiled(graph, application=name), 5)


def importer(home: Path, name: str = "importer", **parameters: Any) -> LocalApplication:
    graph = [imported(**parameters), node("Passed", "Passing", "In"), sink("Kept", "Passed")]
    return LocalApplication(Home(home), compiled(graph, application=name), 5)


@functools.cache
def regions(directory: Path, visibility: str) -> tuple[PlannedCompilation, PlannedCompilation]:
    """Return a region that exports, and one with state that imports and starts with tuples that nobody replays."""
    file = write_rows(directory / "rows.parquet", 30)
    exported = export("Doubled", properties={"kind": "rows"}, visibility=visibility)
    graph = [source("Rows", file), node("Doubled", "Doubling", "Rows"), exported]
    totals = node("Totals", "RunningTotals", "In", schema="Total", annotations=PERIODIC)
    reading = [imported(subscription='kind == "rows"'), totals, sink("Kept", "Totals")]
    return (
        compiled(graph, application="exporter", fusion="legacy"),
        compiled(reading, application="importer", fusion="legacy"),
    )


def doubled(count: int) -> list[tuple[str, int]]:
    return sorted((k, 2 * n) for k, n in rows(count))


def run_until_idle(*applications: LocalApplication) -> None:
    """Step all PEs until no more tuples come through; epochs may go on for good."""
    idle = 0
    for turn in itertools.count():
        before = sum(result.rows_in for application in applications for result in application.results)
        for application in applications:
            if turn % 4 == 0:
                application.trigger()
            for program in application.programs:
                application.step(program)
        after = sum(result.rows_in for application in applications for result in application.results)
        idle = idle + 1 if after == before else 0
        if idle:  # a redeploy that has passed its trial shows the epochs that were complete before
            for application in applications:
                application.publish()
        if idle == 8:
            return


def heard(application: LocalApplication) -> None:
    """Give the heartbeats of its hosts."""
    with application.catalog.write() as connection:
        connection.execute(update(tables.host).values(heartbeat_at=time.time() + 1e6))


def segments(application: LocalApplication) -> list[str]:
    """Exported ones that are there, in the catalog and as files."""
    s = tables.segment
    with application.catalog.read() as connection:
        paths = connection.scalars(
            select(s.c.path).where(s.c.application == application.name, s.c.stream == "Doubled")
        ).all()
    assert set(paths) <= set(application.home.store.below(f"data/{application.name}/streams"))
    return list(paths)


def happen(both: list[LocalApplication], events: list[tuple[str, int, int]]) -> None:
    """To the first application or to the second one, until both have done all they can."""
    heard(both[0])
    for action, side, number in events:
        application = both[side]
        application.source_limit = 2 + number
        program = application.programs[number % len(application.programs)]
        match action:
            case "step":
                application.step(program)
            case "trigger":
                application.trigger()
            case "reset":
                reset_unit(application.catalog, application.name, program.unit, force=True)
            case _:
                collect_garbage(application.catalog, application.name, application.programs)
    run_until_idle(*both)
    assert read_status(both[1].catalog, "importer").imports[0].connections[0].lost == 0
