"""A Custom with `onProcess` as a source: it goes on from any offset, and says where it fails."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.transformation.custom_source import CustomSource, CustomSourceParameters

PROGRAM = """{
  for (int32 i in range(6)) { n += i; submit({n = n}, Out); if (i == 3) submit(Sys.WindowMarker, Out); block(0.0); }
}"""


def source(program: str, out: list[Any]) -> CustomSource:
    """Return a source whose tuples and marks go into a list."""
    context = OperatorContext.declared("Out", (), ("n int NOT NULL",))
    context.submit = lambda _port, batch: out.extend(batch.arrow.column("n").to_pylist())
    context.punctuate = lambda _port, mark: out.append(mark.value)
    logic = {"state": "mutable int32 n = 0;", "onProcess": program}
    made = CustomSource(context, CustomSourceParameters.model_validate({"spl": logic}))
    made.setup()
    return made


def all_from(made: CustomSource, offset: dict[str, Any], limit: int) -> None:
    """Let a source produce to its end."""
    exhausted = False
    while not exhausted:
        offset, exhausted = made.produce(offset, limit)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_tuples_and_marks_are_the_same_whatever_the_batches(limit: int):
    out: list[Any] = []
    all_from(source(PROGRAM, out), CustomSource.initial_offset(), limit)
    assert out == [0, 1, 3, 6, "window", 10, 15]


@pytest.mark.parametrize("done", range(8))
def test_a_new_run_goes_on_behind_an_offset(done: int):
    out: list[Any] = []
    all_from(source(PROGRAM, out), {"submissions": done}, 2)
    assert out == [0, 1, 3, 6, "window", 10, 15][done:]


def test_a_source_that_submits_less_in_a_new_run_fails():
    with pytest.raises(DataError, match="submitted 9 times before the restart, but only 7 times"):
        source(PROGRAM, []).produce({"submissions": 9}, 10)


def test_an_operation_without_a_value_ends_the_run_and_says_so():
    with pytest.raises(DataError, match="the index is outside"):
        source("{ list<int32> l = [1]; submit({n = l[4]}, Out); }", []).produce({"submissions": 0}, 10)


def test_block_pauses_the_source_and_no_tuple_comes_before_its_end():
    out: list[Any] = []
    made = source("{ submit({n = 1}, Out); block(3600.0); submit({n = 2}, Out); }", out)
    offset, exhausted = made.produce(CustomSource.initial_offset(), 10)
    again = made.produce(offset, 10)
    assert (out, exhausted, again.offset, again.exhausted) == ([1], False, offset, False)
    assert 0 < made.pause() <= 3600
