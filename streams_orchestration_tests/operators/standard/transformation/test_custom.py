"""Custom: functions of the application, with state that a checkpoint holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

HERE = "streams_orchestration_tests.operators.custom_functions"
ROW = "k string, n bigint"
DATA = [("a", 5), ("b", -1), ("c", 0)]


def bench(function: str, ports: int = 1, **parameters: Any) -> Bench:
    return Bench(Custom, [ROW] * 2, [ROW] * ports, function=f"{HERE}:{function}", **parameters)


def test_the_state_is_kept_between_batches_and_over_restarts():
    custom = bench("numbered").send(DATA).restart().send(DATA[:1])
    assert [n for _, n in custom.rows()] == [0, 1, 2, 3]


def test_the_state_begins_as_the_parameters_say_and_again_after_a_reset():
    custom = bench("numbered", state={"count": 7}).send(DATA[:1]).reset().send(DATA[:1])
    assert [n for _, n in custom.rows()] == [7, 7]


def test_a_state_that_was_emptied_is_empty_after_a_restart():
    assert bench("forget", state={"on": True}).send(DATA[:1]).restart().send(DATA).rows() == DATA[:1]


def test_outputs_go_to_the_ports_that_the_function_names():
    custom = bench("by_sign", 2, arguments={"marked": 1}).send(DATA, 0).send(DATA, 1)
    assert custom.items(0) == [("a", 5)] * 2
    assert custom.items(1) == [*DATA[1:], *DATA[1:], Punctuation.WINDOW]


def test_marks_have_a_function_of_their_own():
    custom = bench("numbered", onPunctuation=f"{HERE}:total").send(DATA).mark().end()
    assert custom.rows()[3:] == [("window", 3), ("final", 3), ("final", 3)]


def test_window_markers_go_on_without_a_function_for_them():
    assert bench("numbered").mark().end().items() == [Punctuation.WINDOW]


def test_a_custom_may_write_to_its_tuples():
    custom = bench("double")
    schema = custom.context.inputs[0]
    custom.operator.process(0, TupleBatch.from_columns({"k": ["a"], "n": [4]}, schema))
    assert custom.rows() == [("a", 8)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"function": "numbered"}, "function: numbered: package.module:name is expected"),
        ({"function": f"{HERE}:numbred"}, "function: .*has no numbred.*numbered"),
        ({"function": f"{HERE}x:numbered"}, "function: .*cannot be imported"),
        ({"function": f"{HERE}:SOMETHING"}, "function: .* is not a function"),
        ({"function": f"{HERE}:itself"}, "function: .* is an operator itself"),
        ({"function": f"{HERE}:wanting"}, "function: .* takes everything, but .* batch, port, state, arguments"),
        ({"function": f"{HERE}:total"}, "function: .* takes mark"),
        ({"onPunctuation": f"{HERE}:numbered"}, "onPunctuation: .* takes batch, but can take only mark, port"),
        ({"state": {"x": {1, 2}}}, "state: .*set"),
    ],
)
def test_wrong_parameters_of_custom_are_refused(parameters: dict[str, Any], message: str):
    given: dict[str, Any] = {"function": f"{HERE}:numbered"} | parameters
    with pytest.raises(ValueError, match=message):
        Bench(Custom, [ROW], [ROW], **given)


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_a_custom_runs_in_an_application(tmp_path: Path, limit: int):
    file = write_rows(tmp_path / "rows.parquet", 30)
    custom = node("Numbered", "Custom", "Rows", parameters={"function": f"{HERE}:numbered"})
    graph = [source("Rows", file), custom, sink("Out", "Numbered")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), limit)
    local.run()
    assert published(local.published("Out")) == sorted((k, i) for i, (k, _) in enumerate(rows(30)))


def tuples(function: str, **parameters: Any) -> Bench:
    return Bench(Custom, [ROW], [ROW] * 2, onTuple=f"{HERE}:{function}", **parameters)


def test_a_function_of_a_tuple_gives_tuples_and_marks_in_order():
    custom = tuples("each", arguments={"marked": "b"}).send(DATA[:2]).restart().send(DATA[2:])
    assert custom.items(0) == [*DATA[:2], Punctuation.WINDOW, DATA[2]]
    assert custom.rows(1) == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"k": "b"}, "the output stream has the attributes k, n, but the function returned k"),
        ({"k": "b", "n": "x"}, "attribute n: a value does not fit bigint"),
        ([1], "it returned [1] (list); onTuple of Custom returns or yields tuples, each a dictionary"),
        (42, "it returned 42 (int); onTuple of Custom returns or yields tuples"),
        ((0, {"k": "b", "n": 1}, 0), "it returned (0, {'k': 'b', 'n': 1}, 0) (tuple); onTuple of Custom returns"),
        ([(2, {"k": "b", "n": 1})], "there is no output port 2; there are 2"),
    ],
)
def test_a_wrong_result_of_a_function_is_an_error_at_its_tuple(result: Any, message: str):
    with pytest.raises(TupleError) as raised:
        tuples("given", arguments={"b": result}).send(DATA)
    assert raised.value.position == 1
    assert isinstance(raised.value.__cause__, DataError)
    assert message in str(raised.value.__cause__)


@pytest.mark.parametrize("given", [{}, {"function": f"{HERE}:numbered", "onTuple": f"{HERE}:each"}])
def test_a_custom_has_a_function_of_batches_or_of_tuples(given: dict[str, Any]):
    with pytest.raises(ValueError, match=r"one of the parameters function \(for batches\), onTuple and spl"):
        Bench(Custom, [ROW], [ROW], **given)
