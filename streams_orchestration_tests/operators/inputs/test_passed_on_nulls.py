"""A null in a tuple that an operator hands on as it is, to an attribute that is NOT NULL, fails as `onError` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.standard import KEEPS_TYPE
from streams_orchestration.model.standard import STANDARD as SIGNATURES
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

TUPLE = "id bigint, x bigint, n bigint"
NOT_NULL = "id bigint, x bigint, n bigint NOT NULL"
FAILED = "id bigint, n bigint, reason string"
ONE_INPUT, TWO_INPUTS = 1, 2
Event = tuple[int, Row]


class Case(NamedTuple):
    """An operator that hands its tuples on.

    Attributes:
        name: of the operator.
        parameters: of the operator.
        outputs: the attributes of its output ports without the one for failed tuples.
        inputs: the number of input ports.
    """

    name: str
    parameters: dict[str, Any]
    outputs: Sequence[str] = (NOT_NULL,)
    inputs: int = ONE_INPUT

    def bench(self, action: str) -> Bench:
        """Return the operator with `onError`."""
        outputs = [*self.outputs, *([FAILED] if action == "route" else [])]
        kind = import_operator(STANDARD[self.name])
        return Bench(kind, [TUPLE] * self.inputs, outputs, onError=action, **self.parameters)


CASES = [
    Case("DeDuplicate", {"key": "x"}),
    Case("DeDuplicate", {"key": "x"}, (NOT_NULL, TUPLE)),
    Case("DeDuplicate", {"key": "x", "count": 2}, (NOT_NULL, TUPLE)),
    Case("DeDuplicate", {"key": "x", "delta": 1, "deltaAttribute": "id"}, (NOT_NULL, TUPLE)),
    Case("DynamicFilter", {"key": "x", "addKey": "x"}, (NOT_NULL, TUPLE), TWO_INPUTS),
    Case("Filter", {}),
    Case("Filter", {"filter": "x > 1"}),
    Case("Filter", {"filter": "6 DIV x > 2"}, (TUPLE, NOT_NULL)),
    Case("Functor", {}),
    Case("Functor", {"filter": "x > 1"}, (NOT_NULL, TUPLE)),
    Case("Gate", {"maxUnackedTupleCount": 2, "numTuplesToAck": "x"}, (NOT_NULL,), TWO_INPUTS),
    Case("Punctor", {"punctuate": "x > 1", "position": "after"}),
    Case("Sort", {"window": "tumbling, count(2)", "sortBy": ["x"]}),
    Case("Sort", {"window": "sliding, count(2)", "sortBy": ["6 DIV x"]}),
    Case("Split", {"index": "x"}, (NOT_NULL, TUPLE)),
    Case("Split", {"index": ["x", "6 DIV x"]}, (TUPLE, NOT_NULL, NOT_NULL)),
    Case("Switch", {"status": "x > 1"}, (NOT_NULL,), TWO_INPUTS),
]
EACH = [pytest.param(case, id=f"{case.name}-{number}") for number, case in enumerate(CASES)]


def sent(bench: Bench, events: Sequence[Event], cuts: Sequence[int] = ()) -> list[list[Any]]:
    """Return all that comes to each output port from events in batches."""
    for part in division(events, cuts):
        for port, row in part if len({port for port, _ in part}) > 1 else ():
            bench.send([row], port)
        if len({port for port, _ in part}) == 1:
            bench.send([row for _, row in part], part[0][0])
    bench.end()
    return [bench.items(port) for port in range(len(bench.context.outputs))]


def events_of(case: Case) -> st.SearchStrategy[list[Event]]:
    values = st.tuples(st.integers(0, case.inputs - 1), st.integers(0, 3), st.none() | st.integers(0, 3))
    return st.lists(values, max_size=40).map(
        lambda drawn: [(port, (number, x, n)) for number, (port, x, n) in enumerate(drawn)]
    )


def test_all_operators_that_keep_the_type_of_their_tuples_are_cases():
    assert {name for name in KEEPS_TYPE if SIGNATURES[name].routes_failures} <= {case.name for case in CASES}


@pytest.mark.parametrize("case", EACH)
@examples(30)
@given(data=st.data())
def test_a_tuple_with_a_null_that_its_port_does_not_take_has_no_other_effect(case: Case, data: st.DataObject):
    events = data.draw(events_of(case))
    cuts = data.draw(st.lists(st.integers(0, 100), max_size=4))
    routed = sent(case.bench("route"), events)
    assert routed == sent(case.bench("route"), events, cuts)
    assert routed[:-1] == sent(case.bench("skip"), events, cuts)
    failed = {id for id, _, _ in routed[-1]}
    assert all(n is None or "division by zero" in reason for _, n, reason in routed[-1])
    sound = [(port, row) for port, row in events if row[0] not in failed]
    assert routed[:-1] == sent(case.bench("fail"), sound)


@pytest.mark.parametrize("case", EACH)
def test_a_null_stops_the_application_with_onerror_fail(case: Case):
    bench = case.bench("fail")
    with pytest.raises(DataError, match=r"\bn\b.* NOT NULL"):
        sent(bench, [*((1, (i, 3, 1)) for i in range(case.inputs - 1)), *((0, (9, x, None)) for x in (1, 2, 3))])


@pytest.mark.parametrize("name", ["Gate", "Switch", "Sort"])
def test_a_null_that_stops_the_application_never_waits(name: str):
    """Else another `onError` would not help: the state would have the tuple."""
    case = next(case for case in CASES if case.name == name)
    bench = case.bench("fail")
    with pytest.raises(DataError, match="NOT NULL"):
        bench.send([(1, 1, None)])


def test_only_what_is_submitted_fails():
    rows = [(1, 1, None), (2, 2, 5), (3, 2, None)]
    filtering = Case("Filter", {"filter": "n IS NOT NULL"}, (NOT_NULL, TUPLE)).bench("route")
    filtering.send(rows)
    assert [filtering.rows(port) for port in range(3)] == [[(2, 2, 5)], [(1, 1, None), (3, 2, None)], []]
    judging = CASES[1].bench("route")
    judging.send(rows)
    reason = "n is null, but output port 0 has n NOT NULL; leave out NOT NULL, or give it a value"
    assert [judging.rows(port) for port in range(3)] == [[(2, 2, 5)], [(3, 2, None)], [(1, None, reason)]]
