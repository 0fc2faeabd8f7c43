"""Every nanosecond of a task is paid once: an operator pays for itself, not for those that it calls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.tasks import meter as meters
from streams_orchestration.runtime.tasks.meter import Meter, NoMeter

BATCH = TupleBatch(pa.record_batch({"k": ["a", "bc"], "n": [1, 2]}))
SEGMENT = Segment("S", "/S", 2, 100, 0)
Calls = tuple[int, list["Calls"]]

calls: st.SearchStrategy[Calls] = st.recursive(
    st.tuples(st.integers(0, 3), st.just([])),
    lambda inner: st.tuples(st.integers(0, 3), st.lists(inner, max_size=3)),
    max_leaves=20,
)


def program() -> PeProgram:
    operators = {
        index: OperatorProgram(index, f"Op{index}", "", {}, (), (), (), -1, 0, -1, 0, False, False, (), ())
        for index in range(4)
    }
    return PeProgram("app", 0, "region-0", True, False, operators, (), {})


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock that moves on by one whenever somebody readings."""
    monkeypatch.setattr(meters, "clock", itertools.count().__next__)
    yield


@given(trees=st.lists(calls, min_size=1, max_size=4))
def test_the_parts_are_the_whole_however_operators_call_each_other(ticking: None, trees: list[Calls]):
    began = meters.clock() + 1
    meter = Meter(program())
    readings: dict[int, int] = dict.fromkeys(range(4), 0)

    def call(tree: Calls) -> None:
        operator, inner = tree
        paying = meter.enter(operator)
        for each in inner:
            call(each)
        meter.switch(paying)
        # one tick until the first call in it, and one after each of them
        readings[operator] += 1 + len(inner)

    for tree in trees:
        call(tree)
    actual = meter.counts({}, {}, {})
    assert {n: meter.operators[n].cpu for n in readings} == readings
    assert actual["tasks"]["cpu_ns"] + sum(readings.values()) == meters.clock() - 1 - began


@pytest.mark.usefixtures("ticking")
def test_reading_and_writing_are_paid_by_what_is_read_and_written():
    meter = Meter(program())
    for _ in meter.reading(SEGMENT, iter([BATCH, Punctuation.WINDOW, BATCH])):
        meter.switch(meter.enter(0))
    meter.writing("T", lambda: SEGMENT)
    actual = meter.counts({}, {}, {})
    assert actual["read"] == {"S": {"tuples": 4, "bytes": 100, "segments": 1, "deserialise_ns": 4}}
    assert actual["written"] == {"T": {"tuples": 2, "bytes": 100, "segments": 1, "serialise_ns": 1}}
    assert actual["operators"]["Op0"]["cpu_ns"] == 3


def test_ports_count_tuples_batches_bytes_and_marks():
    meter = Meter(program())
    for item in (BATCH, Punctuation.WINDOW, BATCH):
        meter.arrives(1, 2, item)
    meter.submits(1, 0, Punctuation.FINAL)
    meter.takes_marks(1, 2, 3)
    meter.passes_marks(1, 0, 5)
    actual = meter.counts({}, {}, {})["operators"]["Op1"]
    assert actual["calls"] == 3
    assert actual["inputs"] == {"2": {"tuples": 4, "batches": 2, "bytes": 2 * BATCH.nbytes, "marks": 4}}
    assert actual["outputs"] == {"0": {"tuples": 0, "batches": 0, "bytes": 0, "marks": 6}}
    assert BATCH.nbytes == 2 * (8 + 4) + len("abc")


def test_a_wait_is_from_entering_to_leaving_summed_over_the_items(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(meters.world, "now_ns", iter([10, 20, 100, 101]).__next__)
    sender, receiver = Meter(program()), Meter(program())
    for _ in range(2):
        sender.enqueues(3, 0)
    for _ in range(2):
        receiver.dequeues(3, 0)
    waits = [meter.counts({}, {}, {})["queues"]["Op3:0"]["wait_ns"] for meter in (sender, receiver)]
    assert sum(waits) == (100 - 10) + (101 - 20)


def test_an_error_leaves_the_right_one_paying(ticking: None):
    meter = Meter(program())
    with pytest.raises(ZeroDivisionError):
        meter.charge(meter.operators[0], lambda: 1 // 0)
    assert meter.switch(meter.task) is meter.task


def test_switched_off_it_does_what_it_is_asked_and_counts_nothing():
    meter = NoMeter(program())
    meter.arrives(0, 0, BATCH)
    meter.submits(0, 0, BATCH)
    meter.passes_marks(0, 0, 3)
    meter.takes_marks(0, 0, 3)
    assert list(meter.reading(SEGMENT, iter([BATCH]))) == [BATCH]
    assert list(meter.receiving(0, 0, iter([BATCH]), 10)) == [BATCH]
    assert meter.writing("T", lambda: SEGMENT) is SEGMENT
    sent: list[int] = []
    meter.sending(0, 0, BATCH, lambda: sent.append(1))
    assert sent == [1]
    assert meter.sent_all(0, 0, lambda: (b"x", 1)) == b"x"
    assert meter.charge(meter.operators[0], lambda: 7) == 7
    assert meter.counts({1: 2}, {}, {}) == {}
