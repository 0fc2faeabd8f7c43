"""Exporters that are idle already when an Import is connected to them hold up nothing (EV48, EV51)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration import world
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.exporting import export
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

Graph = list[dict[str, Any]]
PANES = {
    "window": "timeInterval, intervalDuration(10.0)",
    "groupBy": ["k"],
    "output": {"k": "Any(k)", "n": "Sum(n)", "at": "paneTime()"},
}
ROWS: dict[str, Any] = {"properties": {"kind": "rows"}}


@dataclass
class Machine:
    """A directory for applications, and a clock by which sources become idle."""

    home: Path
    time: float = 100.0

    def deploy(self, name: str, *graph: dict[str, Any], pes: int = 9) -> LocalApplication:
        return LocalApplication(Home(self.home), in_event_time([*graph], name=name, fusion="manual", pes=pes), 5)

    def write(self, name: str, *rows: str) -> None:
        with (self.home / name).open("a") as file:
            file.writelines(f"{row}\n" for row in rows)

    def source(self, name: str, *, consistent: bool = True, **event_time: Any) -> dict[str, Any]:
        self.write(name)
        source = lines(name, self.home / name, **event_time)
        if not consistent:
            del source["annotations"]["consistent"]
        return source

    def turn(self, *applications: LocalApplication) -> None:
        """Let time pass after which sources without tuples are idle."""
        for _ in range(10):
            self.time += 0.5
            for application in applications:
                application.trigger()
                for program in application.programs:
                    application.step(program)
                application.publish()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(world, "monotonic", lambda: made.time)
    return made


def filtered(*names: str) -> Graph:
    """Return filters that pass every tuple, each behind the one before; the first name is a stream."""
    return [
        through(name, "Filter", before, parameters={"filter": "n >= 0"}) for before, name in itertools.pairwise(names)
    ]


def imported(**parameters: Any) -> dict[str, Any]:
    taken = parameters or {"subscription": 'kind == "rows"'}
    stream = {"stream": "In", "schema": "T"}
    event_time = {"eventTime": {"attribute": "at"}}
    return {"name": "In", "operator": "Import", "outputs": [stream], "parameters": taken | event_time}


def summed(*streams: str) -> Graph:
    return [through("Panes", "Aggregate", [*streams], parameters=PANES), sink("Out", "Panes")]


def panes(reader: LocalApplication) -> list[tuple[int, str, int]]:
    found = [row for path in reader.published("Out") for row in pq.read_table(path).to_pylist()]
    return sorted((row["at"], row["k"], row["n"]) for row in found)


IN_BETWEEN: dict[str, tuple[Graph, str]] = {
    "the source itself": ([], "Idle"),
    "operators of other PEs": (
        [*filtered("Idle", "Some"), through("Late", "Delay", "Some", parameters={"by": "watermark", "delay": 0.0})],
        "Late",
    ),
}


@pytest.mark.covering
@pytest.mark.parametrize(
    ("visibility", "consistent"), [("read_committed", True), ("read_committed", False), ("read_uncommitted", True)]
)
@pytest.mark.parametrize("exported", IN_BETWEEN)
def test_an_exporter_that_is_idle_already_holds_up_no_new_importer(
    machine: Machine, exported: str, visibility: str, consistent: bool
):
    between, stream = IN_BETWEEN[exported]
    source = machine.source("Idle", consistent=consistent, idleAfter=2.0)
    idle = machine.deploy("idle", source, *between, export(stream, **ROWS, visibility=visibility))
    busy = machine.deploy("busy", machine.source("Busy"), export("Busy", **ROWS))
    machine.write("Idle", "1000 a 1")
    machine.write("Busy", "2000 b 4")
    machine.turn(idle, busy)
    reader = machine.deploy("reader", imported(), *summed("In"))
    machine.turn(idle, busy, reader)
    machine.write("Busy", "3000 b 4", "11000 b 8")
    machine.turn(idle, busy, reader)
    assert panes(reader) == [(9999, "b", 4)]
    reset_unit(reader.catalog, "reader", reader.units[0], force=True)
    machine.write("Busy", "21000 b 16")
    machine.turn(idle, busy, reader)
    assert panes(reader) == [(9999, "b", 4), (19999, "b", 8)]


def test_an_import_that_a_redeploy_adds_is_not_held_up_by_an_exporter_that_is_idle_already(machine: Machine):
    idle = machine.deploy("idle", machine.source("Idle", idleAfter=2.0), export("Idle", **ROWS))
    own = machine.source("Own", consistent=False)
    reader = machine.deploy("reader", own, *summed("Own"))
    machine.write("Idle", "1000 a 1")
    machine.write("Own", "2000 b 2")
    machine.turn(idle, reader)
    after = in_event_time([own, imported(), *summed("Own", "In")], name="reader", fusion="manual", pes=9)
    redeploy(reader, after)
    machine.turn(idle, reader)
    machine.write("Own", "12000 b 4")
    machine.turn(idle, reader)
    assert panes(reader) == [(9999, "b", 2)]


def test_an_exporter_that_is_idle_only_by_its_own_import_holds_up_no_new_importer(machine: Machine):
    idle = machine.deploy("idle", machine.source("Idle", idleAfter=2.0), export("Idle", streamId="idle"))
    taken = imported(application="idle", streamId="idle")
    between = machine.deploy("between", taken, *filtered("In", "Some", "Kept"), export("Kept", **ROWS))
    busy = machine.deploy("busy", machine.source("Busy"), export("Busy", **ROWS))
    machine.write("Idle", "1000 a 1")
    machine.write("Busy", "2000 b 4")
    machine.turn(idle, between, busy)
    reader = machine.deploy("reader", imported(), *summed("In"))
    machine.turn(idle, between, busy, reader)
    machine.write("Busy", "3000 b 4", "11000 b 8")
    machine.turn(idle, between, busy, reader)
    assert panes(reader) == [(9999, "b", 4)]


@pytest.mark.parametrize(("pes", "last"), [(1, ()), (9, ()), (1, ("end",))])
def test_a_new_operator_behind_an_import_that_is_idle_or_over_holds_up_nothing_after_a_redeploy(
    machine: Machine, pes: int, last: tuple[str, ...]
):
    """Nothing comes to the PE of the Import, which is in no region."""
    idle = machine.deploy("idle", machine.source("Idle", idleAfter=2.0), export("Idle", **ROWS))
    own = machine.source("Own", consistent=False)
    before, after = (
        [own, imported(), *filtered("In", *names), *summed("Own", names[-1])] for names in (["Some"], ["Some", "Fewer"])
    )
    reader = machine.deploy("reader", *before, pes=pes)
    machine.turn(idle, reader)
    machine.write("Idle", "1000 a 1", *last)
    machine.write("Own", "2000 b 4")
    machine.turn(idle, reader)
    redeploy(reader, in_event_time(after, name="reader", fusion="manual", pes=pes))
    for row in ("11000 b 8", "12000 b 16"):
        machine.turn(idle, reader)
        machine.write("Own", row)
    machine.turn(idle, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4)]
