"""Operators that keep tuples, and whose input is idle at times (EV51, EV62)."""

from __future__ import annotations

import pytest

from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.standard.delay import Delay
from streams_orchestration.operators.standard.gate import Gate
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.watermarks import Idle, Watermark

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


def test_the_watermark_follows_tuples_that_the_clock_lets_go():
    delay = OperatorHarness(Delay, [TUPLE], [TUPLE], parameters={"by": "clock", "delay": 5.0}, event_time=HELD)
    delay.at(100.0).send([(1, "a"), Watermark(2)]).at(104.0)
    assert delay.items() == [Watermark(1)]
    delay.at(105.0)
    assert delay.items()[1:] == [(1, "a"), Watermark(2)]
