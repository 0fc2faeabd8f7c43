"""Messages whose schemas are in a registry: tuples become messages and tuples again, also of another schema."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.messages.decoders import Decoded
from streams_orchestration.operators.messages.framing import FrameError, frame, taken_path, unframed
from streams_orchestration.operators.messages.registered import RegisteredDecoder, RegisteredEncoder
from streams_orchestration.operators.messages.registry import (
    Registry,
    RegistryAwayError,
    RegistryParameters,
    SchemaKind,
)
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.servers.registry import SmallRegistry, small_registry

pytestmark = pytest.mark.slow  # the compiler of Protobuf is a process

FORMATS: Sequence[SchemaKind] = ("avro", "protobuf")


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as state:
        yield state


@pytest.fixture
def registry(server: SmallRegistry) -> Iterator[Registry]:
    with closing(Registry(RegistryParameters(url=server.address))) as client:
        yield client


def encoder(registry: Registry, format: SchemaKind, schema: pa.Schema, **options: Any) -> RegisteredEncoder:
    return RegisteredEncoder(registry, format, schema, "s", "clicks", **({"register": True} | options))


def encoded(encoder: RegisteredEncoder, schema: pa.Schema, *rows: dict[str, Any]) -> list[bytes]:
    messages = encoder.encode(pa.RecordBatch.from_pylist(list(rows), schema=schema))
    assert all(isinstance(each, bytes) for each in messages)
    return cast("list[bytes]", messages)


def decode(registry: Registry, format: SchemaKind, ddl: str, *values: bytes | None) -> Decoded:
    return RegisteredDecoder(registry, format, arrow_schema(ddl)).decode(values)


def avro_message(number: int, schema: Any, row: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(schema), row)
    return frame(number) + file.getvalue()


def record(*fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]} | more


MOMENTS = st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)) | st.none()
COMMON = {
    "n": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "i": st.integers(-(2**31), 2**31 - 1) | st.none(),
    "x": st.floats(allow_nan=False) | st.none(),
    "s": st.text(st.characters(codec="utf-8"), max_size=8) | st.none(),
    "b": st.booleans() | st.none(),
    "y": st.binary(max_size=8) | st.none(),
    "t": MOMENTS,
    "l": st.lists(st.integers(0, 9), max_size=3),
    "r": st.fixed_dictionaries({"a": st.integers(0, 9) | st.none(), "c": st.lists(MOMENTS.filter(bool), max_size=2)}),
    "m": st.dictionaries(st.text("abc", max_size=2), st.integers(0, 9), max_size=3).map(lambda m: sorted(m.items())),
}
DDL = (
    "n bigint, i int, x double, s string, b boolean, y binary, t timestamp, l array<bigint>, "
    "r struct<a: int, c: array<timestamp>>, m map<string, int>"
)
ONLY_AVRO = {
    "d": st.decimals(-(10**6), 10**6, places=2).map(lambda d: d.quantize(Decimal("0.01"))) | st.none(),
    "day": st.dates(date(1800, 1, 1), date(2200, 1, 1)) | st.none(),
    "z": st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)) | st.none(),
}
CASES = {
    "avro": (f"{DDL}, d decimal(10, 2), day date, z timestamp_ntz", COMMON | ONLY_AVRO),
    "protobuf": (DDL, COMMON),
}


Codec = tuple[pa.Schema, RegisteredEncoder, RegisteredDecoder]


@pytest.fixture(scope="module")
def codecs() -> Iterator[dict[SchemaKind, Codec]]:
    """Yield a writer and a reader of the same schema for each format; made once, since that takes a while."""
    with small_registry() as server:
        client = Registry(RegistryParameters(url=server.address))
        schemas: dict[SchemaKind, pa.Schema] = {format: arrow_schema(CASES[format][0]) for format in FORMATS}
        yield {
            format: (
                schema,
                RegisteredEncoder(client, format, schema, format, "clicks", register=True),
                RegisteredDecoder(client, format, schema),
            )
            for format, schema in schemas.items()
        }


def sorted_maps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"m": sorted(row["m"])} for row in rows]


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@examples(40)
def test_tuples_come_back_as_they_were(codecs: dict[SchemaKind, Codec], format: SchemaKind, data: st.DataObject):
    schema, writes, reads = codecs[format]
    rows = data.draw(st.lists(st.fixed_dictionaries(CASES[format][1]), max_size=5))
    actual = reads.decode(encoded(writes, schema, *rows))
    assert (sorted_maps(actual.batch.to_pylist()), actual.bad) == (sorted_maps(rows), ())


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@examples(60)
def test_bytes_of_any_kind_are_tuples_or_bad_and_change_nothing_beside_them(
    codecs: dict[SchemaKind, Codec], format: SchemaKind, data: st.DataObject
):
    schema, writes, reads = codecs[format]
    row = data.draw(st.fixed_dictionaries(CASES[format][1]))
    (good,) = encoded(writes, schema, row)
    cut = good[: data.draw(st.integers(0, len(good)))] + data.draw(st.binary(max_size=12))
    odd = data.draw(st.sampled_from([b"", b"\0\0\0\0\1", cut, frame(1) + cut, frame(7) + cut]) | st.binary(max_size=9))
    actual = reads.decode([good, odd, good])
    kept = actual.batch.to_pylist()
    assert [sorted_maps(kept[:1]), sorted_maps(kept[-1:])] == [sorted_maps([row])] * 2
    assert len(kept) + len(actual.bad) == 3
    assert all(bad.position == 1 and bad.reason for bad in actual.bad)


@given(number=st.integers(0, 2**32 - 1), path=st.lists(st.integers(0, 2**20), min_size=1, max_size=5), rest=st.binary())
def test_a_frame_comes_off_as_it_was_put_on(number: int, path: list[int], rest: bytes):
    framed = unframed(frame(number, path) + rest)
    assert (framed.schema, taken_path(framed.payload)) == (number, (tuple(path), rest))


@pytest.mark.parametrize("payload", [b"", b"\x80", b"\x04\x02", b"\x01", b"\xfe\x01" * 9, b"\xff" * 20])
def test_a_path_that_is_none_is_refused(payload: bytes):
    with pytest.raises(FrameError):
        taken_path(payload)


@pytest.mark.parametrize(
    ("written", "row", "ddl", "wanted"),
    [
        (record(("n", "int")), {"n": 7}, "n bigint", {"n": 7}),
        (record(("n", "int")), {"n": 7}, "n double, s string", {"n": 7.0, "s": None}),
        (record(("n", ["null", "long"]), ("more", "string")), {"n": None, "more": "x"}, "n bigint", {"n": None}),
        (record(("n", ["int", "long", "null"])), {"n": 7}, "n bigint", {"n": 7}),
        (record(("s", "string")), {"s": "ä"}, "s binary", {"s": "ä".encode()}),
        (record(("s", "bytes")), {"s": "ä".encode()}, "s string", {"s": "ä"}),
        (record(("s", {"type": "enum", "name": "E", "symbols": ["A"]})), {"s": "A"}, "s string", {"s": "A"}),
        (
            record(("t", {"type": "long", "logicalType": "timestamp-millis"})),
            {"t": datetime(2026, 1, 1, tzinfo=UTC)}, "t timestamp_ntz", {"t": datetime(2026, 1, 1)},
        ),
        (
            record(("r", record(("a", "int"), ("b", "int"), name="Inner"))),
            {"r": {"a": 1, "b": 2}}, "r struct<b: bigint, c: string>", {"r": {"b": 2, "c": None}},
        ),
    ],
)  # fmt: skip
def test_a_message_of_another_schema_becomes_the_attributes_of_the_stream(
    server: SmallRegistry, registry: Registry, written: Any, row: dict[str, Any], ddl: str, wanted: dict[str, Any]
):
    number = server.add(json.dumps(written))
    actual = decode(registry, "avro", ddl, avro_message(number, written, row))
    assert (actual.batch.to_pylist(), actual.bad) == ([wanted], ())


PROTO = """syntax = "proto3";
import "google/protobuf/wrappers.proto";
message Other { string s = 1; }
message Click {
  enum Kind { NONE = 0; LINK = 1; }
  int32 n = 1; optional string page = 2; Kind kind = 3; google.protobuf.Int64Value w = 4; uint64 big = 5;
  message Inner { string page = 2; }
}"""


@pytest.mark.parametrize(
    ("content", "ddl", "wanted"),
    [
        (b"\x02\x02" + b"\x08\x07", "n bigint, page string", {"n": 7, "page": None}),
        (b"\x02\x02" + b"\x12\x01p\x18\x01", "page string, kind string", {"page": "p", "kind": "LINK"}),
        (b"\x02\x02" + b"\x18\x01", "kind int, n int", {"kind": 1, "n": 0}),
        (b"\x02\x02" + b"\x18\x05", "kind string", {"kind": "5"}),
        (b"\x02\x02" + b"\x22\x02\x08\x03", "w bigint", {"w": 3}),
        (b"\x02\x02", "w bigint, absent double", {"w": None, "absent": None}),
        (b"\x04\x02\x00" + b"\x12\x01p", "page string", {"page": "p"}),
        (b"\x00" + b"\x0a\x01p", "s string", {"s": "p"}),
        (b"\x02\x00" + b"\x0a\x01p", "s string", {"s": "p"}),
    ],
)
def test_messages_of_every_type_of_a_file_are_read(
    server: SmallRegistry, registry: Registry, content: bytes, ddl: str, wanted: dict[str, Any]
):
    actual = decode(registry, "protobuf", ddl, frame(server.add(PROTO, "PROTOBUF")) + content)
    assert (actual.batch.to_pylist(), actual.bad) == ([wanted], ())


@pytest.mark.parametrize(
    ("text", "kind", "format", "ddl", "content", "wanted"),
    [
        (json.dumps(record(("n", "string"))), "AVRO", "avro", "n bigint", b"\2x", "field n: it is string, but the"),
        (json.dumps(record(("n", "long"))), "AVRO", "avro", "n int", b"\xff" * 8 + b"\x01", "n: the value is out of"),
        (json.dumps(record(("n", "long"))), "AVRO", "avro", "n bigint", b"\2\2", "1 bytes are left"),
        (json.dumps(record(("n", "long"))), "AVRO", "avro", "n bigint", b"", "it was not written with this schema"),
        ('"long"', "AVRO", "avro", "n bigint", b"\2", "is not a record"),
        ("{", "AVRO", "avro", "n bigint", b"\2", "is not a schema of Avro"),
        ("{}", "JSON", "avro", "n bigint", b"\2", "schema 1 is of the kind json, but the format is avro"),
        (PROTO, "PROTOBUF", "avro", "n bigint", b"\2", "schema 1 is of the kind protobuf, but the format is avro"),
        (PROTO, "PROTOBUF", "protobuf", "n string", b"\2\2", "field n: it is int32, but the attribute is string"),
        (PROTO, "PROTOBUF", "protobuf", "n int", b"\2\x0a", "has no message type [5]"),
        (PROTO, "PROTOBUF", "protobuf", "n int", b"\2\2\x0f", "it was not written with this schema"),
        (PROTO, "PROTOBUF", "protobuf", "big bigint", b"\2\2\x28" + b"\xff" * 9 + b"\1", "big: the value is out of"),
        ("syntax", "PROTOBUF", "protobuf", "n int", b"\0", "is not a schema of Protobuf: schema.proto:1"),
        ('syntax = "proto3";', "PROTOBUF", "protobuf", "n int", b"\0", "has no message type"),
    ],
)  # fmt: skip
def test_a_message_that_is_no_tuple_is_reported_with_the_reason(
    server: SmallRegistry, registry: Registry, text: str, kind: str, format: SchemaKind, ddl: str, content: bytes,
    wanted: str,
):  # fmt: skip
    actual = decode(registry, format, ddl, frame(server.add(text, kind)) + content)
    assert actual.batch.num_rows == 0
    assert wanted in actual.bad[0].reason


@pytest.mark.parametrize(
    ("value", "wanted"), [(None, "has no value"), (b"{}", "does not begin with a zero byte"), (frame(9), "schema 9: ")]
)
def test_messages_without_a_schema_are_bad(registry: Registry, value: bytes | None, wanted: str):
    assert wanted in decode(registry, "avro", "n bigint", value).bad[0].reason


def test_types_of_other_schemas_are_followed(server: SmallRegistry, registry: Registry):
    inner = record(("n", "long"), name="Inner")
    server.add(json.dumps(inner), subject="inner")
    outer = record(("i", "Inner"), name="Outer")
    number = server.add(json.dumps(outer), references=[{"name": "Inner", "subject": "inner", "version": 1}])
    actual = decode(registry, "avro", "i struct<n: bigint>", frame(number) + b"\x0e")
    assert (actual.batch.to_pylist(), actual.bad) == ([{"i": {"n": 7}}], ())

    server.add('syntax = "proto3"; message Inner { int64 n = 1; }', "PROTOBUF", "proto")
    text = 'syntax = "proto3"; import "a/inner.proto"; message Outer { Inner i = 1; }'
    reference = {"name": "a/inner.proto", "subject": "proto", "version": 1}
    number = server.add(text, "PROTOBUF", references=[reference])
    actual = decode(registry, "protobuf", "i struct<n: bigint>", frame(number, [0]) + b"\x0a\x02\x08\x07")
    assert (actual.batch.to_pylist(), actual.bad) == ([{"i": {"n": 7}}], ())
    number = server.add(text, "PROTOBUF", references=[reference | {"name": "../../inner.proto"}])
    assert (
        "not a name of a schema"
        in decode(registry, "protobuf", "i struct<n: bigint>", frame(number, [0])).bad[0].reason
    )


def test_the_registry_is_asked_for_a_schema_once_and_not_needed_any_more(server: SmallRegistry, registry: Registry):
    decoder = RegisteredDecoder(registry, "avro", arrow_schema("n bigint"))
    schema = record(("n", "long"))
    value = avro_message(server.add(json.dumps(schema)), schema, {"n": 1})
    server.answers = [(503, {}), (429, {})]
    for _ in range(2):
        with pytest.raises(RegistryAwayError, match="schema 1"):
            decoder.decode([value])
    assert decoder.decode([value, value]).batch.num_rows == 2
    server.answers = [(503, {})]
    assert decoder.decode([value]).batch.num_rows == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ((401, {}), "answered 401"),
        ((403, {}), "answered 403"),
        ((302, {}), "the receiver has moved"),
        ((200, b"<html>"), "not like a schema registry"),
        ((200, []), "not like a schema registry"),
    ],
)
def test_a_registry_that_refuses_is_named(server: SmallRegistry, registry: Registry, answer: Any, wanted: str):
    server.answers = [answer]
    with pytest.raises(RefusedError, match=wanted) as error:
        decode(registry, "avro", "n bigint", frame(1))
    assert server.address in str(error.value)


def test_credentials_are_references_and_in_no_error(server: SmallRegistry, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="it contains a secret"):
        RegistryParameters(url=server.address, user="me", password="planted")
    parameters = RegistryParameters(url=server.address, user="me", password="${env:PLANTED}")
    monkeypatch.delenv("PLANTED", raising=False)
    with pytest.raises(RefusedError, match="PLANTED is not set"):
        Registry(parameters)
    monkeypatch.setenv("PLANTED", "planted")
    with closing(Registry(parameters)) as client, pytest.raises(RefusedError) as error:
        server.answers = [(401, {})]
        client.schema(1)
    assert server.requests[0][2]["Authorization"] == "Basic bWU6cGxhbnRlZA=="
    assert "planted" not in str(error.value)


@pytest.mark.parametrize("format", FORMATS)
def test_a_sink_registers_once_and_later_schemas_keep_what_there_was(
    server: SmallRegistry, registry: Registry, format: SchemaKind
):
    first, second = arrow_schema("n bigint, s string"), arrow_schema("x double, n bigint")
    old = encoded(encoder(registry, format, first), first, {"n": 1, "s": "a"})
    encoder(registry, format, first)
    assert server.subjects == {"s": [1]}
    new = encoded(encoder(registry, format, second), second, {"n": 2, "x": 0.5})
    third = encoded(encoder(registry, format, first), first, {"n": 3, "s": "b"})
    rows = decode(registry, format, "n bigint, s string, x double", *old, *new, *third).batch.to_pylist()
    assert [(row["n"], row["s"], row["x"]) for row in rows] == [(1, "a", None), (2, None, 0.5), (3, "b", None)]
    if format == "protobuf":
        assert 'reserved 2;\n  reserved "s";' in server.schemas[1]["schema"]
        assert "optional double x = 3;" in server.schemas[1]["schema"]


@pytest.mark.parametrize(
    ("written", "ddl", "row"),
    [
        (record(("n", "long"), ("more", "int")), "n bigint", "its field more has no default"),
        (record(("n", "int")), "n bigint", "field n: it is int, but the attribute is bigint"),
        (record(("n", "long")), "n bigint, s string", "it has no field s"),
        ("message M { int32 n = 1; }", "n bigint", "field n: it is int32"),
        ("message M { int64 n = 1; }", "n bigint, s string", "it has no field s"),
        ("message M { repeated int64 n = 1; }", "n bigint", "it is repeated"),
        (None, "n bigint", "does not have it; register a schema there"),
    ],
)
def test_a_sink_that_looks_up_names_what_does_not_fit(
    server: SmallRegistry, registry: Registry, written: Any, ddl: str, row: str
):
    format: SchemaKind = "protobuf" if isinstance(written, str) else "avro"
    if written is not None:
        text = f'syntax = "proto3"; {written}' if format == "protobuf" else json.dumps(written)
        server.add(text, format.upper(), "s")
    with pytest.raises(RefusedError, match=f"subject s: .*{row}"):
        encoder(registry, format, arrow_schema(ddl), register=False)
    assert not any(method == "POST" for method, _, _ in server.requests)


def test_a_sink_that_looks_up_writes_with_the_latest_schema(server: SmallRegistry, registry: Registry):
    server.add(json.dumps(record(("n", "long"))), subject="s")
    latest = record(("x", {"type": "double"}))
    latest["fields"].append({"name": "more", "type": "int", "default": 4})
    number = server.add(json.dumps(latest), subject="s")
    schema = arrow_schema("x float")
    values = encoded(encoder(registry, "avro", schema, register=False), schema, {"x": 0.5})
    assert unframed(values[0]).schema == number
    assert decode(registry, "avro", "x double, more int", *values).batch.to_pylist() == [{"x": 0.5, "more": 4}]
    (refusal,) = encoder(registry, "avro", schema, register=False).encode(
        pa.RecordBatch.from_pylist([{"x": None}], schema=schema)
    )
    assert isinstance(refusal, RefusedError)
    assert "a tuple does not fit into the schema" in str(refusal)


def test_a_schema_that_is_refused_is_named_with_the_registrys_reason(server: SmallRegistry, registry: Registry):
    server.answers = [(404, {}), (409, {"message": "a field was removed"})]
    with pytest.raises(RefusedError, match=r"subject s: .*a field was removed; check the compatibility"):
        encoder(registry, "avro", arrow_schema("n bigint"))
