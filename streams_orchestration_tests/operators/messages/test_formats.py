"""Tuples become messages and messages tuples again; what is not a tuple is told apart, whatever stands beside it."""

from __future__ import annotations

import json
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.messages.decoders import MessageFormat, check_decodable, decode
from streams_orchestration.operators.messages.encoders import check_encodable, encode
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples

SCHEMA = arrow_schema("n bigint, x double, s string, b boolean")
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
ROWS = st.fixed_dictionaries(
    {
        "n": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "x": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        "s": TEXTS,
        "b": st.booleans() | st.none(),
    }
)


@given(rows=st.lists(ROWS, max_size=20))
@examples(60)
def test_json_comes_back_as_it_was(rows: list[dict[str, Any]]):
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    values = encode(batch, "json")
    assert [json.loads(value or b"") for value in values] == rows
    actual = decode(values, SCHEMA, "json")
    assert (actual.batch.to_pylist(), actual.bad) == (rows, ())


CSV_TEXTS = st.sampled_from(["", "NA", "null", "N/A", " ", '"', "a,b"]) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8
)
CSV_ROWS = st.fixed_dictionaries({"n": st.integers(0, 99) | st.none(), "s": CSV_TEXTS | st.none()})


@given(rows=st.lists(CSV_ROWS, max_size=20), separator=st.sampled_from(",;|"))
@examples(60)
def test_csv_comes_back_as_it_was(rows: list[dict[str, Any]], separator: str):
    schema = arrow_schema("n bigint, s string")
    values = encode(pa.RecordBatch.from_pylist(rows, schema=schema), "csv", CsvDialect(separator))
    actual = decode(values, schema, "csv", CsvDialect(separator))
    assert (actual.batch.to_pylist(), actual.bad) == (rows, ())


def test_a_number_in_quotes_may_be_null():
    schema = arrow_schema("n bigint, s string")
    assert decode([b'"1","NA"', b'"",x'], schema, "csv").batch.to_pylist() == [
        {"n": 1, "s": "NA"},
        {"n": None, "s": "x"},
    ]


GOOD = {
    "json": [b'{"n": 1, "s": "a"}', b'{\n "s": "a",\n "n": 1, "more": [1]}\n'],
    "csv": [b"1,a", b'1,"a"\n', b"1,a\r\n"],
}
TWO = [b'{"n": 1}{"n": 2}', b'{"n": 1}\n{"n": 2}']
DEEP = [b"[" * 100_000, b'{"n":' * 100_000 + b"1" + b"}" * 100_000]
BAD = {
    "json": [b"", None, b" ", b"no", b"[1]", b'{"n": "x"}', *TWO, *DEEP, b'{"n": 1', b"}", b"\xff"],
    "csv": [b"", None, b"x,a", b"1", b"1,a,b", b"1,a\n2,b", b'1,"a', b'b",2'],
}


@pytest.mark.parametrize("format", ["json", "csv"])
@given(data=st.data())
@examples(60)
def test_messages_that_are_no_tuples_are_separated_with_their_positions(format: MessageFormat, data: st.DataObject):
    schema = arrow_schema("n bigint, s string")
    pool = [(value, True) for value in GOOD[format]] + [(value, False) for value in BAD[format]]
    chosen = data.draw(st.lists(st.sampled_from(pool), max_size=12))
    actual = decode([value for value, _ in chosen], schema, format)
    assert [bad.position for bad in actual.bad] == [number for number, (_, good) in enumerate(chosen) if not good]
    assert actual.batch.to_pylist() == [{"n": 1, "s": "a"} for _, good in chosen if good]
    assert all(bad.reason for bad in actual.bad)


def test_raw_is_the_bytes_themselves():
    actual = decode([b"a", None, b"\xff"], arrow_schema("s binary"), "raw")
    assert (actual.batch.column(0).to_pylist(), actual.bad) == ([b"a", None, b"\xff"], ())
    text = decode([b"a", None, b"\xff", b"b"], arrow_schema("s string"), "raw")
    assert (text.batch.column(0).to_pylist(), [bad.position for bad in text.bad]) == (["a", None, "b"], [2])
    assert encode(actual.batch, "raw") == [b"a", None, b"\xff"]


@pytest.mark.parametrize(
    ("format", "ddl", "wanted"),
    [
        ("raw", "a string, b string", "one attribute"),
        ("raw", "a int", "string or binary"),
        ("csv", "a array<int>", "which csv cannot hold"),
        ("json", "a map<array<int>, int>", "which json cannot hold: keys of a map"),
    ],
)
def test_attributes_that_a_format_cannot_hold_are_refused(format: MessageFormat, ddl: str, wanted: str):
    assert format in get_args(MessageFormat)
    with pytest.raises(ValueError, match=wanted):
        check_decodable(arrow_schema(ddl), format)
    with pytest.raises(ValueError, match=wanted):
        check_encodable(arrow_schema(ddl), format)
