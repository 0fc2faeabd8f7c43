"""A query with the watermark of its event-time graph, without Spark: batches are given by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration.runtime.engine.spark.frames.graph_time import WAITING, OutputMarks, QueryTime
from streams_orchestration.runtime.engine.spark.frames.output_delays import NO_DELAY, UNKNOWN_DELAY, OutputDelay
from streams_orchestration.runtime.engine.spark.frames.time_files import TimeFiles
from streams_orchestration.runtime.engine.spark.frames.writing import mark_segments
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import BatchPlan, Position, Segment, TaskInput
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.segments import read_segment, write_segment

ROW = "k string, at timestamp, v bigint"
Item = tuple[str, int]
"""("tuple", event time) or ("mark", watermark), in ticks."""
ITEMS: list[Item] = [
    ("tuple", 7), ("tuple", 3), ("mark", 4), ("tuple", 5), ("tuple", 4), ("tuple", 2), ("tuple", 9), ("mark", 8),
    ("tuple", 8), ("tuple", 8), ("tuple", 6), ("tuple", 12), ("mark", 12), ("tuple", 11),
]  # fmt: skip
"""Tuples with the times 2, 6 and 11 are late, and 12 is not passed."""
PASSED = [3, 4, 5, 7, 8, 8, 9]


def source(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "operator": "Beacon",
        "outputs": [{"stream": name, "schema": ROW}],
        "annotations": {"eventTime": {"eventTimeAttribute": "at", "onNull": "fail"}},
    }


def sql(name: str, *inputs: str, **parameters: Any) -> dict[str, Any]:
    return {
        "name": name,
        "operator": "Sql",
        "inputs": [*inputs],
        "outputs": [{"stream": name, "schema": ROW}],
        "parameters": {"query": f"SELECT * FROM {inputs[0]}", **parameters},
    }


class Given:
    """A query whose streams are written by hand."""

    def __init__(self, directory: Path, *nodes: dict[str, Any], files: str = "checkpoint") -> None:
        graph = [*nodes, {"name": "Out", "operator": "FileSink", "inputs": [nodes[-1]["name"]],
                          "parameters": {"file": "out", "format": "jsonl"}}]  # fmt: skip
        spec = {"specVersion": 1, "application": "queries", "graph": graph}
        compilation = compile_application(application_from_mapping(spec), Options(fusion="legacy"))
        programs = compilation.deployment.programs
        (self.program,) = (each for each in programs if each.engine == "dataframe")
        self.directories: Directories = directories_of(Home(directory / "home"), "queries", self.program.pe)
        self.files = directory / files
        self.batch = 0
        self.begin()

    def begin(self) -> None:
        """Begin with the stored state, as after a reset."""
        self.stored = TimeFiles(self.files)
        self.time = QueryTime(self.program, self.directories)
        self.time.load(self.stored.load("Q"))

    def key(self, name: str = "Q", port: int = 0) -> str:
        return f"{next(each.index for each in self.program.operators.values() if each.name == name)}:{port}"

    def segment(self, stream: str, items: Iterable[Item]) -> tuple[int, int, Segment]:
        (into,) = (each for each in self.program.inputs if each.stream == stream)
        return into.operator, into.port, self.written(stream, items)

    def written(self, stream: str, items: Iterable[Item]) -> Segment:
        """Write items as a segment."""
        rows: list[int | None] = []
        marks: list[tuple[int, int]] = []
        for kind, value in items:
            if kind == "tuple":
                rows.append(None if value < 0 else value)
            else:
                marks.append((len(rows), value))
        schema = arrow_schema(ROW)
        columns = [pa.array([stream] * len(rows)), pa.array(rows, pa.int64()).cast(schema.field("at").type)]
        tuples = pa.RecordBatch.from_arrays([*columns, pa.array([*range(len(rows))], pa.int64())], schema=schema)
        batch = TupleBatch(tuples, watermarks=Watermarks.of(*marks) if marks else None)
        store = self.directories.store
        return write_segment(store, self.directories.streams, stream, schema, [batch])

    def enter(
        self,
        *,
        watermark: int | None = None,
        delay: OutputDelay = NO_DELAY,
        ended: bool = False,
        final: bool = False,
        **streams: Sequence[Item],
    ) -> tuple[dict[str, list[int]], list[OutputMarks]]:
        """Process a batch with these items of streams; return the times of passed tuples by port, and watermarks."""
        self.batch += 1
        segments = tuple(self.segment(stream, items) for stream, items in streams.items())
        plan = BatchPlan("", 1, self.batch, 1, True, final, 0, Position(), (TaskInput(0, segments=segments),))
        keys = [f"{index}:0" for index in self.program.operators]
        passed, marks = self.time.enter(plan, watermark, dict.fromkeys(keys, delay), ended=ended or final)
        times = {
            key: [at for each in batches for at in each.column("at").cast(pa.int64()).to_pylist()]
            for key, batches in passed.items()
        }
        return times, marks

    def sent(self, **given: Any) -> list[tuple[int, int]]:
        """Process a batch, and return the watermarks that go out."""
        return [mark for each in self.enter(**given)[1] for mark in each.watermarks]

    def store(self) -> None:
        self.stored.store(self.time.dump(), self.batch)


TAKES = {"watermarks": {"Rows": "eventTime"}}


@pytest.mark.parametrize("size", [1, 2, 3, 5, len(ITEMS)])
@pytest.mark.parametrize("resets", [False, True])
def test_tuples_pass_in_order_of_time_in_all_batches_and_over_resets(tmp_path: Path, size: int, resets: bool):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    passed, late = list[int](), 0
    for begin in range(0, len(ITEMS), size):
        passed += given.enter(Rows=ITEMS[begin : begin + size])[0][given.key()]
        late += given.time.counts()["Q"].get("counters", {}).get("late_dropped", 0)
        given.store()
        if resets:
            given.begin()
    assert (passed, late) == (PASSED, 3)
    assert given.time.markers == {given.key(): 11}, "one tick below the watermark"
    assert given.time.counts()["Q"]["gauges"][WAITING] == 1
    assert given.enter(ended=True)[0] == {given.key(): [12]}
    assert given.time.markers == {given.key(): END}


def test_a_batch_that_was_not_stored_is_repeated_after_a_reset(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    given.enter(Rows=ITEMS[:4])
    given.store()
    first = given.enter(Rows=ITEMS[4:])[0]
    given.begin()
    assert given.enter(Rows=ITEMS[4:])[0] == first
    assert first == {given.key(): PASSED[1:]}


def test_the_least_watermark_of_all_streams_passes_the_tuples_of_all_ports(tmp_path: Path):
    parameters = {"watermarks": {"Rows": "eventTime", "Others": "eventTime"}}
    given = Given(tmp_path, source("Rows"), source("Others"), sql("Q", "Rows", "Others", **parameters))
    rows, others = given.key(), given.key(port=1)
    assert given.enter(Rows=[("tuple", 3), ("mark", 5)])[0] == {rows: [], others: []}
    assert given.enter(Others=[("tuple", 1), ("mark", 2)])[0] == {rows: [], others: [1]}
    assert given.enter(Others=[("tuple", 4), ("mark", 9)])[0] == {rows: [3], others: [4]}
    assert given.time.markers == {rows: 4, others: 4}


def test_tuples_of_a_port_without_event_time_do_not_wait(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), source("Others"), sql("Q", "Rows", "Others", **TAKES))
    passed, _ = given.enter(Rows=[("tuple", 3), ("mark", 5)], Others=[("tuple", 4), ("mark", 9)])
    assert passed == {given.key(): [3]}, "Spark reads the other port itself"


@pytest.mark.parametrize(
    ("delay", "watermark", "sent"),
    [
        (OutputDelay(), None, [(0, 12)]),
        (OutputDelay(microseconds=5), None, [(0, 7)]),
        (OutputDelay(waits=True), None, []),
        (OutputDelay(waits=True), 7, [(0, 8)]),
        (OutputDelay(waits=True, microseconds=5), 7, [(0, 3)]),
        (UNKNOWN_DELAY, 7, []),
    ],
    ids=["no state", "an interval", "before Spark's watermark", "at Spark's watermark", "a window", "unknown"],
)
def test_results_have_the_watermark_of_the_batch_less_their_delay(
    tmp_path: Path, delay: OutputDelay, watermark: int | None, sent: list[tuple[int, int]]
):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    assert given.sent(Rows=ITEMS, delay=delay, watermark=watermark) == sent
    assert given.sent(delay=delay, watermark=watermark) == [], "a watermark is sent once"
    assert given.sent(delay=delay, watermark=watermark, final=True) == [(0, END)]


def test_a_query_that_takes_no_watermarks_still_sends_those_of_its_input(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows"))
    passed, marks = given.enter(Rows=ITEMS)
    assert passed == {}
    assert [tuple(each.watermarks) for each in marks] == [((0, 12),)]


def test_streams_of_a_query_that_neither_takes_nor_gives_watermarks_are_left_to_spark(tmp_path: Path):
    query = sql("Q", "Rows") | {"outputs": [{"stream": "Q", "schema": "k string"}]}
    given = Given(tmp_path, source("Rows"), query)
    assert given.enter(Rows=ITEMS) == ({}, [])
    assert (given.time.counts(), given.time.dump()) == ({}, {})


def test_an_idle_input_is_passed_on_when_no_tuple_waits_and_no_result_is_missing(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    waits = OutputDelay(waits=True)
    idle = [("tuple", 3), ("mark", 3), ("mark", IDLE)]
    assert given.sent(Rows=idle, delay=waits, watermark=1) == [(0, 2)], "a tuple waits"
    assert given.sent(Rows=[("mark", 4), ("mark", IDLE)], delay=waits, watermark=2) == [(0, 3)], "Spark is behind"
    assert given.sent(delay=waits, watermark=3) == [(0, 4), (0, IDLE)]
    assert given.sent(delay=waits, watermark=3) == []
    assert given.sent(Rows=[("tuple", 5)], delay=waits, watermark=3) == [(0, 4)], "the input goes on"


def test_only_a_watermark_that_rises_asks_for_a_further_batch(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    asked: list[bool] = []
    for items in ([("tuple", 3)], [("mark", 4)], [], [("tuple", 5)], [("mark", 6)], []):
        given.enter(Rows=items)
        asked.append(given.time.rises)
    assert asked == [False, True, False, False, True, False]


def test_connections_of_another_plan_begin_with_the_watermark_of_the_query(tmp_path: Path):
    before = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    before.enter(Rows=[("tuple", 9), ("mark", 5)])
    before.store()
    query = sql("Q", "Rows", **TAKES) | {"inputs": [{"streams": ["Rows", "Others"], "name": "Rows"}]}
    after = Given(tmp_path, source("Rows"), source("Others"), query)
    key = after.key()
    assert after.enter(Rows=[("tuple", 3), ("mark", 20)])[0] == {key: []}, "3 is late"
    assert after.enter(Others=[("tuple", 6), ("mark", 8)])[0] == {key: [6]}
    assert after.time.markers == {key: 7}


def test_an_import_brings_the_watermarks_of_the_streams_that_it_is_connected_to(tmp_path: Path):
    exported = {"application": "other", "streamId": "rows", "eventTime": {"attribute": "at"}}
    rows = {
        "name": "Rows",
        "operator": "Import",
        "outputs": [{"stream": "Rows", "schema": ROW}],
        "parameters": exported,
    }
    given = Given(tmp_path, rows, sql("Q", "Rows", **TAKES))
    operator = int(given.key().partition(":")[0])
    passed: list[dict[str, list[pa.RecordBatch]]] = []
    for connected, items in (({"s": False}, ITEMS[:3]), ({"s": False}, []), ({"s": True}, [])):
        segments = tuple([(operator, 0, given.written("s", items))] if items else [])
        position = Position(connected={"Q": connected})
        plan = BatchPlan("", 1, 1, 1, True, False, 0, position, (TaskInput(0, segments=segments),))
        passed.append(given.time.enter(plan, None, {}, ended=False)[0])
    assert [sum(batch.num_rows for batch in each[given.key()]) for each in passed] == [1, 0, 1]
    assert given.time.markers == {given.key(): END}


def test_queries_that_are_composed_pass_watermarks_to_one_another(tmp_path: Path):
    together = {"config": {"placement": {"partitionColocation": "together"}}}
    first, second = sql("First", "Rows", **TAKES) | together, sql("Q", "First") | together
    given = Given(tmp_path, source("Rows"), first, second)
    _, marks = given.enter(Rows=ITEMS, delay=OutputDelay(microseconds=2))
    ports = {f"{each.operator}:{each.port}": tuple(each.watermarks) for each in marks}
    assert ports == {given.key("First"): ((0, 10),), given.key("Q"): ((0, 8),)}
    (written,) = mark_segments(given.program, given.directories, marks)
    assert written.stream == "Q"


def test_every_channel_behind_a_query_gets_its_watermarks(tmp_path: Path):
    behind = {"name": "F", "operator": "Filter", "inputs": ["Q"], "parameters": {"filter": "v > 0"},
              "annotations": {"parallel": {"width": 3, "partitionBy": [{"port": "Q", "attributes": ["k"]}]}},
              "outputs": [{"stream": "F", "schema": ROW}]}  # fmt: skip
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows"), behind)
    segments = mark_segments(given.program, given.directories, given.enter(Rows=ITEMS)[1])
    read = [list(read_segment(given.directories.store, each)) for each in segments]
    assert len({each.stream for each in segments}) == 3
    assert [[tuple(one.watermarks or ()) for one in items if isinstance(one, TupleBatch)] for items in read] == [
        [((0, 12),)]
    ] * 3


def test_a_tuple_without_a_time_is_an_error_of_the_query(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    with pytest.raises(OperatorError, match="Q: the event time at of tuple 2 of 2 is null"):
        given.enter(Rows=[("tuple", 3), ("tuple", -1)])


def test_a_damaged_state_is_refused(tmp_path: Path):
    given = Given(tmp_path, source("Rows"), sql("Q", "Rows", **TAKES))
    given.enter(Rows=ITEMS)
    given.store()
    (file,) = given.files.rglob("*.state")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(OperatorError, match="cannot be read: it is truncated or was altered"):
        given.begin()
