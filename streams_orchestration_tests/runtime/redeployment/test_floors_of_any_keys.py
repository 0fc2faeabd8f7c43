"""Event time begins within channels that are divided anew at any tuple: each key is judged by its channels (EV46)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.routing import nested_channels
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import Timed, in_event_time, lines, through
from streams_orchestration_tests.runtime.judges import Account, Judge, Passing, ended, judges
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

KEYS = "abcdef"
TURNS = 8
Row = tuple[int, int, str]
"""By how much time goes on, by how much the tuple is behind it, and its key."""
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0, 0, 3, 12, 25]), st.sampled_from(KEYS)), min_size=1, max_size=7
)
EVENTS = st.lists(
    st.one_of(ROWS, ROWS, st.tuples(st.just("redeploy"), st.integers(1, 4)), st.just(("reset", 0))), max_size=9
)


@dataclass
class Channels:
    """The watermarks of channels by their tuples, and by what each key is judged."""

    judge: Judge
    width: int
    lag: int
    reached: list[int | None] = field(init=False)
    judged: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(KEYS))

    def __post_init__(self) -> None:
        self.reached = [None] * self.width
        self.accounts: dict[str, Account] = {key: self.judge.account() for key in KEYS}

    def tuple(self, row: Timed) -> None:
        channel = self.channel_of(row[1])
        self.accounts[row[1]].tuple(row)
        own, time = self.reached[channel], row[0] - self.lag
        if own is not None and time <= own:
            return
        self.reached[channel] = time
        for key, before in self.judged.items():
            if self.channel_of(key) == channel and (before is None or time > before):
                self.judged[key] = time
                self.accounts[key].advance(time)

    def divide(self, width: int) -> None:
        """Begin with the least watermark; keys keep what they were judged by."""
        if width != self.width:
            known = [each for each in self.reached if each is not None]
            least = min(known) if len(known) == self.width else None
            self.width, self.reached = width, [least] * width

    def channel_of(self, key: str) -> int:
        keys = pa.RecordBatch.from_pydict({"k": [key]})
        return int(nested_channels(keys, ((self.width, ("k",)),))[0]) if self.width > 1 else 0


def application(directory: Path, judge: Judge, width: int, lag: int) -> PlannedCompilation:
    """Lines -> (parallel by key: times begin here -> judged by event time) -> sinks."""
    source = lines("Rows", directory / "rows.txt")
    source["annotations"].pop("eventTime")
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    note = {"eventTime": {"eventTimeAttribute": "at", "minimumGap": 0.0, "lag": lag / 1000}}
    inner = [through("Timed", "Functor", "Rows", annotations=note), judge.node("Timed")]
    composites = {"Judging": {"inputs": ["Rows"], "outputs": ["Judged", "Late"], "graph": inner}}
    judging = {
        "name": "Judging", "operator": "Judging", "inputs": ["Rows"], "outputs": ["Judged", "Late"],
        "annotations": by_key,
    }  # fmt: skip
    graph = [source, judging, sink("Out", "Judged"), sink("TooLate", "Late")]
    return in_event_time(graph, composites=composites, fusion="manual", pes=2)


def sorting() -> Judge:
    outputs = [{"stream": each, "schema": "T"} for each in ("Judged", "Late")]
    node = {"parameters": {"window": "eventTime"}, "outputs": outputs}
    return Judge(lambda stream: through("Judged", "Sort", stream) | node, Passing)


@given(judges(1), st.integers(1, 4), st.sampled_from([0, 0, 4]), EVENTS, st.integers(1, 6))
@example(sorting(), 2, 0, [[(2, 0, "d")], ("redeploy", 4), [(0, 2, "a")]], 5)
@examples(30)
def test_each_key_is_judged_by_the_greater_watermark_of_its_channels(
    judge: Judge, width: int, lag: int, events: list[Any], limit: int
):
    channels, now, number = Channels(judge, width, lag), 20, 0
    with TemporaryDirectory() as place:
        file = Path(place, "rows.txt")
        file.touch()
        local = LocalApplication(Home(Path(place, "home")), application(Path(place), judge, width, lag), limit)
        for event in events:
            if event[0] == "redeploy":
                redeploy(local, application(Path(place), judge, event[1], lag))
                channels.divide(event[1])
            elif event[0] == "reset":
                reset_unit(local.catalog, local.name, local.units[0], force=True)
            else:
                for on, back, key in event:
                    now += on
                    row = (now - back, key, number)
                    channels.tuple(row)
                    with file.open("a") as out:
                        out.write(f"{row[0]} {key} {number}\n")
                    number += 1
                for _ in range(TURNS):
                    for program in local.programs:
                        local.step(program)
        with file.open("a") as out:
            out.write("end\n")
        local.run()
        found = tuple(
            sorted(tuple(row.values()) for path in local.published(name) for row in pq.read_table(path).to_pylist())
            for name in ("Out", "TooLate")
        )
    assert found == ended(channels.accounts)
