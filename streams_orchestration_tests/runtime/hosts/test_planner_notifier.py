"""A planner is woken when a unit has changed that its PE waits for, and not by others."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from streams_orchestration.compiler.pe_program import InputStream, PeProgram, Task
from streams_orchestration.runtime.catalog.changes import ANYTHING
from streams_orchestration.runtime.hosts.planner_notifier import PlannerNotifier

LONG_AGO = (1, 1)


def pe(number: int, unit: str, reads: tuple[int, ...] = (), writes: tuple[int, ...] = ()) -> PeProgram:
    inputs = tuple(InputStream(f"s{producer}", producer, 0, 0, foreign=True) for producer in reads)
    tasks = (Task(0, 0, 0, (0,), (), inputs),)
    return PeProgram("app", number, unit, not reads, False, {}, tasks, {f"s{number}": writes})


CHAIN = {0: pe(0, "a", writes=(1,)), 1: pe(1, "b", (0,), (2,)), 2: pe(2, "c", (1,)), 3: pe(3, "d")}
IMPORTER = replace(CHAIN[3], tasks=(replace(CHAIN[3].tasks[0], imports=((0, 0),)),))


@pytest.fixture
def relay(tmp_path: Path) -> PlannerNotifier:
    relay = PlannerNotifier("app")
    relay.know(CHAIN, {"a", "b", "d"})
    for number in CHAIN:
        (tmp_path / str(number)).touch()
        relay.serve(number, tmp_path / str(number))
    return relay


def notified(directory: Path) -> set[int]:
    """Return the PEs that were woken since this was asked last."""
    files = [directory / str(number) for number in CHAIN]
    woken = {int(file.name) for file in files if file.stat().st_mtime_ns != LONG_AGO[1]}
    for file in files:
        os.utime(file, ns=LONG_AGO)
    return woken


@pytest.mark.parametrize(("changed", "woken", "host"), [
    (["app/a"], {0, 1}, True),
    (["app/b"], {0, 1, 2}, True),
    (["app/d"], {3}, True),
    (["app/a", "app/d"], {0, 1, 3}, True),
    (["app/c"], {1, 2}, False),
    (["other/a"], set(), False),
    (["app"], set(), False),
    ([ANYTHING], {0, 1, 2, 3}, True),
])  # fmt: skip
def test_a_pe_waits_for_its_unit_and_those_it_reads_from_or_writes_to(
    relay: PlannerNotifier, tmp_path: Path, changed: list[str], woken: set[int], host: bool
):
    notified(tmp_path)
    assert relay.notify(changed) is host
    assert notified(tmp_path) == woken


def test_a_planner_that_imports_or_exports_waits_for_everything(relay: PlannerNotifier, tmp_path: Path):
    relay.know(CHAIN | {2: replace(CHAIN[2], exports=("s2",)), 3: IMPORTER}, {"a"})
    notified(tmp_path)
    assert not relay.notify(["other/region-0"])
    assert notified(tmp_path) == {2, 3}


def test_all_are_woken_by_another_plan(relay: PlannerNotifier, tmp_path: Path):
    notified(tmp_path)
    relay.know({**CHAIN, 3: replace(CHAIN[3], unit="a")}, {"a"})
    assert notified(tmp_path) == {0, 1, 2, 3}
    relay.notify(["app/a"])
    assert notified(tmp_path) == {0, 1, 3}


def test_a_planner_that_has_ended_is_woken_no_more(relay: PlannerNotifier, tmp_path: Path):
    notified(tmp_path)
    relay.drop(1)
    relay.drop(7)
    relay.notify([ANYTHING])
    assert notified(tmp_path) == {0, 2, 3}


def test_a_file_that_is_gone_keeps_no_other_planner_from_being_notified(relay: PlannerNotifier, tmp_path: Path):
    notified(tmp_path)
    (tmp_path / "0").unlink()
    relay.notify([ANYTHING])
    (tmp_path / "0").touch()
    assert notified(tmp_path) >= {1, 2, 3}
