"""The watermarks of operators that keep tuples, also while their input is idle (EV41, EV51, EV62)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.flow.gate import Gate
from streams_orchestration.operators.standard.flow.merge import Merge
from streams_orchestration.operators.standard.flow.switch import Switch
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.testing import OperatorHarness, Row, same_at_any_division
from streams_orchestration.operators.tuples.watermarks import END, Idle, Watermark

TUPLE = "at bigint, k string"
HELD = EventTimeRole("at", 1000, "heldInput", 0, 0, (0,), (0,))


@pytest.fixture
def gate() -> OperatorHarness:
    """A Gate that lets one tuple through until it is acknowledged."""
    return OperatorHarness(
        Gate, [TUPLE, "n bigint"], [TUPLE], parameters={"maxUnackedTupleCount": 1}, event_time=HELD
    )  # fmt: skip


@pytest.mark.parametrize("restarts", [False, True])
def test_an_operator_is_idle_as_soon_as_it_lets_its_last_tuple_go(gate: OperatorHarness, restarts: bool):
    gate.send([(1, "a"), Watermark(1), (5, "b"), Watermark(5), Idle()])
    assert gate.items() == [(1, "a"), Watermark(1), Watermark(5)]
    if restarts:
        gate.restart()
    gate.send([(1,)], 1)
    assert gate.items()[3:] == [(5, "b"), Idle()]
    gate.send([(1,)], 1)
    assert gate.items()[5:] == []


@pytest.mark.parametrize("restarts", [False, True])
def test_an_idle_operator_that_keeps_a_tuple_is_idle_no_more(gate: OperatorHarness, restarts: bool):
    gate.send([(1, "a"), Watermark(1), Idle()])
    assert gate.items() == [(1, "a"), Watermark(1), Idle()]
    if restarts:
        gate.restart()
    gate.send([(3, "b")])
    assert gate.items()[3:] == [Watermark(1)]
    gate.send([Watermark(7), Idle()])
    assert gate.items()[4:] == [Watermark(3)]
    gate.send([(1,)], 1)
    assert gate.items()[5:] == [(3, "b"), Watermark(7), Idle()]


def test_the_watermark_follows_tuples_that_a_control_stream_in_event_time_lets_go():
    role = EventTimeRole("at", 1000, "heldInput", 0, 0, (0, 1), (0,))
    switch = OperatorHarness(Switch, [TUPLE, TUPLE], [TUPLE], parameters={"status": "k = 'on'"}, event_time=role)
    switch.send([(3, "a"), (5, "b"), Watermark(20)]).send([Watermark(10), (11, "off")], 1)
    assert switch.items() == [Watermark(3)]
    switch.send([(12, "off"), (13, "on"), (14, "on")], 1)
    assert switch.items()[1:] == [(3, "a"), (5, "b"), Watermark(10)]


@pytest.mark.parametrize("in_event_time", [False, True])
def test_the_watermark_follows_each_tuple_that_one_of_several_acknowledgements_lets_go(in_event_time: bool):
    role = EventTimeRole("at", 1000, "heldInput", 0, 0, (0, 1) if in_event_time else (0,), (0,))
    gate = OperatorHarness(Gate, [TUPLE, TUPLE], [TUPLE], parameters={"maxUnackedTupleCount": 1}, event_time=role)
    gate.send([(1, "a"), (5, "b"), (9, "c"), Watermark(20)])
    if in_event_time:
        gate.watermark(20, 1)
    gate.send([(20, "ack"), (21, "ack")], 1)
    assert gate.items() == [(1, "a"), Watermark(5), (5, "b"), Watermark(9), (9, "c"), Watermark(20)]


def test_the_watermark_follows_tuples_that_the_clock_lets_go():
    delay = OperatorHarness(Delay, [TUPLE], [TUPLE], parameters={"by": "clock", "delay": 5.0}, event_time=HELD)
    delay.at(100.0).send([(1, "a"), Watermark(2)]).at(104.0)
    assert delay.items() == [Watermark(1)]
    delay.at(105.0)
    assert delay.items()[1:] == [(1, "a"), Watermark(2)]


def test_the_watermark_follows_tuples_that_a_marker_lets_go():
    sort = OperatorHarness(
        Sort, [TUPLE], [TUPLE], parameters={"window": "tumbling, punct()", "sortBy": ["k"]}, event_time=HELD
    )  # fmt: skip
    sort.send([(3, "b"), (1, "a"), Watermark(2)]).mark()
    assert sort.items() == [Watermark(1), (1, "a"), (3, "b"), Punctuation.WINDOW, Watermark(2)]


def test_a_marker_leaves_a_delay_with_its_tuples_and_in_front_of_the_watermark():
    delay = OperatorHarness(Delay, [TUPLE], [TUPLE], parameters={"by": "watermark", "delay": 0.003}, event_time=HELD)
    delay.send([(12, "a")]).mark().send([Watermark(14), Watermark(15), Watermark(19)])
    assert delay.items() == [Watermark(12), (12, "a"), Punctuation.WINDOW, Watermark(15), Watermark(19)]


KEEPING: dict[str, tuple[type[Operator], list[str], dict[str, Any]]] = {
    "Sort of counts": (Sort, [TUPLE], {"window": "tumbling, count(3)", "sortBy": ["k"]}),
    "sliding Sort": (Sort, [TUPLE], {"window": "sliding, count(3)", "sortBy": ["k"]}),
    "Sort by time": (Sort, [TUPLE], {"window": "eventTime"}),
    "Delay": (Delay, [TUPLE], {"by": "watermark", "delay": 0.003}),
    "Gate": (Gate, [TUPLE, "n bigint"], {"maxUnackedTupleCount": 2}),
    "Gate with acknowledgements in event time": (Gate, [TUPLE, TUPLE], {"maxUnackedTupleCount": 2}),
    "Switch": (Switch, [TUPLE, TUPLE], {"status": "k = 'a'"}),
    "Merge": (Merge, [TUPLE, TUPLE], {"orderBy": "at"}),
}


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("seed", range(2))
def test_places_of_watermarks_do_not_depend_on_where_batches_end(name: str, seed: int):
    kind, inputs, parameters = KEEPING[name]
    random, times = Random(f"{name} {seed}"), [0] * len(inputs)
    timed = [port for port, ddl in enumerate(inputs) if ddl == TUPLE]
    arrivals: list[tuple[int, Row | Watermark | Punctuation]] = []
    for _ in range(30):
        port, chosen = random.randrange(len(inputs)), random.random()
        if port not in timed:
            arrivals.append((port, (1,)))
        elif chosen < 0.6:
            arrivals.append((port, (times[port] + random.randint(-3, 6), random.choice("ab"))))
        elif chosen < 0.95:
            times[port] += random.randint(0, 4)
            arrivals.append((port, Watermark(times[port])))
        else:
            arrivals.append((port, Punctuation.WINDOW))
    arrivals += [(port, Watermark(END)) for port in timed]
    outputs = [TUPLE, TUPLE] if name == "Sort by time" else [TUPLE]
    role = EventTimeRole("at", 1000, "heldInput", 0, 0, tuple(timed), tuple(range(len(outputs))))
    same_at_any_division(
        lambda: OperatorHarness(kind, inputs, outputs, parameters=parameters, event_time=role),
        arrivals,
        tries=8,
        seed=seed,
    )
