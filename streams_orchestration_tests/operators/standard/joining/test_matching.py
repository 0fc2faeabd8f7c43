"""Barrier and Pair against queues of what waits at each port."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.joining.barrier import Barrier
from streams_orchestration.operators.standard.joining.pair import Pair
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "k string, n bigint"
BOTH = "k string, first bigint, second bigint, third bigint"
ARRIVALS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 9)), max_size=4)),
    max_size=10,
)


def sets(arrivals: list[Any], *, keyed: bool) -> list[list[Any]]:
    """Return the tuples that belong together, in the order in which they became complete."""
    queues = defaultdict[Any, list[deque[Any]]](lambda: [deque(), deque(), deque()])
    complete: list[list[Any]] = []
    for port, rows in arrivals:
        for row in rows:
            waiting = queues[row[0] if keyed else ""]
            waiting[port].append(row)
            if all(waiting):
                complete.append([each.popleft() for each in waiting])
    return complete


def pair(**parameters: Any) -> OperatorHarness:
    return OperatorHarness(Pair, [ROW] * 3, [ROW], parameters=parameters)


def barrier(**parameters: Any) -> OperatorHarness:
    output = {"k": "in0_k", "first": "in0_n", "second": "in1_n", "third": "in2_n"}
    return OperatorHarness(Barrier, [ROW] * 3, [BOTH], parameters={"output": output} | parameters)


@given(arrivals=ARRIVALS, keyed=st.booleans(), restarts=st.booleans())
@examples(120)
def test_pair_gives_the_tuples_of_a_set_one_behind_the_other(arrivals: list[Any], keyed: bool, restarts: bool):
    harness = pair(**({"partitionBy": ["k"]} if keyed else {}))
    for port, rows in arrivals:
        harness.send(rows, port)
        if restarts:
            harness.restart()
    wanted = sets(arrivals, keyed=keyed)
    assert harness.end().rows() == [row for each in wanted for row in each]
    assert [what for _, what in harness.sent].count(Punctuation.WINDOW) == len(wanted)


@given(arrivals=ARRIVALS, keyed=st.booleans(), restarts=st.booleans())
@examples(120)
def test_barrier_gives_a_tuple_for_each_set(arrivals: list[Any], keyed: bool, restarts: bool):
    harness = barrier(**({"partitionBy": [["k"], ["k"], ["k"]]} if keyed else {}))
    for port, rows in arrivals:
        harness.send(rows, port)
        if restarts:
            harness.restart()
    wanted = sets(arrivals, keyed=keyed)
    assert harness.end().rows() == [(a[0], a[1], b[1], c[1]) for a, b, c in wanted]


def test_attributes_that_one_port_has_go_by_their_names():
    harness = OperatorHarness(Barrier, ["k string, x int", "k string, y int"], ["x int, y int"])
    assert harness.send([("a", 1)]).send([("b", 2)], 1).rows() == [(1, 2)]


def test_keys_of_other_names():
    parameters = {"partitionBy": [["k"], ["key"]]}
    harness = OperatorHarness(Pair, [ROW, "key string, n bigint, k string"], [ROW], parameters=parameters)
    harness.send([("a", 1), ("b", 2)]).send([("b", 3, "z")], 1)
    assert harness.rows() == [("b", 2), ("z", 3)]


WRONG: dict[str, tuple[type, list[str], dict[str, Any], str]] = {
    "a key that is not there": (Pair, [ROW, ROW], {"partitionBy": ["kk"]}, "input port 0 has no attribute kk"),
    "a key for some ports": (
        Pair,
        [ROW, ROW],
        {"partitionBy": [["k"]]},
        "each of the 2 input ports needs the same",
    ),
    "keys of other types": (Pair, [ROW, ROW], {"partitionBy": [["k"], ["n"]]}, "n of input port 1 is bigint"),
    "streams that do not fit": (Pair, [ROW, "k string"], {}, "input port 1: output: n has no value"),
    "a name of two ports": (Barrier, [ROW, ROW], {}, "k has no value"),
    "an attribute that is not there": (Barrier, [ROW, ROW], {"output": {"k": "in0_kk", "n": "in0_n"}}, "in0_kk"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_barrier_and_pair_are_refused(case: str):
    kind, inputs, parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        OperatorHarness(kind, inputs, [ROW], parameters=parameters)
