"""DynamicFilter against a set of keys; ThreadedSplit against dealing by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.standard.flow.threaded_split import ThreadedSplit
from streams_orchestration.operators.standard.transformation.dynamic_filter import DynamicFilter
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "k string, n bigint"
KEY = "name string"
KEYS = st.sampled_from(["a", "b", None])
ARRIVALS = st.lists(st.tuples(st.integers(0, 2), st.lists(KEYS, max_size=4)), max_size=12)


def dynamic_filter(inputs: int = 3, outputs: int = 2, **parameters: Any) -> OperatorHarness:
    removed = {"removeKey": "name"} if inputs == 3 else {}
    wanted = {"key": "k", "addKey": ["name"]} | removed | parameters
    return OperatorHarness(DynamicFilter, [ROW, KEY, KEY][:inputs], [ROW] * outputs, parameters=wanted)


@given(arrivals=ARRIVALS, restarts=st.booleans())
@examples(120)
def test_tuples_pass_whose_key_was_added_and_not_removed_since(arrivals: list[Any], restarts: bool):
    harness, keys, wanted = dynamic_filter(), set[Any](), ([], [])
    for number, (port, names) in enumerate(arrivals):
        if port == 0:
            harness.send([(name, number) for name in names])
            for name in names:
                wanted[name not in keys].append((name, number))
        else:
            harness.send([(name,) for name in names], port)
            keys = keys | set(names) if port == 1 else keys - set(names)
        if restarts:
            harness.restart()
    assert (harness.rows(0), harness.rows(1)) == wanted


def test_keys_may_have_several_parts_and_need_not_be_taken_back():
    harness = OperatorHarness(
        DynamicFilter, [ROW, "x string, y bigint"], [ROW], parameters={"key": ["k", "n + 1"], "addKey": ["x", "y"]}
    )
    harness.send([("a", 2)], 1).send([("a", 1), ("a", 2)])
    assert harness.rows() == [("a", 1)]


WRONG: dict[str, tuple[int, dict[str, Any], str]] = {
    "a third port without a key": (3, {"removeKey": None}, "the parameter is missing for a third input port"),
    "a key without a third port": (2, {"removeKey": "name"}, "the parameter needs a third input port"),
    "keys of other types": (2, {"key": "n"}, "addKey: .*string cannot be compared with key, which is bigint"),
    "an attribute that is not there": (2, {"key": "kk"}, "kk"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_a_dynamic_filter_are_refused(case: str):
    inputs, parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        dynamic_filter(inputs, **parameters)


@given(batches=st.lists(st.integers(0, 7), max_size=5), ports=st.integers(1, 3), restarts=st.booleans())
@examples(60)
def test_a_threaded_split_deals_in_turn_wherever_batches_end(batches: list[int], ports: int, restarts: bool):
    harness, first = OperatorHarness(ThreadedSplit, ["n bigint"], ["n bigint"] * ports), 0
    for size in batches:
        harness.send([(number,) for number in range(first, first + size)])
        first += size
        if restarts:
            harness.restart()
    for port in range(ports):
        assert harness.rows(port) == [(number,) for number in range(port, first, ports)]
