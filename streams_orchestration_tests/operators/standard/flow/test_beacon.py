"""Beacon: the same tuples from the same offset, paced by the clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.flow.beacon import Beacon
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.applications import PERIODIC, compiled, published, sink
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.stepped_clock import SteppedClock

ROW = "k string, n bigint"
OUTPUT = {"n": "IterationCount() * 2", "k": "CASE WHEN IterationCount() % 2 = 0 THEN 'even' ELSE 'odd' END"}


def bench(schema: str = ROW, **parameters: Any) -> Bench:
    given: dict[str, Any] = {"output": OUTPUT} | parameters
    return Bench(Beacon, [], [schema], **given)


def test_tuples_are_computed_from_the_iteration_and_a_marker_follows_the_last():
    source = bench(iterations=3)
    assert source.produce() == ({"iteration": 3}, True)
    assert source.items() == [("even", 0), ("odd", 2), ("even", 4), Punctuation.WINDOW]


@given(st.integers(1, 30), st.lists(st.integers(1, 10), min_size=1, max_size=5))
def test_any_limits_give_the_same_tuples(iterations: int, limits: list[int]):
    whole, divided = bench(iterations=iterations), bench(iterations=iterations)
    whole.produce()
    offset, exhausted = {"iteration": 0}, False
    while not exhausted:
        offset, exhausted = divided.produce(offset, limits[0])
        limits = [*limits[1:], limits[0]]
        divided = divided.restart()
    assert divided.items() == whole.items()


def test_a_replay_starts_at_the_offset():
    assert bench(iterations=5).produce({"iteration": 3}) == ({"iteration": 5}, True)
    source = bench(iterations=5)
    source.produce({"iteration": 3})
    assert source.rows() == [("odd", 6), ("even", 8)]


def test_without_a_number_of_iterations_there_is_no_end():
    assert bench().produce({"iteration": 10**12}, 7) == ({"iteration": 10**12 + 7}, False)


def test_attributes_without_an_expression_have_the_default_of_their_type():
    source = bench("a int, b double, c boolean, d string, e timestamp, f array<int>", iterations=1, output={})
    source.produce()
    assert source.rows() == [(0, 0.0, False, "", None, None)]


def test_a_quoted_counter_is_a_text():
    source = bench("k string", iterations=1, output={"k": "'IterationCount()' || IterationCount()"})
    source.produce()
    assert source.rows() == [("IterationCount()0",)]


def test_tuples_come_when_they_are_due(stepped: SteppedClock):
    source = bench(period=0.5)
    assert source.produce().offset == {"iteration": 1}
    assert source.produce({"iteration": 1}).offset == {"iteration": 1}
    stepped.now = 101.6
    assert source.produce({"iteration": 1}).offset == {"iteration": 4}
    stepped.now = 200.0
    assert source.produce({"iteration": 4}, 10).offset == {"iteration": 14}


@pytest.mark.parametrize(
    ("parameters", "pauses"), [({"period": 0.5}, [0.5, 0.25]), ({"initDelay": 2.0}, [2.0, 1.75]), ({}, [0.0, 0.0])]
)
def test_the_source_says_when_its_next_tuple_is_due(
    stepped: SteppedClock, parameters: dict[str, Any], pauses: list[float]
):
    source = bench(**parameters).operator
    assert isinstance(source, Beacon)
    source.produce({"iteration": 0}, 1)
    seen = [source.pause()]
    stepped.now += 0.25
    assert [*seen, source.pause()] == pauses


def test_the_first_tuple_waits_for_its_delay_and_a_replay_does_not(stepped: SteppedClock):
    source = bench(initDelay=1.0)
    assert source.produce().offset == {"iteration": 0}
    stepped.now = 101.0
    assert source.produce(limit=5).offset == {"iteration": 5}
    assert bench(initDelay=1.0).produce({"iteration": 2}, 1).offset == {"iteration": 3}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"output": {"m": "1"}}, "output: the output stream has no attribute m"),
        ({"output": {"n": "IterationCont()"}}, "output.n: .*IterationCont"),
        ({"output": {"n": "x"}}, "output.n: 'x' uses the attribute x"),
        ({"output": {"n": "'a'"}}, "output.n: the value is .*string.*, but the attribute is bigint"),
        ({"iterations": 0}, "greater than 0"),
        ({"period": -1}, "greater than or equal to 0"),
        ({"triggerCount": 0}, "greater than 0"),
    ],
)
def test_wrong_parameters_of_beacon_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(**parameters)


def test_a_beacon_starts_a_region(tmp_path: Path):
    graph: list[dict[str, Any]] = [
        {
            "name": "Numbers",
            "operator": "Beacon",
            "outputs": [{"stream": "Numbers", "schema": "Row"}],
            "parameters": {"iterations": 40, "output": OUTPUT},
            "annotations": PERIODIC,
        },
        sink("Out", "Numbers"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), 7)
    local.run()
    assert published(local.published("Out")) == sorted((("odd" if i % 2 else "even"), 2 * i) for i in range(40))
