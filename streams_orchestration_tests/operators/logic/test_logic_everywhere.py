"""Logic of SPL beside operators that have none of their own, and in a Beacon."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.loading.import_path import LOGIC_SUFFIX
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.flow.beacon import Beacon
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import division

ROW = "n int NOT NULL"
COUNTS = {
    "state": "mutable int32 seen = 0; mutable map<int32, int32> by = {}; mutable list<int32> marks = [];",
    "onTuple": {0: "{ seen++; by[In.n] = (In.n in by ? by[In.n] : 0) + 1; }"},
    "onPunct": {0: "appendM(marks, seen);"},
    "inputs": {"In": ""},
}


def kind_of(name: str) -> type[Operator]:
    return import_operator(f"{STANDARD[name]}{LOGIC_SUFFIX}")


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 50), max_size=4))
@examples(40)
def test_the_variables_of_logic_survive_restarts_beside_the_state_of_the_operator(values: list[int], cuts: list[int]):
    bench = OperatorHarness(
        kind_of("Aggregate"), [ROW], ["n bigint"],
        parameters={"window": "tumbling, count(3)", "output": {"n": "Sum(n)"}, "spl": COUNTS},
    )  # fmt: skip
    rows = [(value,) for value in values]
    ends = list[int]()
    for part in division(rows, cuts):
        bench.send(part).mark().restart()
        ends.append(len(part) + (ends[-1] if ends else 0))
    operator: Any = bench.operator
    assert operator.logic.state == {
        "seen": len(values),
        "by": {value: values.count(value) for value in values},
        "marks": ends,
    }
    assert bench.rows() == [(sum(values[at : at + 3]),) for at in range(0, len(values) // 3 * 3, 3)]
    operator = bench.reset().operator
    assert operator.logic.state == {"seen": 0, "by": {}, "marks": []}


COLUMNS: dict[str, tuple[list[str], dict[str, Any], list[list[tuple[Any, ...]]]]] = {
    "Aggregate": (
        ["n bigint, c int"], {"window": "tumbling, count(3)", "output": {"n": "Sum(n)", "c": {"spl": "Max(In.seen)"}}},
        [[(6, 3), (15, 6)]],
    ),
    "Split": ([ROW, ROW], {"index": {"spl": "In.seen / 3"}}, [[(1,), (2,), (6,)], [(3,), (4,), (5,)]]),
    "Sort": (
        [ROW], {"window": "tumbling, count(2)", "sortBy": [{"spl": "0 - In.seen"}]},
        [[(2,), (1,), (4,), (3,), (6,), (5,)]],
    ),
    "Delay": ([ROW], {"by": "clock", "delay": 0}, [[(n,) for n in range(1, 7)]]),
}  # fmt: skip
"""Operator -> its output ports, its parameters, and the tuples of each port for the tuples 1 to 6."""


@pytest.mark.parametrize("name", COLUMNS)
@given(st.lists(st.integers(0, 50), max_size=4))
@examples(15)
def test_expressions_read_variables_as_they_are_behind_each_tuple(name: str, cuts: list[int]):
    outputs, parameters, expected = COLUMNS[name]
    parameters = parameters | {"spl": COUNTS | {"columns": ["seen"]}}
    bench = OperatorHarness(kind_of(name), [ROW], outputs, parameters=parameters)
    for part in division([(n,) for n in range(1, 7)], cuts):
        bench.send(part).restart()
    assert [bench.rows(port) for port in range(len(outputs))] == expected


@pytest.mark.parametrize("name", sorted(set(STANDARD) - {"Sql", "DataFrame"}))
def test_every_operator_may_have_logic(name: str):
    kind = kind_of(name)
    assert "spl" in kind.Parameters.model_fields
    assert "spl" in kind.free_parameters or name in ("Beacon", "Custom", "FileSource")
    if kind.Parameters.model_fields.keys() != import_operator(STANDARD[name]).Parameters.model_fields.keys():
        assert f"{kind.__module__}:{kind.__qualname__}" == f"{STANDARD[name]}{LOGIC_SUFFIX}"


def test_a_state_is_kept_where_the_variables_are_the_same():
    kind = kind_of("Split")
    changed = kind.Parameters.model_validate({"index": "n", "spl": COUNTS | {"columns": ["seen"]}})
    before, alike, other, none = (
        kind.Parameters.model_validate({"index": "n"} | ({} if logic is None else {"spl": logic}))
        for logic in (COUNTS, COUNTS | {"onTuple": {0: "seen--;"}}, {"state": "mutable int64 seen = 0l;"}, None)
    )
    assert kind.has_state(before)
    assert not kind.has_state(none)
    assert kind.keeps_state(before, alike)
    assert not kind.keeps_state(before, other)
    assert not kind.keeps_state(before, changed)
    assert not kind.keeps_state(before, none)


BEACON: dict[str, Any] = {
    "iterations": 7,
    "output": {"n": {"spl": "++made"}, "s": {"spl": "(rstring) made + word + (rstring) IterationCount()"}},
    "spl": {"state": 'mutable int32 made = 10; rstring word = "x"; mutable list<int32> kept = [1];'},
}


@given(st.lists(st.integers(1, 4), max_size=8), st.booleans())
@examples(40)
def test_a_beacon_goes_on_from_the_variables_in_its_offset(limits: list[int], restarts: bool):
    bench = OperatorHarness(Beacon, [], ["n int NOT NULL, s string NOT NULL, d double NOT NULL"], parameters=BEACON)
    offset = Beacon.initial_offset()
    for limit in [*limits, 7]:
        offset = bench.produce(offset, limit).offset
        if restarts:
            bench.restart()
    assert bench.rows() == [(n, f"{n}x{n - 11}", 0.0) for n in range(11, 18)]
    assert bench.items()[-1] == Punctuation.WINDOW
    again = OperatorHarness(Beacon, [], ["n int NOT NULL, s string NOT NULL, d double NOT NULL"], parameters=BEACON)
    again.produce(again.produce(limit=3).offset, 2)
    again.produce({"iteration": 3, "variables": {"made": 50, "word": "x", "kept": []}}, 1)
    assert [n for n, _, _ in again.rows()] == [11, 12, 13, 14, 15, 51]


SHARED = {
    "state": "mutable int32 seen = 0;",
    "onTuple": {0: "seen++;", 1: "seen++;"},
    "inputs": {"In": "", "Control": ""},
    "columns": ["seen"],
}
CONTROLLED: dict[str, dict[str, Any]] = {
    "Gate": {"maxUnackedTupleCount": 1, "numTuplesToAck": {"spl": "seen"}},
    "Switch": {"status": {"spl": "Control.seen % 2 == 1"}},
}


def controlled(name: str, events: list[int]) -> list[tuple[int]]:
    """Return the tuples that pass, tuple by tuple; an event is the port at which its number comes."""
    passed, waiting, unacked, closed = list[tuple[int]](), list[tuple[int]](), 0, False
    for seen, port in enumerate(events, 1):
        if port == 0:
            waiting.append((seen,))
        elif name == "Gate":
            unacked -= seen
        else:
            closed = seen % 2 == 1
        while waiting and (unacked < 1 if name == "Gate" else closed):
            passed.append(waiting.pop(0))
            unacked += 1
    return passed


@pytest.mark.parametrize("name", CONTROLLED)
@given(st.lists(st.integers(0, 1), max_size=14), st.sets(st.integers(0, 14)))
@examples(40)
def test_parameters_about_one_of_several_ports_read_the_variables_of_all(name: str, events: list[int], cuts: set[int]):
    bench = OperatorHarness(kind_of(name), [ROW, ROW], [ROW], parameters=CONTROLLED[name] | {"spl": SHARED})
    held: list[tuple[int]] = []
    for number, port in enumerate(events, 1):
        held.append((number,))
        if number in cuts or number == len(events) or events[number] != port:
            bench.send(held, port).restart()
            held = []
    assert bench.rows() == controlled(name, events)


def test_keys_that_are_expressions_read_variables_beside_other_keys():
    parameters = {
        "window": "tumbling, count(4)", "groupBy": [{"spl": "In.n % 2"}, {"spl": "seen / 3"}],
        "output": {"n": "Sum(n)"}, "spl": COUNTS | {"columns": ["seen"]},
    }  # fmt: skip
    bench = OperatorHarness(kind_of("Aggregate"), [ROW], ["n bigint"], parameters=parameters)
    assert bench.send([(1,), (1,), (2,), (4,)]).rows() == [(2,), (6,)]
