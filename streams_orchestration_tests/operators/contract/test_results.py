"""A wrong result or submission of an operator is an error that a reset cannot mend, in the operator's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators import DataError, Operator, ProducedTo, Punctuation, TupleBatch, operator
from streams_orchestration.operators.contract.operator import PendingFile, SourceOperator
from streams_orchestration.operators.contract.results import MAX_SHOWN_CHARACTERS, described
from streams_orchestration.operators.testing import OperatorHarness

ROW = "k string, n bigint"
DATA = [("a", 1), ("b", 2)]
MAY = "a function with @operator returns or yields TupleBatches, or columns by attribute, or returns None"


def yielding(*parts: Any) -> Callable[[TupleBatch], Any]:
    def function(batch: TupleBatch) -> Any:
        yield batch
        yield from parts

    return function


def columns(**changed: Any) -> Callable[[TupleBatch], Any]:
    return lambda _: {"k": ["a", "b"], "n": [1, 2]} | changed


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: 42, f"it returned 42 (int); {MAY}"),
        (lambda batch: True, f"it returned True (bool); {MAY}"),
        (lambda batch: np.float64(1.5), f"it returned np.float64(1.5) (float64); {MAY}"),
        (lambda batch: [len(batch)], f"it returned [2] (list); {MAY}"),
        (lambda batch: "text", f"it returned 'text' (str); {MAY}"),
        (lambda batch: batch.arrow, "(RecordBatch); "),
        (lambda batch: batch.to_pylist(), "attribute k: 'a' is str, not a column of values"),
        (lambda batch: {}, "the output stream has the attributes k, n, but the function returned none"),
        (lambda batch: {1: [2]}, "the output stream has the attributes k, n, but the function returned 1"),
        (yielding(42), f"it yielded 42 (int); {MAY}"),
        (yielding(None), f"it yielded None (NoneType); {MAY}"),
        (columns(n=5), "attribute n: 5 is int, not a column of values"),
        (columns(k="ab"), "attribute k: 'ab' is str, not a column of values"),
        (columns(n={1: 2}), "attribute n: {1: 2} is dict, not a column of values"),
        (columns(n=None), "attribute n: None is NoneType, not a column of values"),
        (columns(n=[1]), "attribute n: 1 values, but 2 of k; columns are of one length"),
        (columns(n=["1", "x"]), "attribute n: a value does not fit bigint"),
        (columns(n=[1, "x"]), "attribute n: a value does not fit bigint"),
        (columns(n=[1, 2**70]), "attribute n: a value does not fit bigint"),
        (columns(n=[object(), 1]), "attribute n: a value does not fit bigint"),
        (
            lambda batch: TupleBatch(batch.arrow.select(["n"])),
            "it submits tuples of n bigint, but output port 0 has k",
        ),
    ],
)
def test_a_wrong_result_of_a_function_is_an_error_of_the_data(function: Any, message: str):
    function.__module__, function.__qualname__ = __name__, "given"
    with pytest.raises(DataError) as raised:
        OperatorHarness(operator(function), [ROW], [ROW]).send(DATA)
    assert message in str(raised.value)


def test_a_function_without_an_output_stream_gives_nothing():
    harness = OperatorHarness(operator(lambda batch: batch), [ROW])
    with pytest.raises(DataError, match="there is no output port 0; it has no output ports"):
        harness.send(DATA)


def a_class(**methods: Any) -> type[Operator]:
    return type("Mine", (Operator,), {"process": lambda *_: None} | methods)


def processing(process: Callable[[Operator, TupleBatch], Any]) -> type[Operator]:
    return a_class(process=lambda self, port, batch: process(self, batch))


def generating(self: Operator, batch: TupleBatch) -> Any:
    yield self.submit(batch)


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (lambda self, batch: self.submit(42), "it submits 42 (int); `submit` takes a TupleBatch"),
        (lambda self, batch: self.submit(batch.arrow), "(RecordBatch); `submit` takes a TupleBatch"),
        (lambda self, batch: self.submit({"k": ["a"]}), "it submits {'k': ['a']} (dict); `submit` takes a TupleBatch"),
        (lambda self, batch: self.submit(batch, 1), "there is no output port 1; there are 1, numbered from 0"),
        (lambda self, batch: self.submit(batch, -1), "there is no output port -1; there are 1"),
        (lambda self, batch: self.submit(batch, "a"), "there is no output port 'a'; there are 1"),
        (
            lambda self, batch: self.punctuate("window"),
            "it submits the mark 'window' (str); a mark must be Punctuation",
        ),
        (lambda self, batch: self.punctuate(Punctuation.WINDOW, 1), "there is no output port 1; there are 1"),
        (lambda self, batch: batch, "its `process` returned TupleBatch(2 tuples"),
        (
            lambda self, batch: [],
            "its `process` returned [] (list); `process` must return nothing, and submit its tuples:",
        ),
        (generating, "its `process` contains `yield` or is `async`, so it did not run"),
        (
            lambda self, batch: TupleBatch.from_columns({"k": ["a"]}, batch.schema),
            "no column for the attribute n; the columns are k",
        ),
    ],
)
def test_a_wrong_submission_of_a_class_is_an_error_of_the_data(process: Any, message: str):
    with pytest.raises(DataError) as raised:
        OperatorHarness(processing(process), [ROW], [ROW]).send(DATA)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("methods", "call", "message"),
    [
        ({"on_punctuation": lambda *_: 1}, OperatorHarness.end, "its `on_punctuation` returned 1 (int)"),
        ({"drain": lambda _: "done"}, OperatorHarness.checkpoint, "its `drain` returned 'done' (str)"),
        ({"checkpoint": lambda _: [1]}, OperatorHarness.checkpoint, "its `checkpoint` returned [1] (list)"),
        ({"checkpoint": lambda _: {1: 2}}, OperatorHarness.checkpoint, "its `checkpoint` returned {1: 2} (dict)"),
        ({"prepare_commit": lambda _: None}, OperatorHarness.commit, "its `prepare_commit` returned None (NoneType)"),
        ({"prepare_commit": lambda _: ("a",)}, OperatorHarness.commit, "it must return a tuple of PendingFile"),
    ],
)
def test_a_wrong_result_of_any_other_method_is_an_error_of_the_data(methods: dict[str, Any], call: Any, message: str):
    with pytest.raises(DataError) as raised:
        call(OperatorHarness(a_class(**methods), [ROW], [ROW]))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("produced", "message"),
    [
        (None, "its `produce` returned None (NoneType); it must return ProducedTo(offset, exhausted)"),
        (({}, True), "its `produce` returned ({}, True) (tuple); it must return ProducedTo(offset, exhausted)"),
        (ProducedTo(5, False), "the offset is 5 (int); an offset must be a dictionary of JSON values by name"),  # type: ignore[arg-type]
        (ProducedTo({"n": np.int64(5)}, False), "an offset must be a dictionary of JSON values by name"),
    ],
)
def test_a_wrong_result_of_a_source_is_an_error_of_the_data(produced: Any, message: str):
    kind = type("Mine", (SourceOperator,), {"produce": lambda self, offset, limit: produced})
    with pytest.raises(DataError) as raised:
        OperatorHarness(kind, [], [ROW]).produce()
    assert message in str(raised.value)


def test_right_results_of_methods_are_accepted(tmp_path: Any):
    file = PendingFile(tmp_path / "a", None, 1, 1)
    kind = a_class(prepare_commit=lambda _: (file,), checkpoint=lambda _: {"n": 1}, process=lambda *_: None)
    harness = OperatorHarness(kind, [ROW], [ROW]).send(DATA).restart()
    assert harness.commit() == (file,)


class Unshowable:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@given(st.one_of(st.text(), st.binary(), st.lists(st.integers()), st.builds(Unshowable)))
def test_any_value_is_shown_in_one_short_line(value: Any):
    text = described(value)
    assert text.endswith(f" ({type(value).__name__})")
    assert len(text) <= MAX_SHOWN_CHARACTERS + len(type(value).__name__) + 3
    assert "\n" not in text


def test_a_column_may_be_anything_that_arrow_can_read():
    schema = pa.schema([pa.field("n", pa.int64())])
    for values in ([1, 2], (1, 2), range(1, 3), np.array([1, 2]), pa.array([1, 2]), pa.chunked_array([[1], [2]])):
        assert TupleBatch.from_columns({"n": values}, schema).to_pylist() == [{"n": 1}, {"n": 2}]
