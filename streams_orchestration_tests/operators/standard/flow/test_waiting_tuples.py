"""Delay, Gate and Switch against queues of tuples and marks, wherever batches end and however often they are reset."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.flow.gate import Gate
from streams_orchestration.operators.standard.flow.switch import Switch
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

TIMED = "t timestamp, n bigint"
ROW = "n bigint"
CONTROL = "count int, on boolean"
BEGIN = datetime(2024, 1, 1)
MARK = "mark"
TIMES = st.lists(st.lists(st.integers(0, 12) | st.just(MARK), max_size=6), max_size=8)
ARRIVALS = st.lists(st.lists(st.none() | st.just(MARK) | st.integers(0, 4), max_size=6), max_size=10)
"""Batches: None for a tuple of input port 0, a mark on it, or a tuple of the control port."""


def at(second: int) -> datetime:
    return BEGIN + timedelta(seconds=second)


def delay(**parameters: Any) -> OperatorHarness:
    return OperatorHarness(Delay, [TIMED], [TIMED], parameters={"delay": 3, "timeAttribute": "t"} | parameters)


def gate(**parameters: Any) -> OperatorHarness:
    wanted = {"maxUnackedTupleCount": 2, "numTuplesToAck": "count"} | parameters
    return OperatorHarness(Gate, [ROW, CONTROL], [ROW], parameters=wanted)


def switch(**parameters: Any) -> OperatorHarness:
    return OperatorHarness(Switch, [ROW, CONTROL], [ROW], parameters={"status": "on"} | parameters)


def shown(harness: OperatorHarness, attribute: int) -> list[Any]:
    return [item[attribute] if isinstance(item, tuple) else MARK for item in harness.items()]


def waits(queue: deque[Any], item: Any, number: int) -> int:
    """Let a tuple of that number wait, or a mark; return the number of the next tuple."""
    queue.append(number if item is None else MARK)
    return number + (item is None)


def passed_on(queue: deque[Any], count: int) -> list[Any]:
    """So many tuples, and the marks that nothing is in front of any more."""
    out: list[Any] = []
    while queue and (queue[0] == MARK or count > 0):
        count -= queue[0] != MARK
        out.append(queue.popleft())
    return out


@given(batches=TIMES, restarts=st.booleans())
@examples(150)
def test_a_tuple_is_delayed_until_one_comes_that_is_so_much_later(batches: list[list[Any]], restarts: bool):
    harness, wanted, queue, now, number = delay(), list[Any](), deque[Any](), 0, 0
    for batch in batches:
        rows: list[Any] = []
        for item in batch:
            if item == MARK:
                harness.send(rows).mark()
                rows = []
                queue.append(MARK)
            else:
                rows.append((at(item), number))
                queue.append((item, number))
                now, number = max(now, item), number + 1
            while queue and (queue[0] == MARK or now - queue[0][0] >= 3):
                head = queue.popleft()
                wanted.append(head if head == MARK else head[1])
        harness.send(rows)
        if restarts:
            harness.restart()
    assert shown(harness, 1) == wanted
    harness.end()
    assert shown(harness, 1) == [*wanted, *(item if item == MARK else item[1] for item in queue)]


def test_tuples_that_wait_at_a_gate_may_be_dropped_at_the_end():
    assert len(gate().send([(at(0), 0), (at(0), 1), (at(0), 2)]).end().rows()) == 3
    assert len(gate(atEnd="drop").send([(at(0), 0), (at(0), 1), (at(0), 2)]).end().rows()) == 2


@given(arrivals=ARRIVALS, restarts=st.booleans())
@examples(150)
def test_a_gate_passes_as_many_tuples_as_were_acknowledged(arrivals: list[list[Any]], restarts: bool):
    harness, wanted, queue, unacked, number = gate(), list[Any](), deque[Any](), 0, 0
    for batch in arrivals:
        for port, run in runs(batch):
            for item in run:
                if item is None or item == MARK:
                    number = waits(queue, item, number)
                else:
                    unacked -= item
                room = min(2 - unacked, len([each for each in queue if each != MARK]))
                unacked += room
                wanted += passed_on(queue, room)
            feed(harness, port, run, number)
        if restarts:
            harness.restart()
    assert shown(harness, 0) == wanted
    harness.end()
    assert shown(harness, 0) == [*wanted, *queue]


@given(arrivals=ARRIVALS, closed=st.booleans(), restarts=st.booleans())
@examples(150)
def test_tuples_wait_while_a_switch_is_open(arrivals: list[list[Any]], closed: bool, restarts: bool):
    harness, wanted, queue, number = switch(initialStatus=closed), list[Any](), deque[Any](), 0
    for batch in arrivals:
        for port, run in runs(batch):
            for item in run:
                if item is None or item == MARK:
                    number = waits(queue, item, number)
                else:
                    closed = item % 2 == 1
                wanted += passed_on(queue, len(queue) if closed else 0)
            feed(harness, port, run, number)
        if restarts:
            harness.restart()
    waiting = len([item for item in queue if item != MARK])
    assert shown(harness.end(), 0) == wanted
    assert harness.metrics["dropped"] == waiting


def runs(batch: list[Any]) -> list[tuple[int, list[Any]]]:
    """Items of a batch by port: tuples of port 0 together, as those of port 1, marks alone."""
    parts: list[tuple[int, list[Any]]] = []
    for item in batch:
        port = int(item not in (None, MARK))
        if parts and parts[-1][0] == port and MARK not in (item, parts[-1][1][-1]):
            parts[-1][1].append(item)
        else:
            parts.append((port, [item]))
    return parts


def feed(harness: OperatorHarness, port: int, run: list[Any], number: int) -> None:
    """Send a run, whose last tuple of port 0 was the one before `number`."""
    if run == [MARK]:
        harness.mark()
    elif port == 0:
        harness.send([(each,) for each in range(number - len(run), number)])
    else:
        harness.send([(item, item % 2 == 1) for item in run], 1)


def test_a_reset_forgets_what_waits():
    harness = switch(initialStatus=False).send([(1,)]).reset()
    assert harness.send([(9, True)], 1).rows() == []


def test_any_number_of_64_bits_without_a_sign_may_be_acknowledged():
    harness = gate(numTuplesToAck={"spl": "18446744073709551615ul - (uint64)count"}).send([(n,) for n in range(5)])
    assert harness.rows() == [(0,), (1,)]
    assert harness.send([(1, None)], 1).restart().rows() == [(n,) for n in range(5)]


def test_acknowledging_nothing_at_all_is_bad_data():
    with pytest.raises(DataError, match="numTuplesToAck is null, but 0 or more is expected"):
        gate().send([(None, True)], 1)


def test_a_tuple_without_a_time_is_bad_data():
    with pytest.raises(DataError, match="t is null"):
        delay().send([(None, 1)])


WRONG: dict[str, tuple[type[Operator], dict[str, Any], str]] = {
    "no time": (Delay, {"timeAttribute": "n"}, "n is bigint, but a timestamp is expected"),
    "a time directory.": (Delay, {"timeAttribute": "tt"}, "no attribute tt; the nearest is t"),
    "a negative delay": (Delay, {"delay": -1}, "greater than or equal to 0"),
    "no tuple may pass": (Gate, {"maxUnackedTupleCount": 0}, "greater than 0"),
    "an expression over the data": (Gate, {"numTuplesToAck": "n"}, "uses the attribute n"),
    "a text as a number": (Gate, {"numTuplesToAck": "'a'"}, "an integer is expected"),
    "a number as a condition": (Switch, {"status": "count"}, "a condition is expected"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_delay_gate_and_switch_are_refused(case: str):
    kind, parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        {Delay: delay, Gate: gate, Switch: switch}[kind](**parameters)
