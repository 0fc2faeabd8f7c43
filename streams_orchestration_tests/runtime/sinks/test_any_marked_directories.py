"""Directories of any stream are marked when they are complete, and sinks are complete up to their watermarks (EV67)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.sinks.sinks import read_sinks
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_clock import NaiveClock
from streams_orchestration_tests.runtime.event_times import in_event_time, lines
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

HOUR, FIRST = 10, 100
SHAPES = st.tuples(st.integers(1, 3), st.sampled_from([1, 3, 5]))
"""The width of the sinks, and the number of PEs."""
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0, 0, 0, 3, 9, 25]), st.sampled_from("ab")), min_size=1, max_size=6
)
EVENTS = st.lists(
    st.one_of(
        ROWS, ROWS,
        st.tuples(st.sampled_from(["turn", "limit"]), st.integers(1, 6)),
        st.sampled_from([("trigger", 0), ("trigger", 0), ("reset", 0)]),
        st.tuples(st.just("redeploy"), SHAPES),
    ),
    min_size=4, max_size=20,
)  # fmt: skip


def plan(file: Path, lag: int, shape: tuple[int, int]) -> PlannedCompilation:
    """Lines -> (parallel by key: a sink of all tuples); Lines -> hours -> (parallel by key: a sink by hours)."""

    def sink(name: str, stream: str, **parameters: Any) -> dict[str, Any]:
        by_key = {"parallel": {"width": shape[0], "partitionBy": [{"port": stream, "attributes": ["k"]}]}}
        given_ = {"file": name, "format": "parquet"} | parameters
        return {"name": name, "operator": "FileSink", "inputs": [stream], "parameters": given_, "annotations": by_key}

    hours = {
        "name": "Hours", "operator": "Functor", "inputs": ["Rows"],
        "outputs": [{"stream": "Hours", "schema": "at bigint, k string, n bigint, h bigint"}],
        "parameters": {"output": {"h": f"at div {HOUR}"}},
    }  # fmt: skip
    marked = {"partitionBy": ["h"], "closeMode": "watermark", "completeAfter": f"(h + 1) * {HOUR}"}
    graph = [lines("Rows", file, lag=lag / 1000), hours, sink("ByHour", "Hours", **marked)]
    return in_event_time([*graph, sink("All", "Rows", closeMode="batch")], fusion="manual", pes=shape[1])


@dataclass
class Reader:
    """A reader of the outputs, who knows which tuples are not late."""

    local: LocalApplication
    clock: NaiveClock
    watermark: int | None = None
    rows: dict[int, int] = field(default_factory=dict[int, int])
    """Number -> time of all tuples."""
    punctual: set[int] = field(default_factory=set[int])
    """The tuples that are not behind the watermark."""
    in_time: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Hour -> the tuples that are not behind the end of the hour."""
    marked: set[int] = field(default_factory=set[int])

    def tuple(self, at: int, key: str, number: int) -> None:
        self.rows[number] = at
        if self.watermark is None or at >= self.watermark:
            self.punctual.add(number)
        if self.watermark is None or (at // HOUR + 1) * HOUR > self.watermark:
            self.in_time[at // HOUR].add(number)
        for value in self.clock.tuple(key, at):
            self.watermark = value

    def check_marks(self) -> dict[int, set[int]]:
        """Compare marks and watermarks with the tuples that are visible; return these by hour."""
        results = self.local.home.results(self.local.name)
        found = {int(place.name[2:]): numbers_in(place) for place in (results / "ByHour").glob("h=*")}
        marks = {int(mark.parent.name[2:]) for mark in (results / "ByHour").glob("h=*/_SUCCESS")}
        assert marks >= self.marked, "no mark is taken back"
        self.marked = marks
        for hour in marks:
            assert found[hour] >= self.in_time[hour], f"hour {hour} is marked, and not complete"
        with self.local.catalog.read() as connection:
            sinks = read_sinks(connection, self.local.name)
        reached = [each.watermark for each in sinks if each.operator.startswith("All")]
        if None not in reached:
            least, visible = min(each for each in reached if each is not None) / 1000, numbers_in(results / "All")
            assert visible >= {number for number in self.punctual if self.rows[number] < least}
        return found


def numbers_in(place: Path) -> set[int]:
    return {number for part in place.glob("part-*") for number in pq.read_table(part).column("n").to_pylist()}


@given(EVENTS, st.sampled_from([0, 0, 3]), SHAPES, st.integers(1, 6))
@examples(20)
def test_marked_directories_and_watermarks_of_sinks_are_true_at_every_step(
    events: list[Any], lag: int, shape: tuple[int, int], limit: int
):
    now, number = FIRST, 0
    with TemporaryDirectory() as place:
        file = Path(place, "rows.txt")
        file.touch()
        local = LocalApplication(Home(Path(place, "home")), plan(file, lag, shape), limit)
        reader = Reader(local, NaiveClock(lag, 0))

        def turn(count: int) -> None:
            for _ in range(count):
                for program in local.programs:
                    local.step(program)
                local.publish()
                reader.check_marks()

        for event in events:
            match event:
                case ("turn", count):
                    turn(count)
                case ("limit", count):
                    local.source_limit = count
                case ("trigger", _):
                    local.trigger()
                    turn(1)
                case ("reset", _):
                    reset_unit(local.catalog, local.name, local.units[0], force=True)
                case ("redeploy", other):
                    redeploy(local, plan(file, lag, other))
                case rows:
                    for on, back, key in rows:
                        now, number = now + on, number + 1
                        reader.tuple(now - back, key, number)
                        with file.open("a") as out:
                            out.write(f"{now - back} {key} {number}\n")
            reader.check_marks()
        with file.open("a") as out:
            out.write("end\n")
        local.run()
        wanted: defaultdict[int, set[int]] = defaultdict(set)
        for each, at in reader.rows.items():
            wanted[at // HOUR].add(each)
        assert reader.check_marks() == wanted
        assert reader.marked == {*wanted}
