"""Marks in the targets of sinks: what they promise is there, and none falls, whatever happens on the way (EV67)."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_clock import NaiveClock
from streams_orchestration_tests.operators.lakes.lakes import Delta, Iceberg
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.stepped_clock import SteppedClock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("no_hosts"),
    pytest.mark.filterwarnings("ignore:Iceberg scan planning"),
]

Marks = dict[str, int | None]
"""Sink, by its physical name -> its mark in microseconds."""


class Target(Protocol):
    """A target of a sink."""

    @property
    def operator(self) -> str: ...

    @property
    def is_exact(self) -> bool:
        """True if it has each tuple once."""
        ...

    def parameters(self) -> dict[str, Any]: ...

    def marks(self) -> Marks: ...

    def numbers(self) -> list[int]: ...


@dataclass
class Table:
    """A table in SQLite."""

    directory: Path
    visibility: Visibility = "read_committed"
    operator = "SqlSink"

    @property
    def is_exact(self) -> bool:
        return self.visibility == "read_committed"

    def parameters(self) -> dict[str, Any]:
        url = f"sqlite:///{self.directory}/target.db"
        return {"url": url, "table": "results", "createTable": True, "visibility": self.visibility}

    def marks(self) -> Marks:
        return dict(self._rows("SELECT operator, watermark FROM streams_deliveries"))

    def numbers(self) -> list[int]:
        return [number for (number,) in self._rows("SELECT n FROM results")]

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.directory / "target.db")) as connection:
            try:
                return connection.execute(query).fetchall()
            except sqlite3.OperationalError:  # nothing was delivered
                return []


@dataclass
class Commits:
    """A lake table, whose commits have the marks."""

    lake: Delta | Iceberg
    is_exact = True

    @property
    def operator(self) -> str:
        return self.lake.operator

    def parameters(self) -> dict[str, Any]:
        return self.lake.parameters()

    def marks(self) -> Marks:
        if not self._is_there():
            return {}
        commits = self.lake.commits()
        marks = {each["streams.operator"]: each.get("streams.watermark") for each in commits}
        return {name: None if mark is None else int(mark) for name, mark in marks.items()}

    def numbers(self) -> list[int]:
        return [row[-1] for row in self.lake.rows()] if self._is_there() else []

    def _is_there(self) -> bool:
        return any(self.lake.files.rglob("*.parquet"))


class Letter(Parameters):
    """The parameters of `Posting`."""

    place: str


class Posting(EpochSink):
    """Writes each delivery with its mark into a file, as a sink of a broker does behind its port."""

    Parameters = Letter

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        numbers = [row["n"] for batch in batches for row in batch.to_pylist()]
        with Path(self.parameters.place).open("a") as file:
            file.write(json.dumps([key.operator, key.number, key.watermark, numbers]) + "\n")


@dataclass
class Letters:
    """A file of deliveries."""

    directory: Path
    operator = f"{__name__}:Posting"
    is_exact = True

    def parameters(self) -> dict[str, Any]:
        return {"place": str(self.directory / "letters")}

    def marks(self) -> Marks:
        return {name: watermark for name, _, watermark, _ in self._lines()}

    def numbers(self) -> list[int]:
        first = {(name, number): numbers for name, number, _, numbers in reversed(self._lines())}
        return [number for numbers in first.values() for number in numbers]

    def _lines(self) -> list[Any]:
        place = self.directory / "letters"
        return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


TARGETS = {
    "SqlSink": Table,
    "SqlSink, uncommitted": lambda directory: Table(directory, "read_uncommitted"),
    "DeltaSink": lambda directory: Commits(Delta(directory)),
    "IcebergSink": lambda directory: Commits(Iceberg(directory)),
    "EpochSink": Letters,
}
FIRST = 100
SHAPES = st.tuples(st.integers(1, 3), st.sampled_from([1, 3, 6]), st.booleans())
"""The width of the sink, the number of PEs, and whether a Filter is in front of the sink."""
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0, 0, 0, 3, 9, 25]), st.sampled_from("ab"), st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip
"""By how much the time goes on, how far a tuple is behind it, its key, and if it is of the left stream."""
EVENTS = st.lists(
    st.one_of(
        ROWS, ROWS,
        st.tuples(st.sampled_from(["turn", "limit"]), st.integers(1, 6)),
        st.sampled_from([("trigger", 0), ("trigger", 0), ("reset", 0)]),
        st.tuples(st.just("redeploy"), SHAPES),
    ),
    min_size=4, max_size=16,
)  # fmt: skip


def plan(
    directory: Path, target: Target, lag: int, shape: tuple[int, int, bool], **event_time: float
) -> PlannedCompilation:
    """(Left, Right) -> perhaps a Filter of all tuples -> (parallel by key: the sink)."""
    width, pes, filtered = shape
    both = ["Left", "Right"]
    port = "Some" if filtered else "Left"
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": port, "attributes": ["k"]}]}}
    out = {
        "name": "Out", "operator": target.operator, "inputs": ["Some"] if filtered else [both], "outputs": [],
        "parameters": target.parameters(), "annotations": by_key if width > 1 else {},
    }  # fmt: skip
    some = [through("Some", "Filter", both, parameters={"filter": "n >= 0"})] if filtered else []
    sources = [lines(name, directory / name, lag=lag / 1000, **event_time) for name in both]
    return in_event_time([*sources, *some, out], fusion="manual", pes=pes)


@dataclass
class Reader:
    """A reader of the target, who knows which tuples are not late."""

    target: Target
    lag: int
    clocks: dict[str, NaiveClock] = field(default_factory=dict[str, NaiveClock])
    watermarks: dict[str, int] = field(default_factory=dict[str, int])
    punctual: dict[int, int] = field(default_factory=dict[int, int])
    """Number -> time of the tuples that are not behind the watermark of their stream."""
    written: list[int] = field(default_factory=list[int])
    seen: Marks = field(default_factory=dict[str, "int | None"])
    ended = False
    """True if the streams may have ended."""

    def tuple(self, stream: str, at: int, key: str, number: int) -> None:
        self.written.append(number)
        if at >= self.watermarks.get(stream, at):
            self.punctual[number] = at
        for value in self.clocks.setdefault(stream, NaiveClock(self.lag, 0)).tuple(key, at):
            self.watermarks[stream] = value

    def check_marks(self, sinks: set[str]) -> None:
        """Compare the marks of the sinks with the tuples in the target, and with the marks before."""
        marks, numbers = self.target.marks(), self.target.numbers()
        for name, before in self.seen.items():
            now = marks.get(name)
            assert before is None or (now is not None and now >= before), f"{name} falls from {before} to {now}"
        self.seen = marks
        current = [marks.get(name) for name in sinks]
        if None not in current:
            least = min(each for each in current if each is not None)
            missing = {number for number, at in self.punctual.items() if at * 1000 < least} - {*numbers}
            assert not missing, f"the tuples {missing} are before {least}, and not there"
            if not self.ended:
                assert len(self.watermarks) == 2
                assert all(least <= each * 1000 for each in self.watermarks.values())


@pytest.mark.parametrize("name", TARGETS)
@given(EVENTS, st.sampled_from([0, 0, 3]), SHAPES, st.integers(1, 6))
@examples(20)
def test_marks_in_targets_are_true_and_never_fall(
    name: str, events: list[Any], lag: int, shape: tuple[int, int, bool], limit: int
):
    now, number = FIRST, 0
    with TemporaryDirectory() as place:
        directory = Path(place)
        target = TARGETS[name](directory)
        files = [directory / each for each in ("Left", "Right")]
        for file in files:
            file.touch()
        local = LocalApplication(Home(directory / "home"), plan(directory, target, lag, shape), limit)
        reader = Reader(target, lag)

        def check_marks() -> None:
            every = (each for program in local.programs for each in program.operators.values())
            reader.check_marks({each.name for each in every if not each.outputs})

        def turn(count: int) -> None:
            for _ in range(count):
                for program in local.programs:
                    local.step(program)
                local.publish()
                check_marks()

        for event in events:
            match event:
                case ("turn", count):
                    turn(count)
                case ("limit", count):
                    local.source_limit = count
                case ("trigger", _):
                    local.trigger()
                    turn(2)
                case ("reset", _):
                    for unit in local.units:
                        reset_unit(local.catalog, local.name, unit, force=True)
                case ("redeploy", other):
                    redeploy(local, plan(directory, target, lag, other))
                case rows:
                    added = defaultdict[str, str](str)
                    for on, back, key, left in rows:
                        now, number = now + on, number + 1
                        stream = "Left" if left else "Right"
                        reader.tuple(stream, now - back, key, number)
                        added[stream] += f"{now - back} {key} {number}\n"
                    for stream, text in added.items():
                        with (directory / stream).open("a") as out:
                            out.write(text)
            check_marks()
        reader.ended = True
        for file in files:
            with file.open("a") as out:
                out.write("end\n")
        local.run()
        check_marks()
        found = target.numbers() if target.is_exact else {*target.numbers()}
        assert sorted(found) == sorted(reader.written)


@pytest.mark.covering
@pytest.mark.parametrize("pes", [1, 3])
@pytest.mark.parametrize("filtered", [False, True])
def test_an_idle_stream_does_not_hold_back_the_mark(tmp_path: Path, stepped: SteppedClock, pes: int, *, filtered: bool):
    target = Table(tmp_path)
    for name in ("Left", "Right"):
        (tmp_path / name).touch()
    local = LocalApplication(Home(tmp_path / "home"), plan(tmp_path, target, 0, (1, pes, filtered), idleAfter=3.0), 50)

    def mark(**rows: str) -> int | None:
        """Write rows, let time pass, and return the mark."""
        for name, text in rows.items():
            with (tmp_path / name).open("a") as out:
                out.write(text)
        for _ in range(12):
            local.trigger()
            for program in local.programs:
                local.step(program)
            local.publish()
            stepped.now += 0.5
        return target.marks().get("Out")

    assert mark(Left="20 a 1\n", Right="10 b 2\n") == 10_000
    assert mark(Left="30 a 3\n") == 30_000
    assert mark(Right="5 b 4\n") == 30_000, "it never falls"
    assert mark(Left="50 a 5\n", Right="40 b 6\n") == 50_000, "it is idle again"
