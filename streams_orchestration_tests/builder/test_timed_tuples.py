"""Applications in event time run to their end in a test, with watermarks of their sources or of the test."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import yaml

from streams_orchestration.builder import Idle, Watermark
from streams_orchestration.builder.testing import run_in_process
from streams_orchestration_tests.specs import CASES

HERE = "streams_orchestration_tests.operators.custom_functions"
EVENT_TIME = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
TIMED = "at bigint, k string, v bigint"
SEEN = "k string, seen bigint"


def beacon(name: str, schema: str = TIMED, **note: Any) -> dict[str, Any]:
    annotations = {"eventTime": {"eventTimeAttribute": "at", **note}} if note else {}
    return {"name": name, "operator": "Beacon", "outputs": [{"stream": name, "schema": schema}]} | (
        {"annotations": annotations} if annotations else {}
    )


def custom(outputs: list[dict[str, str]], *streams: str, **parameters: Any) -> dict[str, Any]:
    named = {key: f"{HERE}:{value}" if key.startswith("on") else value for key, value in parameters.items()}
    return {"name": "Own", "operator": "Custom", "inputs": [list(streams)], "outputs": outputs, "parameters": named}


def sink(name: str, stream: str) -> dict[str, Any]:
    return {"name": name, "operator": "FileSink", "inputs": [stream], "parameters": {"file": name, "format": "parquet"}}


def run(graph: list[dict[str, Any]], inputs: dict[str, Any], batch: int = 1000) -> dict[str, list[tuple[Any, ...]]]:
    document = {"specVersion": 1, "application": "timed", "graph": graph}
    tables = run_in_process(document, inputs, batch=batch)
    return {name: [tuple(row.values()) for row in table.to_pylist()] for name, table in tables.items()}


FIRED = [{"stream": "Fired", "schema": "k string, at bigint"}]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_worked_case_x1_runs_with_the_watermarks_of_its_source(batch: int):
    case = EVENT_TIME["X1"]
    after = round(case["timers"]["after"] * 1000)
    graph = [
        beacon("Rows", **case["source"]["eventTime"]),
        custom(FIRED, "Rows", onTuple="timing_out", onTimer="fired", arguments={"after": after}),
        sink("Out", "Fired"),
    ]
    rows = [(at * 1000, *others) for at, *others in case["source"]["tuples"]]
    assert run(graph, {"Rows": rows}, batch)["Out"] == [(key, at * 1000) for key, at in case["expect"]["fired"]]


NOTED = [{"stream": "Unused", "schema": SEEN}, {"stream": "Noted", "schema": SEEN}]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_the_watermarks_of_a_test_are_those_that_it_names_and_the_end(batch: int):
    graph = [
        beacon("Rows", lag=5.0, minimumGap=10.0),
        custom(NOTED, "Rows", onTuple="noting", onWatermark="at_watermark"),
        sink("Out", "Noted"),
    ]
    rows = [Watermark(1), (5, "a", 1), Watermark(3), Watermark(2), (6, "b", 1), (7, "c", 1), Watermark(4), Watermark(5)]
    end = 2**63 - 1
    wanted = [("0", 1), ("a", 1), ("1", 3), ("b", 3), ("c", 3), ("3", 4), ("3", 5), ("3", end)]
    assert run(graph, {"Rows": rows}, batch)["Out"] == wanted


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_source_may_become_idle(batch: int):
    graph = [
        beacon("Left", lag=0.0),
        beacon("Right", lag=0.0),
        custom(FIRED, "Left", "Right", onTuple="timed", onTimer="fired"),
        sink("Out", "Fired"),
    ]
    rows = {"Left": [Watermark(3), (4, "l", 1), Idle()], "Right": [(5, "r", 1), Watermark(5), (6, "s", 1)]}
    assert run(graph, rows, batch)["Out"] == [("l", 4), ("r", 5), ("s", 6)]


def test_watermarks_are_values_of_the_attributes_type():
    at = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    timed = "at timestamp, k string"
    graph = [
        beacon("Rows", timed, lag=0.0),
        custom([{"stream": "Fired", "schema": "k string, at timestamp"}], "Rows", onTuple="timed", onTimer="fired"),
        sink("Out", "Fired"),
    ]
    assert run(graph, {"Rows": [(at, "a"), Watermark(at)]})["Out"] == [("a", at)]


@pytest.mark.parametrize(
    ("note", "row", "message"),
    [
        ({"lag": 0.0}, Watermark("soon"), r"Rows: in a Watermark, the time is 'soon' \(str\), but at is bigint: give"),
        ({}, Watermark(5), r"Rows: Watermark\(value=5\) is among its tuples, but its source has no annotation"),
        ({}, Idle(), r"Rows: Idle\(\) is among its tuples, but its source has no annotation eventTime"),
    ],
)
def test_watermarks_that_do_not_fit_are_named(note: dict[str, Any], row: Any, message: str):
    with pytest.raises(ValueError, match=message):
        run([beacon("Rows", **note), sink("Out", "Rows")], {"Rows": [(5, "a", 1), row]})


def test_a_second_output_without_the_attribute_is_no_part_of_event_time():
    outputs = [{"stream": "Rows", "schema": TIMED}, {"stream": "Malformed", "schema": "error string"}]
    source = beacon("Rows", lag=0.0) | {"outputs": outputs, "operator": "FileSource"}
    graph = [
        source | {"parameters": {"file": "rows.csv", "format": "csv"}},
        custom(FIRED, "Rows", onTuple="timing_out", onTimer="fired", arguments={"after": 1}),
        sink("Out", "Fired"),
        sink("Bad", "Malformed"),
    ]
    found = run(graph, {"Rows": [(5, "a", 1)], "Malformed": [("?",)]})
    assert found == {"Out": [("a", 6)], "Bad": [("?",)]}
