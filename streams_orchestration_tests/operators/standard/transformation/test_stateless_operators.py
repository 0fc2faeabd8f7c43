"""Filter, Functor, Lookup, Enrich and Tokenize: one tuple at a time, whatever came before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.enrich import Enrich
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.joining.lookup import Lookup
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.tokenize import Tokenize
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

PAIR = "n bigint, s string"
ROWS = [(1, "a"), (None, "b"), (3, None)]


def test_a_filter_sends_the_others_to_its_second_port():
    bench = Bench(Filter, [PAIR], [PAIR, PAIR], filter="n > 1").send(ROWS)
    assert bench.rows(0) == [(3, None)]
    assert bench.rows(1) == [(1, "a"), (None, "b")]


def test_a_filter_without_a_second_port_drops_the_others():
    bench = Bench(Filter, [PAIR], [PAIR], filter="s IS NOT NULL").send(ROWS)
    assert bench.rows() == ROWS[:2]


def test_a_filter_without_a_condition_passes_all():
    assert Bench(Filter, [PAIR], [PAIR]).send(ROWS).rows() == ROWS


def test_a_filter_sends_no_empty_batches():
    assert Bench(Filter, [PAIR], [PAIR], filter="n > 100").send(ROWS).sent == []


def test_a_functor_computes_and_takes_over_by_name():
    output = {"twice": "2 * n", "kind": "'pair'"}
    bench = Bench(Functor, [PAIR], ["s string, twice bigint, kind string"], output=output).send(ROWS)
    assert bench.rows() == [("a", 2, "pair"), ("b", None, "pair"), (None, 6, "pair")]


def test_a_functor_filters_before_it_computes():
    assert Bench(Functor, [PAIR], ["n bigint"], filter="n > 0", output={"n": "n - 1"}).send(ROWS).rows() == [(0,), (2,)]


def test_a_functor_without_an_output_schema_keeps_the_input_s():
    assert Bench(Functor, [PAIR], [None], output={"s": "UPPER(s)"}).send(ROWS[:1]).rows() == [(1, "A")]


def test_a_functor_gives_every_output_port_a_tuple():
    outputs = [{"n": "n + 1"}, {"s": "UPPER(s)"}]
    bench = Bench(Functor, [PAIR], ["n bigint", "s string"], filter="n > 0", output=outputs).send(ROWS)
    assert bench.rows(0) == [(2,), (4,)]
    assert bench.rows(1) == [("A",), (None,)]
    assert Bench(Functor, [PAIR], ["n bigint", "s string"]).send(ROWS[:1]).rows(1) == [("a",)]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"n": "1"}, "a list with a mapping for each of the 2 output ports"),
        ([{"n": "1"}], "a list with a mapping for each of the 2 output ports"),
        ([{}, {"x": "1"}], "output port 1: output: the output stream has no attribute x"),
    ],
)
def test_the_ports_of_a_functor_each_have_their_output(output: Any, message: str):
    with pytest.raises(ValueError, match=message):
        Bench(Functor, [PAIR], ["n bigint", "s string"], output=output)


def test_a_functor_leaves_its_input_alone():
    bench = Bench(Functor, [PAIR], [PAIR], output={"n": "n + 1"})
    bench.send(ROWS).send(ROWS)
    assert bench.rows() == [(2, "a"), (None, "b"), (4, None)] * 2


def test_a_value_out_of_the_range_of_its_attribute_is_an_error_of_the_data():
    bench = Bench(Functor, [PAIR], ["n int"])
    with pytest.raises(DataError, match=r"output.n: .* is beyond the range of int; the tuple has n = 2147483648"):
        bench.send([(2**31, "")])


@pytest.mark.parametrize(
    ("kind", "outputs", "parameters", "message"),
    [
        (Filter, PAIR, {"filter": "m > 1"}, "filter: 'm > 1' uses the attribute m"),
        (Filter, PAIR, {"filter": "n + 1"}, r"filter: 'n \+ 1' is bigint, but a condition is expected"),
        (Functor, PAIR, {"filter": "n"}, "filter: 'n' is bigint, but a condition is expected"),
        (Functor, PAIR, {"output": {"m": "1"}}, "output: the output stream has no attribute m"),
        (Functor, "n bigint, m bigint", {}, "output: m has no value"),
        (
            Functor,
            PAIR,
            {"output": {"n": "s"}},
            "output.n: the value is .*string.*, but the attribute is bigint; CAST it",
        ),
        (Functor, "n string", {}, "output.n: the value is bigint, but the attribute is string; CAST it"),
        (Functor, PAIR, {"output": {"n": "n / 2.5"}}, "output.n: the value is d.*, but the attribute is bigint"),
        (Functor, PAIR, {"output": {"n": "m"}}, "output.n: 'm' uses the attribute m"),
    ],
)
def test_wrong_parameters_of_stateless_operators_are_found_before_they_run(
    kind: type[Operator], outputs: str, parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        Bench(kind, [PAIR], [outputs], **parameters)


CODES = "code,name,rank\n007,Bond,7\n08,Eight,8\n"


def enrich(path: Path, outputs: str = "code string, name string", **parameters: Any) -> Bench:
    given = {"table": path.name, "key": "code", "attribute": "code", "take": {"name": "name"}} | parameters
    return Bench(Enrich, ["code string"], [outputs], base=path.parent, **given)


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    path = tmp_path / "codes.csv"
    path.write_text(CODES)
    return path


def test_enrich_appends_what_it_finds_and_null_where_it_does_not(codes: Path):
    bench = enrich(codes).send([("08",), ("9",), (None,), ("007",), ("08",)])
    assert bench.rows() == [("08", "Eight"), ("9", None), (None, None), ("007", "Bond"), ("08", "Eight")]


PLANES = "code,year,seats\nA,2001,10\nA,2002,12\nB,2001,30\n"


def planes(path: Path, outputs: int = 1, **parameters: Any) -> Bench:
    (path / "planes.csv").write_text(PLANES)
    wanted = {"table": "planes.csv", "key": ["code", "year"], "take": {"seats": "seats"}} | parameters
    types = ["code string, year int, seats int", "code string, year int"]
    return Bench(Lookup, ["code string, year int"], types[:outputs], base=path, **wanted)


@given(
    tuples=st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from([2001, 2002, None]))),
    inner=st.booleans(),
)
@examples(60)
def test_lookup_by_several_columns(tmp_path_factory: Any, tuples: list[Any], inner: bool):
    known = {("A", 2001): 10, ("A", 2002): 12, ("B", 2001): 30}
    place = tmp_path_factory.mktemp("tables")
    bench = planes(place, 1 + inner, algorithm="inner" if inner else "leftOuter").send(tuples)
    expected = [(*each, known.get(each)) for each in tuples]
    assert bench.rows() == [row for row in expected if not inner or row[2] is not None]
    assert not inner or bench.rows(1) == [each for each in tuples if each not in known]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"attribute": ["code"]}, "attribute: one attribute for each of the 2 columns of key"),
        ({"attribute": ["code", "yr"]}, "the input stream has no attribute yr; the nearest is year"),
        ({"key": "code"}, "planes.csv has several rows with the same code"),
        ({"key": ["code", "y"], "attribute": ["code", "year"]}, "has no column y"),
        ({"take": {"seat": "seats"}}, "take: seats has no value"),
        ({"outputs": 2}, "algorithm: a second output port, for tuples without a row, needs algorithm: inner"),
        ({"algorithm": "outer"}, "'leftOuter' or 'inner'"),
    ],
)
def test_wrong_parameters_of_a_lookup_are_refused(tmp_path: Path, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        planes(tmp_path, **parameters)


def test_enrich_finds_the_same_however_often_values_come(codes: Path):
    often = [("08",), (None,), ("9",), ("007",)] * 20
    once = [(str(number),) for number in range(50)]
    bench = enrich(codes)
    for texts in (often, once, often, once):
        bench.send(texts)
    names = {"08": "Eight", "007": "Bond"}
    assert bench.rows() == [(text, names.get(text)) for (text,) in (often + once) * 2]


def test_the_key_has_the_type_of_the_attribute_not_of_what_it_looks_like(codes: Path):
    assert enrich(codes, "name string").send([("007",), ("7",)]).rows() == [("Bond",), (None,)]


def test_a_table_may_be_parquet(tmp_path: Path):
    path = tmp_path / "codes.parquet"
    pq.write_table(pa.table({"code": ["a", None], "name": ["A", "none"]}), path)
    assert enrich(path).send([("a",), (None,)]).rows() == [("a", "A"), (None, None)]


@pytest.mark.parametrize(
    ("content", "parameters", "message"),
    [
        (CODES + "08,Again,9\n", {}, "table: codes.csv has several rows with the same code"),
        (CODES, {"attribute": "kode"}, "attribute: the input stream has no attribute kode"),
        (CODES, {"key": "kode"}, "table: .*codes.csv has no column kode"),
        (CODES, {"take": {"name": "nam"}}, "table: .*codes.csv has no column nam"),
        (CODES, {"take": {"nam": "name"}}, "take: name has no value"),
        (CODES, {"take": {"name": "name", "x": "rank"}}, "take: the output stream has no attribute x"),
        ("code,name\n1\n", {}, "table: .*codes.csv"),
        ("", {}, "table: .*codes.csv"),
    ],
)
def test_a_table_that_does_not_fit_is_found_before_it_runs(
    codes: Path, content: str, parameters: dict[str, Any], message: str
):
    codes.write_text(content)
    with pytest.raises(ValueError, match=message):
        enrich(codes, **parameters)


def test_a_column_of_another_type_is_found_before_it_runs(codes: Path):
    with pytest.raises(ValueError, match=r"table: .*codes.csv.*Bond"):
        enrich(codes, "code string, name int")


def test_a_missing_table_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"codes.csv: no such file"):
        enrich(tmp_path / "codes.csv")


def test_tokenize_gives_words_in_lower_case_in_order():
    bench = Bench(Tokenize, ["line string"], ["word string"])
    bench.send([("Ich weiß nicht, was soll's bedeuten —",), (None,), ("",), ("'2 Words'",)])
    assert [word for (word,) in bench.rows()] == ["ich", "weiß", "nicht", "was", "soll's", "bedeuten", "2", "words"]


@pytest.mark.parametrize("schemas", [("n int", "w string"), ("l string", "w string, n int"), ("l string", "w int")])
def test_tokenize_needs_one_string_attribute(schemas: tuple[str, str]):
    with pytest.raises(ValueError, match="exactly one string attribute"):
        Bench(Tokenize, [schemas[0]], [schemas[1]])
