"""Merge against sorting everything, whatever comes first and wherever batches end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.flow.merge import Merge
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "t bigint, s string"
STREAM = st.lists(st.integers(0, 9), max_size=12)
STREAMS = st.lists(STREAM, min_size=2, max_size=3)


def merge(ports: int = 2, **parameters: Any) -> OperatorHarness:
    return OperatorHarness(Merge, [ROW] * ports, [ROW], parameters={"orderBy": "t"} | parameters)


def merged(streams: list[list[int]]) -> list[Any]:
    """Return all tuples by the largest time up to each, then by port."""
    rows: list[Any] = []
    for port, times in enumerate(streams):
        rows += [((max(times[: number + 1]), port, number), (t, f"{port}.{number}")) for number, t in enumerate(times)]
    return [row for _, row in sorted(rows)]


@pytest.mark.slow
@given(streams=STREAMS, draw=st.randoms(use_true_random=False), restarts=st.booleans())
@examples(150)
def test_streams_in_order_become_one_in_order(streams: list[list[int]], draw: Any, restarts: bool):
    harness, at = merge(len(streams)), [0] * len(streams)
    wanted = merged(streams)
    while any(begin < len(times) for begin, times in zip(at, streams, strict=True)):
        port = draw.randrange(len(streams))
        end = min(at[port] + draw.randrange(4), len(streams[port]))
        harness.send([(streams[port][number], f"{port}.{number}") for number in range(at[port], end)], port)
        at[port] = end
        if restarts:
            harness.restart()
        assert harness.rows() == wanted[: len(harness.rows())]
    assert harness.end().rows() == wanted


@given(streams=STREAMS)
@examples(60)
def test_a_tuple_that_no_later_one_can_precede_is_not_held_back(streams: list[list[int]]):
    harness = merge(len(streams))
    for port, times in enumerate(streams):
        harness.send([(t, f"{port}.{number}") for number, t in enumerate(times)], port)
    if all(streams):
        bound = min((max(times), port) for port, times in enumerate(streams))
        sure = [row for row in merged(streams) if (row[0], int(row[1][0])) <= bound]
        assert set(sure) >= set(harness.rows())
        assert all(row in harness.rows() for row in sure if (row[0], int(row[1][0])) < bound and in_order(streams))
    else:
        assert harness.rows() == []


def in_order(streams: list[list[int]]) -> bool:
    return all(times == sorted(times) for times in streams)


def test_attributes_of_other_names():
    harness = OperatorHarness(Merge, [ROW, "at bigint, t bigint, s string"], [ROW], parameters={"orderBy": ["t", "at"]})
    harness.send([(1, "a"), (3, "b")]).send([(2, 9, "c"), (4, 9, "d")], 1)
    assert harness.rows() == [(1, "a"), (9, "c"), (3, "b")]


def test_a_tuple_without_a_time_is_bad_data():
    with pytest.raises(DataError, match="t is null"):
        merge().send([(None, "a")])


WRONG: dict[str, tuple[list[str], Any, str]] = {
    "an attribute that is not there": ([ROW, "s string"], "t", "input port 1 has no attribute t"),
    "attributes for some ports": ([ROW, ROW], ["t"], "one attribute for each of the 2 input ports"),
    "attributes of other types": (
        [ROW, "t int, s string"],
        "t",
        "t of input port 1 is int, but t of input port 0 is bigint",
    ),
    "a text": ([ROW, ROW], "s", "s is string, but a number or a timestamp is expected"),
    "streams that do not fit": ([ROW, "t bigint"], "t", "input port 1: output: s has no value"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_merge_are_refused(case: str):
    inputs, order, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        OperatorHarness(Merge, inputs, [ROW], parameters={"orderBy": order})
