"""Channels with different watermarks are divided anew: each key is judged by its old channel for a while (EV46)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.timers import Timers
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

SLOW, FAST = "b", "a"
"""Two keys of different channels if there are two."""
WINDOWS = {
    "interval": "timeInterval, intervalDuration(0.01), partitioned",
    "overlapping": "timeInterval, intervalDuration(0.02), creationPeriod(0.01), discardAge(0.005), partitioned",
    "session": "session, gap(0.005), discardAge(0.01), partitioned",
}
COUNTED = "at bigint, k string, n bigint, index bigint"


def aggregate(window: str) -> dict[str, Any]:
    output = {"at": "intervalEnd()", "n": "Count()", "index": "paneIndex()"}
    return {
        "name": "Judged", "operator": "Aggregate", "inputs": ["Timed"],
        "outputs": [{"stream": "Judged", "schema": COUNTED}, {"stream": "Late", "schema": "T"}],
        "parameters": {"window": window, "partitionBy": ["k"], "output": output},
    }  # fmt: skip


def deduplicate() -> dict[str, Any]:
    return {
        "name": "Judged", "operator": "DeDuplicate", "inputs": ["Timed"],
        "outputs": [{"stream": each, "schema": "T"} for each in ("Judged", "Again", "Late")],
        "parameters": {"key": ["k"], "within": 0.004},
    }  # fmt: skip


class Deadlines(Operator):
    """Submits each key at its deadline, which its last tuple sets, with the number of its tuples."""

    stateful = True
    state_keys: ClassVar = {"timers": "k", "counts": "k"}

    def setup(self) -> None:
        self.timers = Timers("k string")
        self.counts = DictState({})

    def process(self, port: int, batch: TupleBatch) -> None:
        for row in batch.arrow.to_pylist():
            self.timers.set(row["k"], row["at"] + 10)
            self.counts[row["k"]] = self.counts.get(row["k"], 0) + 1

    def on_timer(self, key: Any, time: int) -> None:
        columns = {"at": [time], "k": [key], "n": [self.counts[key]]}
        self.submit(TupleBatch.from_columns(columns, self.context.output_schema()))

    def checkpoint(self) -> State:
        return {"timers": self.timers, "counts": self.counts}

    def restore(self, state: State) -> None:
        self.timers, self.counts = state["timers"], state["counts"]


def deadlines() -> dict[str, Any]:
    outputs = [{"stream": each, "schema": "T"} for each in ("Judged", "Late")]
    return {"name": "Judged", "operator": "Deadlines", "inputs": ["Timed"], "outputs": outputs}


OWN = {
    "implementation": f"{__name__}:Deadlines",
    "inputs": [{}],
    "outputs": [{}, {}],
    "stateful": True,
}
JUDGES = {name: aggregate(window) for name, window in WINDOWS.items()} | {
    "deduplicate": deduplicate(),
    "timers": deadlines(),
    "sort": {
        "name": "Judged", "operator": "Sort", "inputs": ["Timed"],
        "outputs": [{"stream": each, "schema": "T"} for each in ("Judged", "Late")],
        "parameters": {"window": WINDOWS["overlapping"], "partitionBy": ["k"], "sortBy": ["n"]},
    },
}  # fmt: skip


def application(directory: Path, judge: dict[str, Any], width: int) -> PlannedCompilation:
    """Lines -> (parallel by key: times begin here -> judged by event time) -> sinks."""
    source = lines("Rows", directory / "rows.txt")
    source["annotations"].pop("eventTime")
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    note = {"eventTime": {"eventTimeAttribute": "at", "minimumGap": 0.0}}
    inner = [through("Timed", "Functor", "Rows", annotations=note), judge]
    composites = {"Judging": {"inputs": ["Rows"], "outputs": ["Judged", "Late"], "graph": inner}}
    judging = {
        "name": "Judging", "operator": "Judging", "inputs": ["Rows"], "outputs": ["Judged", "Late"],
        "annotations": by_key,
    }  # fmt: skip
    graph = [source, judging, sink("Out", "Judged"), sink("TooLate", "Late")]
    return in_event_time(graph, composites=composites, operators={"Deadlines": OWN}, fusion="manual", pes=2)


Results = dict[str, list[tuple[Any, ...]]]
"""The rows of each sink, in order."""


@dataclass
class Judging:
    directory: Path
    judge: dict[str, Any]
    local: LocalApplication

    def write(self, *rows: tuple[int, str]) -> None:
        with (self.directory / "rows.txt").open("a") as file:
            file.writelines(f"{at} {k} {at}\n" for at, k in rows)
        for _ in range(4):
            for program in self.local.programs:
                self.local.step(program)

    def cut(self) -> None:
        self.local.trigger()
        self.write()

    def redeploy(self, width: int) -> None:
        redeploy(self.local, application(self.directory, self.judge, width))

    def end(self) -> Results:
        with (self.directory / "rows.txt").open("a") as file:
            file.write("end\n")
        self.local.run()
        found = {name: self.local.published(name) for name in ("Out", "TooLate")}
        rows = {
            name: [row for path in paths for row in pq.read_table(path).to_pylist()] for name, paths in found.items()
        }
        return {name: sorted(tuple(row.values()) for row in each) for name, each in rows.items()}


BEGUN = ((5, SLOW), (12, FAST), (14, FAST), (38, FAST))


def begun(directory: Path, kind: str, rows: Sequence[tuple[int, str]] = BEGUN) -> Judging:
    directory.mkdir(exist_ok=True)
    (directory / "rows.txt").touch()
    plan = application(directory, JUDGES[kind], 2)
    run = Judging(directory, JUDGES[kind], LocalApplication(Home(directory / "home"), plan, 5))
    run.write(*rows)
    return run


def of_its_own_time(kind: str, found: Results) -> Results:
    """Return the results that only the key's own tuples decide; a timer of the slow key also follows the other key."""
    return {name: [row for row in rows if kind != "timers" or row[1] == FAST] for name, rows in found.items()}


FIRST = ((8, SLOW), (9, SLOW), (13, FAST), (17, SLOW))
THEN = ((16, SLOW), (21, FAST), (36, FAST), (39, FAST), (41, SLOW), (48, FAST), (52, SLOW), (61, FAST), (70, SLOW))
OTHERS = tuple((80 + number, key) for number, key in enumerate("cdefghij"))
"""Tuples for all channels."""


def of_kinds(often: Collection[str] = tuple(JUDGES)) -> list[Any]:
    """Return the kinds as parameters: the tests of a kind are in one worker, and compare with one run of it."""
    marks = {kind: [] if kind in often else [pytest.mark.deep] for kind in JUDGES}
    return [pytest.param(kind, marks=[pytest.mark.xdist_group(f"floors of {kind}"), *marks[kind]]) for kind in JUDGES]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Results]:
    """The results of a kind whose channels stay as they are."""

    @functools.cache
    def results(kind: str) -> Results:
        alone = begun(tmp_path_factory.mktemp("alone"), kind)
        alone.write(*FIRST, *THEN, *OTHERS)
        return of_its_own_time(kind, alone.end())

    return results


@pytest.mark.covering
@pytest.mark.parametrize("kind", of_kinds())
@pytest.mark.parametrize("width", [1, 3])
def test_no_pane_comes_twice_and_no_tuple_is_lost(
    tmp_path: Path, kind: str, width: int, undisturbed: Callable[[str], Results]
):
    """As if the channels had never changed, since the new channels go on in the same order of time."""
    run = begun(tmp_path, kind)
    run.redeploy(width)
    run.write(*FIRST)
    run.write(*THEN, *OTHERS)
    run.redeploy(2)
    assert of_its_own_time(kind, run.end()) == undisturbed(kind)


@pytest.mark.parametrize("kind", of_kinds(often=("overlapping", "deduplicate", "timers")))
def test_a_reset_goes_back_into_the_time_when_keys_are_judged_by_their_old_channels(
    tmp_path: Path, kind: str, undisturbed: Callable[[str], Results]
):
    run = begun(tmp_path, kind)
    run.redeploy(1)
    run.write(*FIRST[:2])
    run.cut()
    run.write(*FIRST[2:])
    reset_unit(run.local.catalog, run.local.name, run.local.units[0], force=True)
    run.write(*THEN, *OTHERS)
    reset_unit(run.local.catalog, run.local.name, run.local.units[0], force=True)
    assert of_its_own_time(kind, run.end()) == undisturbed(kind)


@pytest.mark.covering
@pytest.mark.parametrize("kind", of_kinds(often=("overlapping", "deduplicate", "timers")))
@pytest.mark.parametrize("widths", [(3, 1, 2), (1, 3, 4), (2, 3, 3)])
def test_channels_may_change_again_before_event_time_has_passed(
    tmp_path: Path, kind: str, widths: tuple[int, ...], undisturbed: Callable[[str], Results]
):
    run = begun(tmp_path, kind)
    for width, part in zip(widths, (FIRST[:2], FIRST[2:], (*THEN, *OTHERS)), strict=True):
        run.redeploy(width)
        run.write(*part)
    run.redeploy(2)
    assert of_its_own_time(kind, run.end()) == undisturbed(kind)


def test_a_redeploy_that_leaves_the_channels_keeps_the_watermarks_of_old_ones(tmp_path: Path):
    alone, run = begun(tmp_path / "alone", "interval"), begun(tmp_path / "run", "interval")
    run.redeploy(1)
    run.judge = aggregate(f"{WINDOWS['interval']}, discardAge(0.0)")
    run.redeploy(1)
    for each in (alone, run):
        each.write(*FIRST, *THEN)
    assert run.end() == alone.end()


@pytest.mark.covering
@pytest.mark.parametrize("kind", of_kinds(often=("interval", "deduplicate")))
@pytest.mark.parametrize("width", [1, 3])
def test_a_key_of_a_channel_without_tuples_is_not_late_by_the_watermarks_of_others(
    tmp_path: Path, kind: str, width: int
):
    runs = [begun(tmp_path / name, kind, BEGUN[1:]) for name in ("alone", "run")]
    runs[1].redeploy(width)
    for run in runs:
        run.write(*FIRST)
        run.write(*THEN, *OTHERS)
    alone, found = (of_its_own_time(kind, run.end()) for run in runs)
    assert found == alone
    assert (8, SLOW, 8) not in found["TooLate"]
