"""Marks of sinks in event time are true after a redeploy, and go on (EV67)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

Graph = list[dict[str, Any]]


def filtered(name: str, stream: str) -> dict[str, Any]:
    return through(name, "Filter", stream, parameters={"filter": "n >= 0"})


def wide(width: int) -> Graph:
    """Return the sink in channels."""
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    return [sink("Out", "Rows") | {"annotations": by_key}]


CHANGES: dict[str, tuple[Graph, Graph]] = {
    "an operator in front": ([sink("Out", "Rows")], [filtered("Some", "Rows"), sink("Out", "Some")]),
    "another operator in front": (
        [filtered("Some", "Rows"), sink("Out", "Some")], [filtered("Fewer", "Rows"), sink("Out", "Fewer")],
    ),
    "channels": ([sink("Out", "Rows")], wide(2)),
    "more channels": (wide(2), wide(3)),
    "fewer channels": (wide(3), wide(2)),
    "one channel": (wide(2), [sink("Out", "Rows")]),
}  # fmt: skip


def marks(local: LocalApplication) -> set[int | None]:
    return {each.watermark for each in read_status(local.catalog, local.name).sinks}


@pytest.mark.covering
@pytest.mark.parametrize("pes", [1, 4])
@pytest.mark.parametrize("change", CHANGES)
def test_the_mark_of_a_sink_stays_at_a_redeploy_and_goes_on(tmp_path: Path, change: str, pes: int):
    file = tmp_path / "rows"

    def write(*rows: str) -> None:
        with file.open("a") as out:
            out.writelines(f"{row}\n" for row in rows)

    def turn(count: int) -> None:
        for _ in range(count):
            local.trigger()
            for program in local.programs:
                local.step(program)
            local.publish()

    write("20 a 1", "20 b 2")
    before, after = (
        in_event_time([lines("Rows", file), *graph], fusion="manual", pes=pes) for graph in CHANGES[change]
    )
    local = LocalApplication(Home(tmp_path / "home"), before, 50)
    turn(6)
    assert marks(local) == {20_000}
    redeploy(local, after)
    assert marks(local) <= {20_000, None}
    turn(6)
    assert marks(local) == {20_000}
    write("40 a 3", "40 b 4")
    turn(6)
    assert marks(local) == {40_000}
    write("end")
    local.run()
    assert marks(local) == {END}
