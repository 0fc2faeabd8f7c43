"""Streams that are idle, or have ended, hold up no other one after a redeploy, whatever it changes (EV45, EV51)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration import world
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import IDLE
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import NONE, in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

IDLE_AFTER = 2.0
KEYS = {"Idle": "a", "Other": "b", "Busy": "c"}
KEEP = {"filter": "n >= 0"}
Graph = list[dict[str, Any]]


def keeping(name: str, stream: str) -> dict[str, Any]:
    return through(name, "Filter", stream, parameters=KEEP)


def delayed() -> dict[str, Any]:
    return through("Later", "Delay", "Idle", parameters={"by": "watermark", "delay": 0.0})


class Declaring(Operator):
    """Passes tuples on, makes each time its watermark, and declares itself idle after each batch (EV23)."""

    watermark_mode = "manual"

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)
        self.set_watermark(max(batch.arrow.column("at").to_pylist()))
        self.set_watermark(IDLE)


OPERATORS = {
    "Declaring": {
        "implementation": f"{__name__}:Declaring",
        "inputs": [{}],
        "outputs": [{}],
        "watermarkMode": "manual",
    },
}
CHANGES: dict[str, tuple[Graph, Graph]] = {
    "an operator behind the idle source": (
        [through("Both", "Union", "Idle", "Busy")],
        [keeping("Some", "Idle"), through("Both", "Union", "Some", "Busy")],
    ),
    "an operator further behind it": (
        [keeping("Some", "Idle"), through("Both", "Union", "Some", "Busy")],
        [keeping("Some", "Idle"), keeping("Fewer", "Some"), through("Both", "Union", "Fewer", "Busy")],
    ),
    "an operator behind the merge of idle sources": (
        [through("Two", "Union", "Idle", "Other"), keeping("Some", "Two"), through("Both", "Union", "Some", "Busy")],
        [through("Two", "Union", "Idle", "Other"), keeping("Some", "Two"), keeping("Fewer", "Some"),
         through("Both", "Union", "Fewer", "Busy")],
    ),
    "an operator behind one that keeps tuples": (
        [delayed(), keeping("Some", "Later"), through("Both", "Union", "Some", "Busy")],
        [delayed(), keeping("Some", "Later"), keeping("Fewer", "Some"),
         through("Both", "Union", "Fewer", "Busy")],
    ),
    "an operator behind one that declares itself idle": (
        [through("Own", "Declaring", "Idle"), through("Both", "Union", "Own", "Busy")],
        [through("Own", "Declaring", "Idle"), keeping("Some", "Own"), through("Both", "Union", "Some", "Busy")],
    ),
    "a further stream": (
        [through("Both", "Union", "Idle", "Busy")],
        [through("Both", "Union", "Idle", "Busy", "Other")],
    ),
}  # fmt: skip


@dataclass
class Streams:
    """An application of three sources; `Idle` and `Other` become idle."""

    directory: Path
    local: LocalApplication
    time: float = 100.0

    def write(self, name: str, *times: int) -> None:
        with (self.directory / name).open("a") as file:
            file.writelines(f"{at} {KEYS[name]} {at}\n" for at in times)

    def end(self, *names: str) -> None:
        for name in names:
            with (self.directory / name).open("a") as file:
                file.write("end\n")

    def turn(self, count: int = 1) -> None:
        for _ in range(count):
            self.time += 0.5
            for program in self.local.programs:
                self.local.step(program)

    def met(self) -> dict[int, int]:
        """Return the watermark that each tuple of `Busy` has met."""
        found = [row for path in self.local.published("Out") for row in pq.read_table(path).to_pylist()]
        return {row["at"]: row["watermark"] for row in found if row["k"] == KEYS["Busy"]}


def compiled(directory: Path, graph: Graph, pes: int, *, regions: bool = True) -> PlannedCompilation:
    for name in KEYS:
        (directory / name).touch()
    sources = [lines(name, directory / name, **({"idleAfter": IDLE_AFTER} if name != "Busy" else {})) for name in KEYS]
    if not regions:
        for source in sources:
            source["annotations"].pop("consistent")
    graph = [*sources, *graph, through("Met", "Meeting", "Both", schema="Met"), sink("Out", "Met")]
    return in_event_time([*graph, sink("Others", "Other")], operators=OPERATORS, fusion="manual", pes=pes)


def begun(directory: Path, plan: PlannedCompilation, monkeypatch: pytest.MonkeyPatch) -> Streams:
    run = Streams(directory, LocalApplication(Home(directory / "home"), plan, 50))
    monkeypatch.setattr(world, "monotonic", lambda: run.time)
    return run


@pytest.mark.covering
@pytest.mark.parametrize(("pes", "regions"), [(2, True), (9, True), (9, False)])
@pytest.mark.parametrize("change", CHANGES)
def test_an_idle_source_holds_up_nothing_after_a_redeploy(
    tmp_path: Path, change: str, pes: int, regions: bool, monkeypatch: pytest.MonkeyPatch
):
    """Outside of regions most PEs run on, and their streams get new readers."""
    before, after = (compiled(tmp_path, graph, pes, regions=regions) for graph in CHANGES[change])
    run = begun(tmp_path, before, monkeypatch)
    run.write("Idle", 10)
    run.write("Other", 10)
    run.write("Busy", 10, 20)
    run.turn(20)
    run.write("Busy", 30)
    run.turn(5)
    redeploy(run.local, after)
    run.turn(20)
    run.write("Busy", 40, 50)
    run.turn(5)
    run.end("Idle", "Other", "Busy")
    run.local.run()
    assert [run.met()[at] for at in (30, 40, 50)] == [20, 30, 40]


@pytest.mark.covering
@pytest.mark.parametrize(("pes", "regions"), [(9, True), (9, False)])
@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_has_ended_holds_up_nothing_after_a_redeploy(
    tmp_path: Path, change: str, pes: int, regions: bool, monkeypatch: pytest.MonkeyPatch
):
    before, after = (compiled(tmp_path, graph, pes, regions=regions) for graph in CHANGES[change])
    run = begun(tmp_path, before, monkeypatch)
    run.write("Idle", 10)
    run.write("Other", 10)
    run.end("Idle", "Other")
    run.write("Busy", 10, 20)
    run.turn(6)
    run.write("Busy", 30)
    run.turn(5)
    redeploy(run.local, after)
    run.turn(8)
    run.write("Busy", 40, 50)
    run.turn(5)
    run.end("Busy")
    run.local.run()
    assert [run.met()[at] for at in (40, 50)] == [30, 40]


@pytest.mark.parametrize("pes", [2, 9])
def test_a_stream_that_has_ended_holds_up_nothing_after_a_redeploy_before_the_first_watermark(
    tmp_path: Path, pes: int, monkeypatch: pytest.MonkeyPatch
):
    graph = [through("Both", "Union", "Idle", "Busy")]
    run = begun(tmp_path, compiled(tmp_path, graph, pes), monkeypatch)
    run.end("Idle")
    run.turn(4)
    after = [keeping("Some", "Busy"), through("Both", "Union", "Idle", "Some")]
    redeploy(run.local, compiled(tmp_path, after, pes))
    run.write("Busy", 10, 20)
    run.turn(4)
    run.end("Busy", "Other")
    run.local.run()
    assert run.met() == {10: NONE, 20: 10}
