"""Parse and Format: each undoes the other, wherever bytes are cut."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.files.rows import LONGEST_ROW_BYTES, split_rows
from streams_orchestration.operators.files.spl_lines import LineWriting, write_lines_file
from streams_orchestration.operators.standard.conversion.format import Format
from streams_orchestration.operators.standard.conversion.parse import Parse
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

ROW = "n bigint, s string"
BYTES = "data binary"
VALUES = {
    "csv": st.none() | st.text('ab",\n ;é', min_size=1, max_size=6).filter(str.strip),
    "jsonl": st.none() | st.text('ab",\n\r é', max_size=6),
}


def parse(outputs: str = ROW, inputs: str = BYTES, **parameters: Any) -> OperatorHarness:
    return OperatorHarness(Parse, [inputs], [outputs], parameters={"format": "csv"} | parameters)


def format_(outputs: str | None = BYTES, inputs: str = ROW, **parameters: Any) -> OperatorHarness:
    return OperatorHarness(Format, [inputs], [outputs], parameters={"format": "csv"} | parameters)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data(), cuts=st.lists(st.integers(0, 200), max_size=6), restarts=st.booleans())
@examples(60)
def test_formatted_tuples_are_parsed_wherever_the_text_is_cut(name: Any, data: Any, cuts: list[int], restarts: bool):
    rows = data.draw(st.lists(st.tuples(st.none() | st.integers(-9, 9), VALUES[name]), max_size=8))
    formatted = format_(format=name).send(rows)
    text = b"".join(row for (row,) in formatted.rows())
    harness, bounds = parse(format=name), sorted(cut % (len(text) + 1) for cut in cuts)
    for begin, end in zip([0, *bounds], [*bounds, len(text)], strict=True):
        harness.send([(text[begin:end],), (None,)])
        if restarts:
            harness.restart()
    assert harness.rows() == rows


LOGIC = {
    "state": "mutable int32 tuples = 0; mutable int32 rows = 0; mutable list<int32> marks = [];",
    "onTuple": {0: "tuples++;"},
    "onPunct": {0: "appendM(marks, rows);"},
    "inputs": {"In": ""},
}
PARTS = st.sampled_from([b"", b"1", b",a\n", b"2,b\n3,c\n", b"\n", None])


@given(st.lists(PARTS, max_size=12), st.sets(st.integers(0, 12)))
@examples(60)
def test_logic_runs_before_the_bytes_of_each_tuple_wherever_batches_end(parts: list[bytes | None], cuts: set[int]):
    output = {"tuples": {"spl": "tuples"}, "row": {"spl": "rows++"}, "number": {"spl": "TupleNumber()"}}
    harness = parse(
        "s string, tuples int, row int, number bigint", f"{BYTES} NOT NULL", format="line", output=output, spl=LOGIC
    )
    expected, ends, text, tuples, held = list[Any](), list[int](), b"", 0, list[Any]()
    for place, part in enumerate([*parts, None]):
        if part is None or place in cuts:
            harness.send(held).restart()
            held = []
        if part is None:
            ends.append(len(expected))
            harness.mark()
            complete, text = [text] if text else [], b""
        else:
            tuples += 1
            held.append((part,))
            *complete, text = (text + part).split(b"\n")
        for row in complete:
            expected.append((row.decode(), tuples, len(expected), len(expected) + 1))
    assert [row for row in harness.items() if row is not Punctuation.WINDOW] == expected
    operator: Any = harness.operator
    assert operator.logic.state == {"tuples": tuples, "rows": len(expected), "marks": ends}


def split(text: bytes, *, quoted: bool, ended: bool) -> tuple[list[bytes], bytes]:
    """Return the rows and the rest."""
    rows, rest = split_rows(text, 1, lambda _row: True, quoted=quoted, ended=ended)
    return [row.text for row in rows], rest


@given(
    lines=st.lists(st.text('a",\r', max_size=4), max_size=8),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    quoted=st.booleans(),
)
@examples(150)
def test_rows_of_any_text_do_not_depend_on_where_it_is_cut(lines: list[str], cuts: list[int], quoted: bool):
    text = "\n".join(lines).encode()
    whole, none = split(text, quoted=quoted, ended=True)
    bounds = sorted(cut % (len(text) + 1) for cut in cuts)
    rows, rest = [], b""
    for begin, end in zip([0, *bounds], [*bounds, len(text)], strict=True):
        more, rest = split(rest + text[begin:end], quoted=quoted, ended=False)
        rows += more
    rows += split(rest, quoted=quoted, ended=True)[0]
    assert (rows, none) == (whole, b"")


def test_a_quote_that_is_not_closed_ends_with_its_line():
    text = b'"a\n' + b"b\n" * (LONGEST_ROW_BYTES // 2)
    rows, _ = split(text, quoted=True, ended=False)
    assert rows[:2] == [b'"a\n', b"b\n"]


def test_marks_and_the_end_end_a_row():
    harness = parse("s string", format="line").send([(b"a\nb",)]).mark().send([(b"c",)]).end()
    assert harness.items() == [("a",), ("b",), Punctuation.WINDOW, ("c",)]


def test_texts_are_parsed_too():
    harness = parse(inputs="n int, body string", parseInput="body", separator=";").send([(1, "1;a\n2;")]).end()
    assert harness.rows() == [(1, "a"), (2, None)]


def test_a_malformed_row_fails_with_its_number():
    with pytest.raises(DataError, match=r"row 2: .*x.*: b'x,a.n'"):
        parse().send([(b"1,a\nx,a\n",)])


def test_malformed_rows_may_be_dropped_and_are_counted():
    harness = parse(parsing="permissive").send([(b"1,a\nx,a\n3\n4,d\n",)])
    assert (harness.rows(), harness.metrics["dropped"]) == ([(1, "a"), (4, "d")], 2)


def test_a_row_without_a_required_value_is_malformed():
    harness = parse("n bigint NOT NULL, s string", parsing="permissive").send([(b"1,a\n,b\nx,c\n4,\n",)])
    assert (harness.rows(), harness.metrics["dropped"]) == ([(1, "a"), (4, None)], 2)
    with pytest.raises(DataError, match="row 2: column n: it is null, but the attribute is NOT NULL"):
        parse("n bigint NOT NULL, s string").send([(b"1,a\n,b\n",)])


def test_a_row_is_one_of_the_attributes():
    harness = format_(
        "n bigint, row string, twice bigint", suppress=["n"], output={"row": "Output()", "twice": "n * 2"}
    )
    assert harness.send([(2, "a,b")]).rows() == [(2, '"a,b"\n', 4)]


def test_lines_are_written_as_they_are():
    assert format_(inputs="s string", format="line").send([("a",), (None,)]).rows() == [(b"a\n",), (b"\n",)]


READ: dict[str, tuple[bytes, str, dict[str, Any], list[Any]]] = {
    "values": (
        b'head\n# x\n1, "a\\"b,c" ,[1,2]\r\n\n,,\n3', "n int NOT NULL, s string NOT NULL, l array<int> NOT NULL",
        {"format": "splCsv", "hasHeaderLine": True, "defaultTuple": {"s": "'no'", "l": "array(7)"},
         "windowMarkers": "end"},
        [(1, 'a"b,c', [1, 2]), (0, "no", [7]), (3, "no", [7])],
    ),
    "tuples": (
        b'{n=1,c=red}\n{n=2,c=green}\n', "n int NOT NULL, c string NOT NULL, k bigint",
        {"format": "splTxt", "types": {"c": "enum{red, green}"}, "output": {"k": "TupleNumber()"},
         "windowMarkers": "end"},
        [(1, "red", 1), (2, "green", 2)],
    ),
    "delays": (b"0.5,1|a\n0,2|b|\n", "n int, s string", {"format": "splCsv", "separator": "|", "hasDelayField": True,
               "ignoreExtraCSVValues": True, "windowMarkers": "end"}, [(1, "a"), (2, "b")]),
    "lines": (b"a\n;;b;;c", "s string", {"format": "line", "eolMarker": ";;", "windowMarkers": "end"},
              [("a\n",), ("b",), ("c",)]),
    "blocks": (b"abcdefg", "s binary", {"format": "block", "blockSize": 3, "windowMarkers": "end"},
               [(b"abc",), (b"def",), (b"g",)]),
}  # fmt: skip
"""Bytes, the output's schema, parameters, and the tuples that IBM Streams reads."""

WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no bytes": (parse, {"inputs": "n int"}, "parseInput: n is int, but binary or string is expected"),
    "several attributes": (parse, {"inputs": ROW}, "parseInput: name the attribute that contains the bytes: n, s"),
    "bytes that are not there": (parse, {"parseInput": "dat"}, "no attribute dat; the nearest is data"),
    "nested values": (parse, {"outputs": "a array<int>"}, "format csv: the attribute a is array"),
    "lines of two attributes": (parse, {"format": "line"}, "format line: .* the output stream has n, s"),
    "lines of two values": (format_, {"format": "line"}, "format line: a line is one attribute, but the row has n, s"),
    "a separator of lines": (parse, {"format": "line", "separator": ";"}, "separator is for format csv only"),
    "blocks of no size": (parse, {"format": "block", "outputs": "b binary"}, "format block needs blockSize"),
    "blocks of texts": (parse, {"format": "block", "blockSize": 3}, "format block: .* exactly one binary attribute"),
    "a header of lines": (parse, {"format": "line", "hasHeaderLine": True}, "hasHeaderLine is for format splCsv"),
    "sizes of rows": (parse, {"blockSize": 3}, "blockSize is for format block, not for csv"),
    "no schema": (format_, {"outputs": None}, "the output stream needs a schema"),
    "nothing for the row": (format_, {"outputs": ROW}, "one attribute gets the row"),
    "two rows": (format_, {"outputs": "a string, b string"}, "one attribute gets the row"),
    "a row that is a number": (format_, {"outputs": "a int"}, "output.a: the attribute is int, but binary or string"),
    "suppressing nothing": (format_, {"suppress": "m"}, "suppress: the input stream has no attribute m"),
    "suppressing everything": (format_, {"suppress": ["n", "s"]}, "no attribute is left"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_parse_and_format_are_refused(case: str):
    make, parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        make(**parameters)


@pytest.mark.parametrize("kind", [Parse, Format])
def test_formats_of_streams_that_are_not_here_are_refused(kind: type[Operator]):
    with pytest.raises(ValueError, match=r"'csv', 'line'.* or 'bin'"):
        kind.Parameters.model_validate({"format": "txt"})


def test_rows_in_the_binary_encoding_are_read_again():
    schema = "id int, colour string, at timestamp_ns, word string"
    types = {"colour": "enum{red, green}", "word": "optional<rstring>"}
    time = datetime(2026, 1, 2, tzinfo=UTC)
    rows = [(-1, "green", time, "x"), (7, "red", time, None)]
    made = Bench(Format, [schema], [BYTES], format="bin", types=types, suppress="at").send(rows)
    read = Bench(Parse, [BYTES], ["id int, colour string, word string"], format="bin", types=types)
    assert read.send(made.rows()).end().rows() == [(-1, "green", "x"), (7, "red", None)]
    with pytest.raises(DataError, match="types may say that it is optional"):
        Bench(Format, [schema], [BYTES], format="bin").send(rows)
    with pytest.raises(ValueError, match="types is for format bin, not for csv"):
        Bench(Format, [schema], [BYTES], types=types)


@given(cuts=st.lists(st.integers(0, 200), max_size=6), restarts=st.booleans(), reading=st.sampled_from(sorted(READ)))
@examples(60)
def test_rows_of_streams_do_not_depend_on_where_bytes_are_cut(cuts: list[int], restarts: bool, reading: str):
    text, schema, parameters, expected = READ[reading]
    harness, bounds = parse(schema, **parameters), sorted(cut % (len(text) + 1) for cut in cuts)
    for begin, end in zip([0, *bounds], [*bounds, len(text)], strict=True):
        harness.send([(text[begin:end],), (None,)]).mark()
        if restarts:
            harness.restart()
    assert harness.end().items() == [*expected, Punctuation.WINDOW]


def test_a_malformed_row_of_streams_fails_with_its_line():
    with pytest.raises(DataError, match="the bytes, line 3, column n: 'x' is not a value of type int32"):
        parse("n int NOT NULL", format="splCsv").send([(b"1\n#\nx\n",)])
    harness = parse("n int NOT NULL, k bigint", format="splCsv", parsing="permissive", output={"k": "TupleNumber()"})
    assert harness.send([(b"1\nx\n2\n",)]).rows() == [(1, 1), (2, 2)]
    assert harness.metrics == {"dropped": 1}


MIXED = {
    "csv": [b"1\nx\n2\n", b"y\n3\n", b"4\n"],
    "jsonl": [b'{"n":1}\n{"n":"x"}\n{"n":2}\n', b'x\n{"n":3}\n', b'{"n":4}\n'],
    "splCsv": [b"1\nx\n2\n", b"y\n3\n", b"4\n"],
    "splTxt": [b"{n=1}\nx\n{n=2}\n", b"y\n{n=3}\n", b"{n=4}\n"],
}


@pytest.mark.parametrize("name", MIXED)
def test_the_number_of_a_tuple_does_not_count_rows_that_were_dropped(name: str):
    harness = parse("n int NOT NULL, k bigint", format=name, parsing="permissive", output={"k": "TupleNumber()"})
    for part in MIXED[name]:
        harness.send([(part,)])
        harness.restart()
    assert harness.rows() == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_reason_counts_the_dropped_rows(caplog: pytest.LogCaptureFixture):
    harness = parse("n int NOT NULL", parsing="permissive")
    harness.send([(b"1\nx\n2\n",)]).send([(b"y\n",)])
    assert [each.getMessage().split(":")[0] for each in caplog.records] == ["row 2", "row 4"]


def test_the_bytes_are_those_of_an_expression():
    text = {"spl": 'convertToBlob(In.body + "\\n")', "types": {"In": ""}}
    harness = parse(
        "s string NOT NULL", inputs="n int NOT NULL, body string NOT NULL", parseInput=text, format="splCsv"
    )
    assert harness.send([(1, "a"), (2, '"b"')]).rows() == [("a",), ("b",)]


NUMBERS = "n int NOT NULL, k bigint"
FOURTH_FAILS = {"k": {"spl": "100l / (TupleNumber() - 4l)"}}
FAILING = {
    "splCsv": (b"0\n", [b"1\n2", b"2\n", None, b"3\n4", b"\n5\n6\n"]),
    "csv": (b"0\n", [b"1\n2", b"2\n", None, b"3\n4", b"\n5\n6\n"]),
    "jsonl": (b'{"n":0}\n', [b'{"n":1}\n{"n":2', b"}\n", None, b'{"n":3}\n{"n"', b':4}\n{"n":5}\n']),
    "bin": (b"\0\0\0\0", [b"\0\0\0\1\0", b"\0\0\2", None, b"\0\0\0\3\0\0", b"\0\4\0\0\0\5"]),
}
"""The bytes of a first batch, and tuples of a second one; the fourth row ends, after the first row, in the fourth."""


@pytest.mark.parametrize("with_logic", [False, True])
@pytest.mark.parametrize("name", FAILING)
def test_a_row_without_a_value_fails_with_the_tuple_in_which_it_ends(name: str, with_logic: bool):
    first, parts = FAILING[name]
    given = {"spl": {"state": "mutable int32 tuples = 0;", "onTuple": {0: "tuples++;"}, "inputs": {"In": ""}}}
    harness = parse(NUMBERS, BYTES, format=name, output=FOURTH_FAILS, **(given if with_logic else {}))
    with pytest.raises(TupleError) as failed:
        harness.send([(first,)]).send([(part,) for part in parts])
    assert (failed.value.position, str(failed.value.__cause__)) == (3, "row 4: 100 is divided by 0")


def test_rows_of_one_tuple_fail_with_that_tuple_also_beside_dropped_rows():
    dropped = parse(NUMBERS, output=FOURTH_FAILS, parsing="permissive")
    with pytest.raises(TupleError) as failed:
        dropped.send([(b"x\n1\n2\n",), (b"y\n3\n4\n5\n",)])
    assert failed.value.position == 1
    assert dropped.metrics.get("dropped", 0) == 0
    at_end = parse(NUMBERS, output={"k": {"spl": "100l / (TupleNumber() - 1l)"}}).send([(b"1",)])
    with pytest.raises(TupleError) as failed:
        at_end.mark()
    assert str(failed.value.__cause__) == "row 1: 100 is divided by 0"


UNFIT = {
    "bin": (
        "n bigint NOT NULL",
        [(1,), (255,), (2,), (-1,)],
        [b"\0\0\0\0\0\0\0\1", b"\0\0\0\0\0\0\0\2"],
        "byte 8 is 0xff",
    ),
    "line": (
        "b binary",
        [(b"a",), (b"\xff",), ("é".encode(),), (b"\xc3",)],
        [b"a\n", "é\n".encode()],
        "byte 1 is 0xff",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_row_that_does_not_fit_a_text_is_an_error_of_its_tuple(name: str):
    inputs, rows, fitting, fault = UNFIT[name]
    texts = [row.decode() for row in fitting]
    reason = f"the row does not fit a string: it is not UTF-8 text: {fault}"
    with pytest.raises(DataError, match=reason):
        format_("s string", inputs, format=name).send(rows)
    skipping = format_("s string", inputs, format=name, onError="skip").send(rows)
    assert ([text for (text,) in skipping.rows()], skipping.metrics) == (texts, {"dropped": 2})
    ports = {"format": name, "onError": "route"}
    routing = OperatorHarness(Format, [inputs], ["s string", f"{inputs}, reason string"], parameters=ports).send(rows)
    assert [text for (text,) in routing.rows()] == texts
    assert [row[0] for row in routing.rows(1)] == [rows[1][0], rows[3][0]]
    assert routing.rows(1)[0][1].startswith(f"output.s: {reason}")


def test_a_text_that_is_not_a_value_of_its_enumeration_is_an_error_of_its_tuple():
    given: dict[str, Any] = {"inputs": "e string NOT NULL", "format": "bin", "types": {"e": "enum{a,b}"}}
    with pytest.raises(DataError, match=r"'z' is not a value of enum\{a, b\}"):
        format_(**given).send([("a",), ("z",)])
    assert format_(**given, onError="skip").send([("z",), ("b",)]).rows() == [(b"\0\0\0\1",)]


BEYOND: dict[str, tuple[str, str, Any, Any, str]] = {
    "a text": ("string", "rstring[2]", "ä", "abc", r"'abc' has more than 2 bytes, but its type is rstring\[2\]"),
    "a list": ("array<int>", "list<int32>[2]", [1, 2], [1, 2, 3], "has more than 2 elements"),
    "a key": ("map<string, int>", "map<rstring[1], int32>", {"a": 1}, {"ab": 1}, "'ab' has more than 1 bytes"),
    "a map": ("map<string, int>", "map<rstring, int32>[1]", {"a": 1}, {"a": 1, "b": 2}, "has more than 1 elements"),
    "a part": ("struct<s string>", "tuple<rstring[1] s>", {"s": "a"}, {"s": "ab"}, "has more than 1 bytes"),
    "a word": ("array<string>", "list<enum{a, b}>", ["b"], ["b", "c"], "'c' is not a value of enum"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_a_value_beyond_the_bound_of_its_type_is_an_error_of_its_tuple(case: str):
    kind, type_, fits, beyond, reason = BEYOND[case]
    given: dict[str, Any] = {"inputs": f"v {kind} NOT NULL", "format": "bin", "types": {"v": type_}}
    with pytest.raises(DataError, match=reason):
        format_(**given).send([(beyond,)])
    rows = format_(**given, onError="skip").send([(beyond,), (fits,)]).rows()
    assert len(rows) == 1


@pytest.mark.parametrize("format", ["splCsv", "splTxt", "bin"])
@pytest.mark.parametrize("case", BEYOND)
def test_no_value_beyond_its_bound_is_written_or_read(tmp_path: Path, format: str, case: str):
    kind, type_, fits, beyond, reason = BEYOND[case]
    schema = arrow_schema(f"v {kind} NOT NULL")
    writing = LineWriting(format, types={"v": type_})
    for value, is_fit in ((fits, True), (beyond, False)):
        batch = pa.RecordBatch.from_arrays([pa.array([value], schema.field("v").type)], schema=schema)
        with nullcontext() if is_fit else pytest.raises(DataError, match=reason):
            write_lines_file(tmp_path / "written", [batch], writing)


def test_a_collection_beyond_its_bound_is_not_read():
    bounded = {"inputs": BYTES, "format": "bin", "types": {"v": "list<int8>[1]"}}
    with pytest.raises(DataError, match=r"2 elements are too many for list<int8>\[1\]"):
        parse("v array<tinyint> NOT NULL", **bounded).send([(b"\2\1\1",)])
