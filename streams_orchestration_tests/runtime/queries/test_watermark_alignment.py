"""Sources that are too far ahead of their event-time graph are not read until the others have come near (EV65)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime import api
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind
from streams_orchestration.runtime.hosts.planner_notifier import units_awaited_by
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.stepped_clock import SteppedClock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

DRIFT = 100
"""Milliseconds."""
STEP = 10
"""Milliseconds from one tuple to the next."""
KEYS = {"Left": "a", "Right": "b"}
LIMIT = 2
"""Tuples of a batch."""


@dataclass
class Race:
    """Two sources of one graph that read files which the test writes."""

    directory: Path
    local: LocalApplication

    def write(self, name: str, first: int, last: int) -> None:
        with (self.directory / name).open("a") as file:
            file.writelines(f"{at} {KEYS[name]} {at}\n" for at in range(first, last, STEP))

    def end(self, name: str) -> None:
        with (self.directory / name).open("a") as file:
            file.write("end\n")

    def settle(self) -> None:
        """Step until no source moves any more."""
        before, after = (-1, -1), (0, 0)
        while before != after:
            self.local.turn(2)
            before, after = after, (self.read("Left"), self.read("Right"))

    def read(self, name: str) -> int:
        """Return the number of tuples that a source has read."""
        views = [read_view(self.local.catalog, program) for program in self.local.programs]
        return sum(view.position.sources[name].get("lines", 0) for view in views if name in view.position.sources)

    def status(self) -> dict[str, api.OperatorEventTime]:
        found = api.read_metrics(self.local.catalog, self.local.name).event_time
        return {each.operator: each for each in found}


def compiled(directory: Path, pes: int = 3, drift: int = DRIFT, **right: Any) -> PlannedCompilation:
    for name in ("Left", "Right"):
        (directory / name).touch()
    graph = [
        lines("Left", directory / "Left", maxDrift=drift / 1000),
        lines("Right", directory / "Right", **right),
        through("Both", "Union", "Left", "Right"),
        sink("Out", "Both"),
    ]
    return in_event_time(graph, fusion="manual", pes=pes)


def race(directory: Path, pes: int = 3, begins: RunKind = ENDLESS, **right: Any) -> Race:
    plan = compiled(directory, pes, **right)
    return Race(directory, LocalApplication(Home(directory / "home"), plan, LIMIT, begins=begins))


def tuples_up_to(watermark: int) -> range:
    """Return the numbers of tuples that a source may have read which may read on at a watermark: up to a batch more."""
    return range(watermark // STEP + 1, watermark // STEP + 2 + LIMIT)


@pytest.mark.parametrize("pes", often([1, 3], [3]))
def test_a_source_far_ahead_waits_until_the_others_move(tmp_path: Path, pes: int):
    run = race(tmp_path, pes)
    run.write("Right", 0, 21)
    run.write("Left", 0, 2000)
    for reached in (20, 70, 300):
        run.settle()
        assert run.read("Left") in tuples_up_to(reached + DRIFT)
        run.write("Right", reached + STEP, {20: 71, 70: 301, 300: 2000}[reached])
    run.settle()
    assert run.read("Left") == run.read("Right") == 200


def test_a_source_that_is_just_its_drift_ahead_is_read(tmp_path: Path):
    run = race(tmp_path)
    run.write("Right", 0, 1)
    run.write("Left", 0, DRIFT + 1)
    run.settle()
    assert run.read("Left") == DRIFT // STEP + 1
    run.write("Left", DRIFT + STEP, DRIFT + 3 * STEP)
    run.settle()
    assert run.read("Left") == DRIFT // STEP + 3, "one batch more, which brings it too far"
    run.write("Left", DRIFT + 3 * STEP, DRIFT + 9 * STEP)
    run.settle()
    assert run.read("Left") == DRIFT // STEP + 3


@pytest.mark.parametrize("pes", often([1, 3], [3]))
def test_a_source_without_a_watermark_or_at_its_end_holds_up_no_other(tmp_path: Path, pes: int):
    run = race(tmp_path, pes)
    run.write("Left", 0, 500)
    run.settle()
    assert run.read("Left") == 50
    run.write("Right", 0, 21)
    run.settle()
    run.write("Left", 500, 1000)
    run.settle()
    assert run.read("Left") == 50
    run.end("Right")
    run.settle()
    assert run.read("Left") == 100
    run.end("Left")
    run.local.run()


@pytest.mark.parametrize("pes", often([1, 3], [3]))
def test_an_idle_source_holds_up_no_other(tmp_path: Path, pes: int, stepped: SteppedClock):
    run = race(tmp_path, pes, idleAfter=3.0)
    run.write("Right", 0, 21)
    run.write("Left", 0, 500)
    run.settle()
    assert run.read("Left") in tuples_up_to(20 + DRIFT)
    for _ in range(8):
        stepped.now += 0.5
        run.local.turn()
    run.settle()
    assert run.read("Left") == 50
    run.write("Right", 30, 41)
    run.write("Left", 500, 600)
    run.local.turn(2)
    before = run.read("Left")
    run.settle()
    assert run.read("Left") == before <= 50 + 2 * LIMIT, "it is active again, and far behind"


def test_a_source_that_waits_is_not_idle(tmp_path: Path, stepped: SteppedClock):
    plan = compiled(tmp_path)
    graph = [
        lines("Left", tmp_path / "Left", maxDrift=DRIFT / 1000, idleAfter=3.0),
        lines("Right", tmp_path / "Right"),
        through("Both", "Union", "Left", "Right"),
        sink("Out", "Both"),
    ]
    plan = in_event_time(graph, fusion="manual", pes=3)
    run = Race(tmp_path, LocalApplication(Home(tmp_path / "home"), plan, LIMIT))
    run.write("Right", 0, 21)
    run.write("Left", 0, 500)
    run.settle()
    for _ in range(20):
        stepped.now += 1.0
        run.local.turn()
    assert run.status()["Left"].holder != "idle"
    assert run.read("Left") in tuples_up_to(20 + DRIFT)


def test_the_end_of_a_bounded_run_holds_up_no_other_source(tmp_path: Path):
    for name, last in (("Left", 500), ("Right", 21)):
        (tmp_path / name).write_text("".join(f"{at} a {at}\n" for at in range(0, last, STEP)))
    run = race(tmp_path, begins=RunKind(available_now=True))
    run.local.run()
    assert (run.read("Left"), run.read("Right")) == (50, 3)


@pytest.mark.parametrize("pes", often([1, 3], [3]))
def test_a_reset_takes_the_watermarks_of_sources_back(tmp_path: Path, pes: int):
    run = race(tmp_path, pes)
    run.write("Right", 0, 21)
    run.write("Left", 0, 500)
    run.local.turn(2)
    run.local.trigger()
    run.local.turn(2)
    run.settle()
    run.write("Right", 30, 300)
    run.settle()
    before = run.read("Left")
    assert before in tuples_up_to(290 + DRIFT)
    reset_unit(run.local.catalog, run.local.name, run.local.units[0], force=True)
    assert run.read("Left") < before
    run.settle()
    assert run.read("Left") in tuples_up_to(290 + DRIFT)
    run.end("Right")
    run.end("Left")
    run.local.run()
    assert run.read("Left") == 50


def test_a_redeploy_keeps_the_watermarks_of_sources(tmp_path: Path):
    run = race(tmp_path)
    run.write("Right", 0, 21)
    run.write("Left", 0, 1000)
    run.settle()
    before = run.read("Left")
    redeploy(run.local, compiled(tmp_path, drift=DRIFT - STEP))
    assert run.read("Left") == before
    run.settle()
    assert run.read("Left") == before, "it is known from the beginning that it is too far ahead"
    redeploy(run.local, compiled(tmp_path, drift=2 * DRIFT))
    run.settle()
    assert run.read("Left") in tuples_up_to(20 + 2 * DRIFT)


def test_the_trigger_of_an_operator_driven_region_never_waits(tmp_path: Path):
    compiled(tmp_path)
    left = lines("Left", tmp_path / "Left", maxDrift=DRIFT / 1000)
    left["annotations"]["consistent"] = {"trigger": "operatorDriven"}
    right = lines("Right", tmp_path / "Right", maxDrift=DRIFT / 1000)
    right["annotations"].pop("consistent")
    graph = [left, right, through("Both", "Union", "Left", "Right"), sink("Out", "Both")]
    graph[2]["annotations"] = {"autonomous": True}
    plan = in_event_time(graph, fusion="manual", pes=3)
    roles = {name: role for program in LocalApplication(Home(tmp_path / "home"), plan, LIMIT).programs
             for name, role in program.drifting.items()}  # fmt: skip
    assert roles.keys() == {"Right"}
    assert roles["Right"].peers == ("Left",)


def test_the_planner_of_a_waiting_source_awaits_the_units_of_the_others(tmp_path: Path):
    compiled(tmp_path)
    graph = [lines("Left", tmp_path / "Left", maxDrift=DRIFT / 1000), lines("Right", tmp_path / "Right")]
    for source in graph:
        source["annotations"].pop("consistent")
    graph += [through("Both", "Union", "Left", "Right"), sink("Out", "Both")]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=4), LIMIT)
    programs = {program.pe: program for program in local.programs}
    unit_of = {each.name: program.unit for program in local.programs for each in program.operators.values()}
    awaited = {
        name: units_awaited_by(program, programs) or set()
        for program in local.programs
        for name in (each.name for each in program.operators.values())
    }
    assert f"app/{unit_of['Right']}" in awaited["Left"]
    assert f"app/{unit_of['Left']}" not in awaited["Right"]


def test_status_says_for_which_source_another_one_waits(tmp_path: Path):
    run = race(tmp_path)
    run.write("Right", 0, 21)
    run.write("Left", 0, 500)
    run.settle()
    found = run.status()
    assert (found["Left"].ahead_of, found["Left"].held_by) == ("Right", "maxDrift, ahead of Right")
    assert found["Left"].why == "is not read, since it is further ahead of Right than its maxDrift"
    assert (found["Right"].ahead_of, found["Both"].path) == ("", ("Right",))
