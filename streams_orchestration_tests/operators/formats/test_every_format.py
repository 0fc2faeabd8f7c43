"""Random tuples of every type go through every format and come back unchanged, or are refused by name."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streams_orchestration.operators.databases.errors import DatabaseError
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, arrow_type, schema_ddl
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.formats.carriers import CARRIERS, Carrier, as_protobuf, database
from streams_orchestration_tests.operators.formats.tuples import (
    NAMES,
    NESTED,
    PLAIN_NAMES,
    batches,
    parts,
    shown,
)
from streams_orchestration_tests.targets import Target

SLOW = ("protobuf message", "delta table", "iceberg table")
"""Formats whose examples take long."""
QUICK = [name for name in CARRIERS if name not in SLOW]


def check(name: str, data: st.DataObject) -> None:
    """Draw tuples that a format holds, and see that they come back."""
    carrier = CARRIERS[name]
    batch = drawn(carrier, data)
    if name == "protobuf message":
        batch = as_protobuf(batch)
    with tempfile.TemporaryDirectory() as directory:
        back = carrier.carried(batch, Path(directory))
    assert shown(as_protobuf(back) if name == "protobuf message" else back) == shown(batch)


def drawn(carrier: Carrier, data: st.DataObject) -> pa.RecordBatch:
    """Draw some tuples of types that a format holds; at least one."""
    names = PLAIN_NAMES if carrier.plain_names else NAMES
    batch = data.draw(batches(carrier.types, most=3, all_names=names, least=1))
    carrier.compiled(schema_ddl(batch.schema))
    return batch


@pytest.mark.parametrize("name", QUICK)
@given(data=st.data())
@examples(100)
def test_tuples_of_every_type_come_back_as_they_were(name: str, data: st.DataObject):
    check(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
@given(data=st.data())
@examples(50)
def test_tuples_of_every_type_come_back_from_messages_of_protobuf_and_from_lakes(name: str, data: st.DataObject):
    check(name, data)


@pytest.mark.parametrize("name", [name for name in CARRIERS if not name.endswith("table")])
@given(data=st.data())
@examples(60)
def test_a_type_that_a_format_does_not_hold_is_refused_by_name_when_it_is_compiled(name: str, data: st.DataObject):
    carrier = CARRIERS[name]
    kind = data.draw(st.one_of(NESTED, NESTED.map("map<struct<m0: int>, {}>".format)))
    carried = carrier.holds_all(arrow_type(kind))
    if carried:
        carrier.compiled(f"other int, attribute {kind}")
        return
    with pytest.raises(ValueError, match=r"attribute"):
        carrier.compiled(f"other int, attribute {kind}")


def has(batch: pa.RecordBatch, check: Callable[[Any], bool]) -> bool:
    """Return True if a value of the tuples meets a check."""
    return any(check(value) for column in batch.columns for value in column.to_pylist() if value is not None)


REFUSED: dict[str, Callable[[Any], bool]] = {
    "sqlite": lambda value: isinstance(value, float) and math.isnan(value),
    "postgresql": lambda value: isinstance(value, str) and "\0" in value,
    "mariadb": lambda value: isinstance(value, float) and not math.isfinite(value),
}
"""Values that a database does not have."""


@given(data=st.data())
@examples(60)
def test_tuples_come_back_from_a_database_as_they_were(target: Target, data: st.DataObject):
    carrier = database(target.url)
    batch = drawn(carrier, data)
    refused = has(batch, REFUSED[target.kind])
    if target.kind != "postgresql":
        batch = without_negative_zeros(batch)
    if target.kind == "mariadb":
        assume(not any("`" in name for name in batch.schema.names))  # SQLAlchemy does not find such a column
    with tempfile.TemporaryDirectory() as directory:
        try:
            back = carrier.carried(batch, Path(directory))
        except DatabaseError as error:
            assert refused, error
            assert any(name in str(error) for name in batch.schema.names)
        else:
            assert not refused
            assert shown(back) == shown(batch)


def without_negative_zeros(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return tuples with 0.0 in place of -0.0."""
    columns = [
        pa.array([0.0 if value == 0 else value for value in column.to_pylist()], column.type)
        if pa.types.is_floating(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def test_a_nested_type_is_refused_by_name_for_a_database():
    with pytest.raises(ValueError, match="the attribute a: it is array<int>, which no column can hold"):
        database("sqlite:///nowhere.db").compiled("a array<int>")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_names_of_nested_types_do_not_meet(format: str):
    ddl = "a struct<b: struct<x: int>>, a_b struct<x: string>, ab struct<x: date>".replace(
        "date", "date" if format == "avro" else "bigint"
    )
    batch = pa.RecordBatch.from_pylist(
        [{"a": {"b": {"x": 1}}, "a_b": {"x": "t"}, "ab": {"x": None}}], schema=arrow_schema(ddl)
    )
    carrier = CARRIERS[f"{format} message"]
    carrier.compiled(ddl)
    assert shown(carrier.carried(batch, Path())) == shown(batch)


@pytest.mark.parametrize(
    ("format", "ddl", "message"),
    [
        ("avro", "a struct<`x y`: int>", "a.x y is not a name of Avro"),
        ("avro", "a array<struct<m: map<int, int>>>", r"a.m is map<int, int>, which avro cannot hold; keys"),
        ("protobuf", "a struct<`x y`: int>", "a.x y is not a name of Protobuf"),
        ("protobuf", "a_b int, aB int", "a_b and aB are both aB in JSON"),
        ("protobuf", "a struct<b: struct<d: date>>", "a.b.d is date, which protobuf cannot hold"),
    ],
)
def test_a_type_that_a_registered_schema_cannot_have_is_named_by_its_path(format: str, ddl: str, message: str):
    with pytest.raises(ValueError, match=message):
        CARRIERS[f"{format} message"].compiled(ddl)


def test_names_within_a_struct_may_be_any():
    ddl = "a struct<`x y`: int, `q``t`: struct<`k:v`: string>>"
    assert schema_ddl(arrow_schema(ddl)) == ddl
    assert parts(arrow_schema(ddl).field("a").type)[1:3] == [pa.int32(), arrow_type("struct<`k:v`: string>")]
