"""An operator has one watermark for all its output ports, whatever the batches (EV16, EV17, EV62)."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.standard.flow.split import Split
from streams_orchestration.operators.testing import OperatorHarness, same_at_any_division
from streams_orchestration.operators.tuples.watermarks import Watermark

TUPLE = "at bigint"
BOTH = [{"stream": "Even", "schema": TUPLE}, {"stream": "Odd", "schema": TUPLE}]
TIMES = (1, 2, 4, 3, 5)


def test_a_tuple_at_one_port_moves_the_watermark_of_all_ports():
    role = EventTimeRole("at", 1000, "outputEventTime", 0, 0, (), (0, 1))
    split = same_at_any_division(
        lambda: OperatorHarness(Split, [TUPLE], [TUPLE, TUPLE], parameters={"index": "at"}, event_time=role),
        [(0, (at,)) for at in TIMES],
    )
    marks = {at: Watermark(at) for at in TIMES}
    assert split.items(0) == [marks[1], (2,), marks[2], (4,), marks[4], marks[5]]
    assert split.items(1) == [(1,), marks[1], marks[2], marks[4], (3,), (5,), marks[5]]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_tuples_behind_a_later_one_of_another_port_are_late(batch: int):
    note = {"eventTime": {"eventTimeAttribute": "at", "minimumGap": 0.0}}
    spec: dict[str, Any] = {
        "specVersion": 1,
        "application": "ports",
        "graph": [
            {"name": "A", "operator": "FileSource", "outputs": [{"stream": "A", "schema": TUPLE}], "parameters": {}},
            {
                "name": "Parts", "operator": "Split", "inputs": ["A"], "outputs": BOTH,
                "parameters": {"index": "at"}, "annotations": note,
            },
            {
                "name": "Sorted", "operator": "Sort", "inputs": ["Odd"], "parameters": {"window": "eventTime"},
                "outputs": [{"stream": "Sorted", "schema": TUPLE}, {"stream": "Late", "schema": TUPLE}],
            },
            {"name": "Out", "operator": "FileSink", "inputs": ["Sorted"], "parameters": {}},
            {"name": "Other", "operator": "FileSink", "inputs": ["Even"], "parameters": {}},
        ],
    }  # fmt: skip
    found = run_in_process(spec, {"A": [(at,) for at in TIMES]}, ["Late"], batch=batch)
    assert [each["at"] for each in found["Late"].to_pylist()] == [3]
    assert [each["at"] for each in found["Out"].to_pylist()] == [1, 5]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_tuples_are_late_behind_a_sort_by_the_ones_that_it_kept(batch: int):
    note = {"eventTime": {"eventTimeAttribute": "at", "minimumGap": 0.0}}
    both = [{"stream": "Sorted", "schema": TUPLE}, {"stream": "Late", "schema": TUPLE}]
    spec: dict[str, Any] = {
        "specVersion": 1,
        "application": "kept",
        "graph": [
            {
                "name": "A", "operator": "FileSource", "outputs": [{"stream": "A", "schema": TUPLE}], "parameters": {},
                "annotations": note,
            },
            {
                "name": "Threes", "operator": "Sort", "inputs": ["A"],
                "parameters": {"window": "tumbling, count(3)", "sortBy": ["at"]},
            },
            {
                "name": "Sorted", "operator": "Sort", "inputs": ["Threes"], "parameters": {"window": "eventTime"},
                "outputs": both,
            },
            {"name": "Out", "operator": "FileSink", "inputs": ["Sorted"], "parameters": {}},
        ],
    }  # fmt: skip
    found = run_in_process(spec, {"A": [(at,) for at in (3, 1, 2, 9, 7, 8)]}, ["Late"], batch=batch)
    assert [each["at"] for each in found["Late"].to_pylist()] == [1, 2, 7, 8]
    assert [each["at"] for each in found["Out"].to_pylist()] == [3, 9]
