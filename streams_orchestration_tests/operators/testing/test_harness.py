"""The test kit treats an operator as the runtime does."""

from __future__ import annotations

import pytest

from streams_orchestration.operators import Operator, Punctuation, TupleBatch
from streams_orchestration.operators.errors.errors import ConstTupleError
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.states import state
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.runtime.sample_operators import Holding

ROW = "k string, n bigint"
COUNT = {"window": "tumbling, punct()", "output": {"n": "Count()"}}


class Writing(Operator):
    def process(self, port: int, batch: TupleBatch) -> None:
        batch.writable("n")


class Forgetful(Operator):
    stateful = True

    def setup(self) -> None:
        self.count = 0

    def process(self, port: int, batch: TupleBatch) -> None:
        self.count += len(batch)


def counting() -> OperatorHarness:
    return OperatorHarness(Aggregate, [ROW], ["n bigint"], parameters=COUNT)


def test_tuples_are_const_behind_a_port_that_does_not_mutate():
    with pytest.raises(ConstTupleError):
        OperatorHarness(Writing, [ROW]).send([("a", 1)])


def test_outputs_are_kept_by_port_with_their_marks():
    harness = OperatorHarness(Filter, [ROW], [ROW, ROW], parameters={"filter": "n > 1"})
    harness.send([("a", 1), ("b", 2)]).send([("c", 3)])
    assert harness.rows(0) == [("b", 2), ("c", 3)]
    assert harness.rows(1) == [("a", 1)]
    assert [len(batch) for batch in harness.batches(0)] == [1, 1]
    assert counting().send([("a", 1)]).mark().end().items() == [(1,), Punctuation.WINDOW]


def test_a_restart_keeps_what_a_checkpoint_holds_and_nothing_else():
    assert counting().send([("a", 1)]).restart().send([("b", 1)]).end().rows() == [(2,)]
    forgetful = OperatorHarness(Forgetful, [ROW]).send([("a", 1)]).restart()
    assert getattr(forgetful.operator, "count") == 0  # noqa: B009


def test_going_back_to_an_older_checkpoint_forgets_what_came_after():
    harness = counting().send([("a", 1)])
    stored = harness.checkpoint()
    assert harness.send([("b", 1)]).restart(stored).end().rows() == [(1,)]


def test_going_back_to_the_beginning_forgets_everything():
    assert counting().send([("a", 1)]).reset().end().rows() == []


def test_a_checkpoint_drains_first():
    harness = OperatorHarness(Holding, [ROW], [ROW]).send([("a", 1)])
    assert harness.rows() == []
    assert harness.restart().rows() == [("a", 1)]


def test_a_restart_goes_through_what_changed_where_that_is_stored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state, "SMALL", 0)
    harness = OperatorHarness(DeDuplicate, [ROW], [ROW], parameters={"key": "n"})
    harness.send([("a", n) for n in range(1000)]).restart().send([("a", 1000)])
    stored = harness.checkpoint()
    assert len(stored) == 2
    harness.send([("a", 1001)]).restart(stored).send([("b", 999), ("b", 1000), ("b", 1001)])
    assert harness.rows()[-1] == ("b", 1001)
    assert len(harness.reset().checkpoint()) == 1
