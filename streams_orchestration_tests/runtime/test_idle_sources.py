"""Partitions that become idle: decided by a clock once, and repeated at the same tuples after a reset (EV51)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration import world
from streams_orchestration.operators.event_time.idleness import MAX_CALL_GAP_SECONDS
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import PERIODIC, sink
from streams_orchestration_tests.runtime.event_times import NONE, Timed, in_event_time, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.runtime.saved import begun, take

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

IDLE_AFTER = 3.0


@dataclass
class Machine:
    time: float = 100.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(world, "monotonic", lambda: made.time)
    return made


@dataclass
class Growing:
    """An application whose source reads a file that the test writes."""

    file: Path
    local: LocalApplication
    machine: Machine

    def write(self, *tuples: Timed) -> None:
        with self.file.open("a") as file:
            file.writelines(f"{at} {k} {n}\n" for at, k, n in tuples)

    def wait(self, seconds: float) -> None:
        """Let time pass in which the source is called every half a second."""
        for _ in range(round(seconds * 2)):
            self.machine.time += 0.5
            self.local.turn()

    def end(self) -> list[tuple[Any, ...]]:
        """End the source, and return what came out."""
        with self.file.open("a") as file:
            file.write("end\n")
        self.local.run()
        return self.shown()

    def shown(self) -> list[tuple[Any, ...]]:
        paths = self.local.published("Out")
        return [tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()]

    def reset(self) -> None:
        reset_unit(self.local.catalog, self.local.name, self.local.units[0], force=True)

    def decisions(self) -> int:
        views = (read_view(self.local.catalog, program) for program in self.local.programs)
        return sum(len(decisions) for view in views for decisions in view.position.idle.values())


def graph(file: Path, **event_time: Any) -> list[dict[str, Any]]:
    note = {"eventTimeAttribute": "at", "minimumGap": 0.0, "idleAfter": IDLE_AFTER} | event_time
    source = {
        "name": "Rows", "operator": "Lines", "outputs": [{"stream": "Rows", "schema": "T"}],
        "parameters": {"file": str(file)}, "annotations": PERIODIC | {"eventTime": note},
    }  # fmt: skip
    return [source, through("Met", "Meeting", "Rows", schema="Met"), sink("Out", "Met")]


def growing(directory: Path, machine: Machine, source_limit: int = 4, **event_time: Any) -> Growing:
    directory.mkdir(exist_ok=True)
    file = directory / "rows.txt"
    file.touch()
    plan = in_event_time(graph(file, **event_time), fusion="manual", pes=2)
    return Growing(file, LocalApplication(Home(directory / "home"), plan, source_limit), machine)


def first_half(run: Growing) -> None:
    """Two partitions, of which b becomes idle, and then has a tuple that is late for that."""
    run.write((10, "a", 1), (12, "b", 2), (14, "a", 3))
    run.local.turn(3)
    run.write((20, "a", 4))
    run.local.turn()
    run.wait(1)
    run.write((30, "a", 5))
    run.wait(IDLE_AFTER)
    run.write((40, "a", 6), (13, "b", 7), (50, "a", 8))
    run.local.turn(4)


WANTED = [
    (10, "a", 1, NONE), (12, "b", 2, 10), (14, "a", 3, 10), (20, "a", 4, 12), (30, "a", 5, 12),
    (40, "a", 6, 30), (13, "b", 7, 40), (50, "a", 8, 40), (0, "end", 0, END),
]  # fmt: skip


def test_an_idle_partition_holds_nothing_up(tmp_path: Path, machine: Machine):
    run = growing(tmp_path, machine)
    first_half(run)
    assert run.end() == WANTED


@pytest.mark.covering
@pytest.mark.parametrize("source_limit", [1, 3, 50])
@pytest.mark.parametrize("cut", [False, True])
def test_a_reset_repeats_what_a_clock_decided(tmp_path: Path, machine: Machine, cut: bool, source_limit: int):
    """The replay is divided into batches otherwise."""
    run = growing(tmp_path, machine)
    if cut:
        run.write((1, "b", 0))
        run.local.turn(2)
        run.local.trigger()
        run.local.turn(2)
    first_half(run)
    assert run.decisions() == 1
    run.reset()
    run.local.source_limit = source_limit
    run.local.turn(2)
    run.reset()
    assert run.decisions() == 1
    begun = [(1, "b", 0, NONE), (10, "a", 1, 1), (12, "b", 2, 1), *WANTED[2:]]
    assert run.end() == (begun if cut else WANTED)


def test_a_decision_of_a_complete_epoch_is_forgotten(tmp_path: Path, machine: Machine):
    run = growing(tmp_path, machine)
    first_half(run)
    run.local.trigger()
    run.write((60, "a", 9))
    run.local.turn(3)
    assert run.decisions() == 0
    run.reset()
    assert run.end() == [*WANTED[:-1], (60, "a", 9, 40), WANTED[-1]]


def test_a_source_that_was_not_called_is_not_idle(tmp_path: Path, machine: Machine):
    run = growing(tmp_path, machine)
    run.write((10, "a", 1), (12, "b", 2))
    run.local.turn(2)
    machine.time += 100 * IDLE_AFTER
    run.local.turn()
    run.write((20, "a", 3), (30, "a", 4))
    run.local.turn(2)
    assert [row[3] for row in run.end()] == [NONE, 10, 10, 12, END]
    assert IDLE_AFTER > MAX_CALL_GAP_SECONDS


def test_partitions_go_on_from_their_times_in_a_redeploy(tmp_path: Path, machine: Machine):
    run = growing(tmp_path, machine)
    run.write((10, "a", 1), (12, "b", 2), (50, "a", 3))
    run.local.turn(2)
    plan = graph(run.file)
    plan.insert(1, through("Some", "Filter", "Rows", parameters={"filter": "n >= 0"}))
    plan[2]["inputs"] = ["Some"]
    redeploy(run.local, in_event_time(plan, fusion="manual", pes=2))
    run.write((40, "b", 4), (60, "a", 5))
    assert [row[3] for row in run.end()][-3:] == [12, 40, END]


def test_a_redeploy_within_a_replay_keeps_the_decisions_that_the_replay_has_not_reached(
    tmp_path: Path, machine: Machine
):
    run = growing(tmp_path, machine)
    first_half(run)
    run.reset()
    run.local.source_limit = 1
    run.local.turn()
    plan = graph(run.file)
    plan.insert(1, through("Some", "Filter", "Rows", parameters={"filter": "n >= 0"}))
    plan[2]["inputs"] = ["Some"]
    redeploy(run.local, in_event_time(plan, fusion="manual", pes=2))
    assert run.decisions() == 1
    assert run.end() == WANTED


def test_a_savepoint_within_a_replay_keeps_the_decisions_that_the_replay_has_not_reached(
    tmp_path: Path, machine: Machine
):
    run = growing(tmp_path, machine)
    first_half(run)
    run.reset()
    run.local.source_limit = 1
    run.local.turn()
    place = take(run.local).place
    before = run.shown()
    home, plan = Home(tmp_path / "other"), in_event_time(graph(run.file), fusion="manual", pes=2)
    other = Growing(run.file, begun(home, plan, place), machine)
    assert other.decisions() == 1
    assert [*before, *other.end()] == WANTED
