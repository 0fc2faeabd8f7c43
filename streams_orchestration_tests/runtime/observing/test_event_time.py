"""The cause that holds an operator's watermark: found by connections, partitions and tuples, shown in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.cli.observing import details
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.combined_watermark import CombinedWatermark
from streams_orchestration.operators.event_time.holder import Holder
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration.runtime import api
from streams_orchestration.runtime.observing.event_time import EventTimeInputs, event_times
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.observing.exposition.samples import samples_of, value

NAMES = ("A", "B", "C")
AT = 1_700_000_000.0


@examples(100)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 20) | st.just(IDLE) | st.just(END)), max_size=12))
def test_no_other_connection_lifts_a_watermark_beyond_its_holder(brought: list[tuple[str, int]]):
    entries = CombinedWatermark(NAMES)
    for name, reached in brought:
        entries.enter(name, Watermarks.of((0, reached)), 0)
    holder, before = entries.holder(), entries.watermark
    if holder.kind == "end":
        assert before == END
        return
    assert (holder.kind == "idle") == (holder.idle == holder.inputs)
    for name in NAMES if holder.kind == "connection" else ():
        if name != holder.name:
            entries.enter(name, Watermarks.of((0, END - 1)), 0)
    assert entries.watermark == (before if holder.ticks is None else max(holder.ticks, before or holder.ticks))
    assert holder.kind == "idle" or entries.holder().name == holder.name


def test_a_partition_without_a_time_holds_the_clock_of_its_source():
    clock = Clock(lag=2, minimum_gap=1)
    clock.assign(["north", "south"])
    clock.advance(np.array([5, 7]), np.array([0, 0]), ["north", "south"])
    assert clock.partitions.holder() == Holder("partition", "south", None, 0, 2, 0)
    clock.advance(np.array([9]), np.array([1]), ["north", "south"])
    assert clock.partitions.holder() == Holder("partition", "north", 7, 2, 2, 0)
    clock.rest(["north"])
    assert clock.partitions.holder() == Holder("partition", "south", 9, 1, 2, 1)
    clock.rest(["south"])
    assert clock.partitions.holder() == Holder("idle", inputs=2, idle=2)


def said(holder: str, watermark: float | None = AT, **more: Any) -> dict[str, Any]:
    known = {"watermark": watermark, "holder": holder, "name": "", "time": None, "tuples": None, "inputs": 1, "idle": 0}
    return known | more


INPUTS = (
    EventTimeInputs("Left", 0, {}),
    EventTimeInputs("Right", 1, {}),
    EventTimeInputs("Both", 2, {"Left": "Left", "Right": "Right"}),
    EventTimeInputs("Panes", 2, {"Both": "Both"}),
)
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "an input that never had a tuple": (
        {
            "Left": said("source", time=AT),
            "Right": said("source", None, tuples=0),
            "Both": said("connection", None, name="Right"),
            "Panes": said("connection", None, name="Both"),
        },
        "Both < Right: no time yet",
        "waits for stream Both, which has no watermark yet; Right: waits for its first time: no tuple has come yet",
    ),
    "an operator that was never called": (
        {"Left": said("source", time=AT), "Right": said("source", time=AT)},
        "Both < Left: its own times",
        "waits for stream Both, which has no watermark yet; Left: its greatest time is 2023-11-14 22:13:20.000 UTC",
    ),
    "a partition": (
        {
            "Left": said("source", time=AT + 5),
            "Right": said("partition", name="t/3", time=AT, tuples=7, inputs=4),
            "Both": said("connection", name="Right", time=AT),
            "Panes": said("connection", name="Both", time=AT),
        },
        "Both < Right: partition t/3",
        "waits for stream Both; Right: waits for partition t/3, whose greatest time is 2023-11-14 22:13:20.000 UTC",
    ),
    "a partition whose tuples have no time": (
        {"Panes": said("partition", None, name="t/3", tuples=7)},
        "partition t/3",
        "waits for partition t/3, 7 tuples came, but none has a usable time",
    ),
    "a kept tuple": (
        {"Both": said("tuple", time=AT), "Panes": said("connection", name="Both", time=AT)},
        "Both: a tuple that it keeps",
        "waits for stream Both; Both: keeps a tuple of 2023-11-14 22:13:20.000 UTC",
    ),
    "all inputs are idle": ({"Panes": said("idle", inputs=2, idle=2)}, "idle", "all its inputs are idle"),
    "the end": ({"Panes": said("end", None)}, "", "its streams have ended"),
    "an operator that sets its watermark": (
        {"Panes": said("operator", None)},
        "no time yet",
        "has not set it yet",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_holder_of_a_watermark_is_named_with_its_cause(case: str):
    reported, held_by, why = CASES[case]
    found = {each.operator: each for each in event_times(INPUTS, reported, AT + 60)}
    assert (found["Panes"].held_by, found["Panes"].why) == (held_by, why)
    assert list(found) == ["Left", "Right", "Both", "Panes"]


def turn(local: LocalApplication) -> dict[str, api.OperatorEventTime]:
    for _ in range(4):
        for program in local.programs:
            local.step(program)
    return {each.operator: each for each in api.read_metrics(local.catalog, local.name).event_time}


@pytest.mark.slow
@pytest.mark.parametrize("pes", [1, 3])
def test_status_names_what_holds_the_watermark_of_a_running_application(tmp_path: Path, pes: int):
    left, right = tmp_path / "left", tmp_path / "right"
    left.write_text("1000 a 1\n9000 a 2\n")
    right.write_text("")
    graph = [
        lines("Left", left),
        lines("Right", right),
        through("Both", "Union", "Left", "Right"),
        through("Later", "Sort", "Both", parameters={"window": "tumbling, count(4)", "sortBy": ["n"]}),
        sink("Out", "Later"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=pes), 10)
    found = turn(local)
    assert (found["Left"].watermark, found["Left"].holder, found["Left"].holder_name) == (9.0, "partition", "a")
    assert (found["Both"].watermark, found["Both"].holder_name) == (None, "Right")
    assert (found["Later"].held_by, found["Later"].path) == ("Both < Right: no time yet", ("Both", "Right"))
    assert "no tuple has come yet" in found["Out"].why

    with right.open("a") as file:
        file.write("8000 b 1\n")
    found = turn(local)
    assert (found["Both"].watermark, found["Both"].held_by) == (8.0, "Right: partition b")
    assert (found["Later"].watermark, found["Later"].holder, found["Later"].holder_time) == (1.0, "tuple", 1.0)
    assert found["Out"].held_by == "Later: a tuple that it keeps"
    with right.open("a") as file:
        file.write("12000 b 2\n")
    found = turn(local)
    assert (found["Later"].watermark, found["Later"].held_by) == (9.0, "Both < Left: partition a")

    exposed = samples_of(api.read_metrics_text(local.home)[0].decode())
    assert value(exposed, "streams_operator_watermark_timestamp_seconds", operator="Both") == 9
    assert value(exposed, "streams_operator_event_time_info", operator="Both", held_by="Left: partition a") == 1
    assert value(exposed, "streams_operator_event_time_inputs", operator="Both") == 2
    assert value(exposed, "streams_operator_event_time_idle_inputs", operator="Both") == 0
    status, metrics = api.read_status(local.catalog, local.name), api.read_metrics(local.catalog, local.name)
    text = rendered(details(status, api.now(), metrics), colour=False, width=200)
    assert "Both      1970-01-01 00:00:09.000 UTC" in text
    assert "waits for stream Later" in text
    document = json.loads(json.dumps(api.build_status_document(status, metrics, api.now()), default=str))
    assert [each["operator"] for each in document["metrics"]["event_time"]] == ["Left", "Right", "Both", "Later", "Out"]


@pytest.mark.slow
@pytest.mark.parametrize("pes", [1, 4])
def test_a_task_that_no_event_time_reaches_says_nothing_of_the_watermark(tmp_path: Path, pes: int):
    """The operator has no state, so it runs in the tasks of both sources."""
    for name in ("Rows", "Plain"):
        (tmp_path / name).write_text("1000 a 1\n9000 a 2\n")
    plain = lines("Plain", tmp_path / "Plain")
    del plain["annotations"]["eventTime"]
    some = through("Some", "Filter", ["Rows", "Plain"], parameters={"filter": "n > 0"})
    graph = [lines("Rows", tmp_path / "Rows"), plain, some, sink("Out", "Some")]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=pes), 10)
    found = turn(local)
    assert {name: each.watermark for name, each in found.items()} == {"Rows": 9, "Some": 9, "Out": 9}
