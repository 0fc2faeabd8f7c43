"""Split, Union, Punctor and Throttle: tuples go elsewhere, together, apart and slowly."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.flow.split import Split
from streams_orchestration.operators.standard.flow.throttle import Throttle
from streams_orchestration.operators.standard.flow.union import Union
from streams_orchestration.operators.standard.transformation.punctor import Punctor
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.stepped_clock import SteppedClock

ROW = "k string, n bigint"
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), st.one_of(st.none(), st.integers(-9, 9))), max_size=12)
CUTS = st.lists(st.integers(0, 100), max_size=4)
WINDOW = Punctuation.WINDOW


@given(ROWS, CUTS)
@examples(40)
def test_an_index_is_taken_modulo_the_ports_and_negative_ones_go_nowhere(data: list[Row], cuts: list[int]):
    split = Bench(Split, [ROW], [ROW] * 3, index="n")
    for part in division(data, cuts):
        split.send(part)
    expected = [[row for row in data if row[1] is not None and row[1] >= 0 and row[1] % 3 == p] for p in range(3)]
    assert [split.rows(port) for port in range(3)] == expected


def test_several_indexes_send_a_tuple_to_several_ports_but_to_none_twice():
    split = Bench(Split, [ROW], [ROW] * 3, index=["n", "n + 1", 2]).send([("a", 0), ("b", 2)])
    assert [split.rows(port) for port in range(3)] == [[("a", 0), ("b", 2)], [("a", 0)], [("a", 0), ("b", 2)]]


@pytest.mark.parametrize("written", ["18446744073709551615ul - (uint64)n", "[18446744073709551615ul - (uint64)n]"])
def test_an_index_of_64_bits_without_a_sign_is_taken_modulo_the_ports(written: str):
    split = Bench(Split, ["n bigint"], ["n bigint"] * 3, index={"spl": written}).send([(0,), (1,), (2,), (3,)])
    assert [split.rows(port) for port in range(3)] == [[(0,), (3,)], [(2,)], [(1,)]]


def test_a_port_that_is_named_twice_may_get_a_tuple_twice(tmp_path: Path):
    split = Bench(Split, [ROW], [ROW] * 2, index=["n", "n + 2", 1], repeat=True).send([("a", 0), ("b", 1), ("c", -1)])
    assert split.rows() == [("a", 0), ("a", 0)]
    assert split.rows(1) == [("a", 0), ("b", 1), ("b", 1), ("b", 1), ("c", -1), ("c", -1)]
    (tmp_path / "ports.csv").write_text("a,0,0,1\n")
    split = Bench(Split, [ROW], [ROW] * 2, tmp_path, file="ports.csv", key="k", repeat=True, unlisted="fail")
    assert split.send([("a", 5)]).rows() == [("a", 5)] * 2
    with pytest.raises(DataError, match=r"key: ports\.csv has no line for 'b', and no `default`"):
        split.send([("b", 5)])


def test_a_file_maps_keys_to_ports(tmp_path: Path):
    (tmp_path / "ports.csv").write_text('a,0,1\n"b, c", 2\ndefault,2\n')
    data = [("a", 1), ("b, c", 2), ("d", 3), (None, 4)]
    split = Bench(Split, [ROW], [ROW] * 3, tmp_path, file="ports.csv", key="k").send(data)
    assert [split.rows(port) for port in range(3)] == [data[:1], data[:1], data[1:]]


def test_indexes_in_a_file_are_modulo_the_ports_and_comments_are_left_out(tmp_path: Path):
    (tmp_path / "ports.csv").write_text('# airlines\n\ndefault, -1 # drop the others\na, 3, 1\n"#b", 2# two\n')
    data = [("a", 1), ("#b", 2), ("c", 3)]
    split = Bench(Split, [ROW], [ROW] * 2, tmp_path, file="ports.csv", key="k", unlisted="fail", repeat=True).send(data)
    assert [split.rows(port) for port in range(2)] == [[("#b", 2)], [("a", 1), ("a", 1)]]


def test_a_key_without_a_port_and_without_a_default_goes_nowhere(tmp_path: Path):
    (tmp_path / "ports.csv").write_text("1,0\n2,1\n")
    split = Bench(Split, [ROW], [ROW] * 2, tmp_path, file="ports.csv", key="n").send([("a", 1), ("b", 2), ("c", 3)])
    assert [split.rows(port) for port in range(2)] == [[("a", 1)], [("b", 2)]]


@given(ROWS, CUTS, st.sampled_from(["before", "after"]))
@examples(40)
def test_a_punctor_marks_every_tuple_that_meets_the_condition(data: list[Row], cuts: list[int], position: str):
    punctor = Bench(Punctor, [ROW], [ROW], punctuate="n > 3", position=position)
    for part in division(data, cuts):
        punctor.send(part)
    expected: list[Any] = []
    for row in data:
        marked = row[1] is not None and row[1] > 3
        expected += [WINDOW, row] if marked and position == "before" else [row, WINDOW] if marked else [row]
    assert punctor.items() == expected


def test_a_punctor_computes_like_a_functor():
    punctor = Bench(Punctor, [ROW], ["n bigint"], punctuate="n = 1", position="after", output={"n": "n * 10"})
    assert punctor.send([("a", 1), ("b", 2)]).items() == [(10,), WINDOW, (20,)]


def test_a_union_takes_over_by_name():
    union = Bench(Union, [ROW, "n int, more double, k string"], ["n bigint, k string"])
    union.send([("a", 1)]).send([(2, 0.5, "b")], 1).send([("c", 3)])
    assert union.rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_a_throttle_pauses_for_as_long_as_its_tuples_may_take(stepped_sleep: SteppedClock):
    bench = Bench(Throttle, [ROW], [ROW], rate=4)
    bench.send([("a", 1)] * 2)
    stepped_sleep.now += 0.25
    bench.send([("a", 1)] * 2)
    stepped_sleep.now += 100
    bench.send([("a", 1)])
    assert stepped_sleep.pauses == [0.5, 0.5, 0.25]
    assert len(bench.rows()) == 5


def test_a_throttle_never_holds_up_its_task_for_long_but_says_so(
    stepped_sleep: SteppedClock, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        Bench(Throttle, [ROW], [ROW], rate=2).send([("a", 1)] * 100).send([("a", 1)])
    assert stepped_sleep.pauses == [5.0, 0.5]
    assert "set STREAMS_SOURCE_LIMIT to at most 10" in caplog.text


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "parameters", "message"),
    [
        (Split, [ROW], [ROW], {}, "either the parameter index, or file and key"),
        (Split, [ROW], [ROW], {"index": "n", "key": "k"}, "either the parameter index, or file and key"),
        (Split, [ROW], [ROW], {"index": "m"}, "index: 'm' uses the attribute m"),
        (Split, [ROW], [ROW], {"index": "k"}, "index: 'k' is .*string.*, but an integer is expected"),
        (Split, [ROW], [ROW], {"key": "n * 0.5", "file": "absent"}, "key: .*a text or an integer"),
        (Split, [ROW], [ROW], {"key": "k", "file": "absent"}, "absent: no such file"),
        (Union, [ROW, "k string"], [ROW], {}, "input port 1: the stream lacks the attribute n"),
        (Union, [ROW, "k string, n double"], [ROW], {}, "input port 1: output.n: the value is double"),
        (Punctor, [ROW], [ROW], {"punctuate": "n", "position": "after"}, "punctuate: 'n' is bigint, but a condition"),
        (Punctor, [ROW], [ROW], {"punctuate": "n = 1", "position": "amid"}, "'before' or 'after'"),
        (Throttle, [ROW], [ROW], {"rate": 0}, "greater than 0"),
        (Throttle, [ROW], [ROW], {}, "rate"),
    ],
)
def test_wrong_parameters_of_operators_of_flow_are_refused(
    kind: type[Operator], inputs: list[str], outputs: list[str], parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        Bench(kind, inputs, outputs, **parameters)


@pytest.mark.parametrize("line", ["a,1.5", "a,x", "a", "# a,1"])
def test_a_mapping_that_names_no_index_is_refused(tmp_path: Path, line: str):
    (tmp_path / "ports.csv").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"file: .*ports.csv"):
        Bench(Split, [ROW], [ROW] * 2, tmp_path, file="ports.csv", key="k")


def test_split_union_punctor_and_throttle_run_together_in_an_application(tmp_path: Path):
    """Split apart and put together again, every tuple is there once."""
    file = write_rows(tmp_path / "rows.parquet", 50)
    outputs = [{"stream": name, "schema": "Row"} for name in ("Low", "High")]
    graph = [
        source("Rows", file),
        node("Sorted", "Split", "Rows", parameters={"index": "CASE WHEN n < 5 THEN 0 ELSE 1 END"})
        | {"outputs": outputs},
        node("Marked", "Punctor", "High", parameters={"punctuate": "n = 7", "position": "after"}),
        node("Slow", "Throttle", "Low", parameters={"rate": 1e6}),
        node("All", "Union", "Marked", "Slow"),
        node("Once", "DeDuplicate", "All"),
        sink("Out", "Once"),
        sink("Everything", "All"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), 7)
    local.run()
    assert published(local.published("Everything")) == sorted(rows(50))
    assert published(local.published("Out")) == sorted(set(rows(50)))
