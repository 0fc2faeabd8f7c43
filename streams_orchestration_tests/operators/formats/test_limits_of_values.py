"""Values at the edges: exact or refused with their place, in every format and at every connector."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.databases.columns import NotStorableError, check_numbers
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.json_reading import read_objects
from streams_orchestration.operators.kafka.metadata import metadata_faults
from streams_orchestration.operators.lakes.history import DataPart, TablePosition
from streams_orchestration.operators.lakes.part_reader import PartReader
from streams_orchestration.operators.messages.avro import AvroReader, AvroWriter
from streams_orchestration.operators.messages.protobuf import ProtobufReader, ProtobufWriter
from streams_orchestration.operators.messages.registered import derived
from streams_orchestration.operators.messages.registry import RegisteredSchema, SchemaKind
from streams_orchestration.operators.serving.bodies import BodyError, messages_of
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.joining.lookup import Lookup
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.operators.harness import Bench

NOT_UTF8 = r"it is not UTF-8 text: byte 2 is 0xff"
TYPES = {"n": "bigint", "d": "decimal(38, 18)", "e": "decimal(10, 2)", "x": "double", "f": "float"}
"""By column."""
EXACT: dict[tuple[str, str], Any] = {
    ("n", "9007199254740993"): 9007199254740993,
    ("n", "-9223372036854775808"): -9223372036854775808,
    ("d", "12345678901234567890.123456789012345678"): Decimal("12345678901234567890.123456789012345678"),
    ("d", "0.000000000000000001"): Decimal("1E-18"),
    ("e", "1e2"): Decimal(100),
    ("x", "1.7976931348623157e308"): 1.7976931348623157e308,
    ("x", "5e-324"): 5e-324,
}
OUT_OF_RANGE = {
    ("n", "9223372036854775808"): "is not a valid bigint: it is out of the range",
    ("n", "1e2"): "1e2",
    ("n", "1.0"): "1.0",
    ("d", "100000000000000000000"): "is not a valid decimal(38, 18): it has at most 20 digits before the decimal point",
    ("e", "1.005"): "it has at most 8 digits before the decimal point and 2 after it",
    ("e", "123456789.1"): "it has at most 8 digits before the decimal point and 2 after it",
    ("x", "1e400"): "is not a valid double: it is out of range",
    ("f", "-1e39"): "is not a valid float: it is out of range",
}


def source(path: Path, ddl: str, **parameters: Any) -> Bench:
    return Bench(FileSource, [], [ddl], file=str(path), **parameters)


def file_of(column: str, text: str, format: str, directory: Path) -> Path:
    path = directory / f"one.{format}"
    path.write_text(f'{{"{column}": {text}}}\n' if format == "jsonl" else f"{column},o\n{text},\n")
    return path


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize(("column", "text"), EXACT)
def test_a_number_is_read_from_its_digits(column: str, text: str, format: str, tmp_path: Path):
    bench = source(file_of(column, text, format, tmp_path), f"{column} {TYPES[column]}", format=format)
    bench.produce()
    assert bench.rows() == [(EXACT[column, text],)]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize(("column", "text"), OUT_OF_RANGE)
def test_a_number_that_its_type_does_not_hold_is_refused(column: str, text: str, format: str, tmp_path: Path):
    path = file_of(column, text, format, tmp_path)
    with pytest.raises(DataError, match=rf"one.{format}.* line \d, column {column}: ") as error:
        source(path, f"{column} {TYPES[column]}", format=format).produce()
    assert OUT_OF_RANGE[column, text] in str(error.value)


def test_the_elements_of_an_array_in_a_body_keep_their_digits():
    body = b' [ {"d": 12345678901234567890.123456789012345678, "t": "a]\\u00e9"} ,{"n":9007199254740993},[1], 2.50 ]\n'
    assert messages_of(body, "application/json", "json", ["d"], ",") == [
        b'{"d": 12345678901234567890.123456789012345678, "t": "a]\\u00e9"}',
        *(b'{"n":9007199254740993}', b"[1]", b"2.50"),
    ]
    assert messages_of(b"[]", "application/json", "json", ["d"], ",") == []


@pytest.mark.parametrize("body", [b"[1,]", b"[1 2]", b"[1] 2", b"[,1]", b"[", b"[1", b'["a\xff"]', b"{", b""])
def test_a_body_that_is_no_json_is_refused(body: bytes):
    with pytest.raises(BodyError, match="the body is not JSON"):
        messages_of(body, "application/json", "json", ["d"], ",")


LINES = (
    *(b'{"n":1,"t":"\\ud83d\\ude00 ok"}', b'{"n":2,"t":"bad \\udcb2"}', b'{"n":3,"t":"a\\u0000b"}'),
    *('{"n":4,"t":"line\u2028sep\u0085x"}'.encode(), b'{"n":5,"t":"x","t":"y"}', b'{"n":6,"t":"tab\traw"}'),
    *(b'{"n":7,"t":"ok"}   ', b"   ", b'{"n":NaN,"t":"z"}', '{"n":10,"t":"\xe9"}'.encode(), b'{"n":11,"t":"a\xff"}'),
    *(b'[{"n":13}]', b'{"n":14,"t":"a"} {"n":15,"t":"b"}', b'{"n":16,"t":"cut', b'{"n":17,\r"t":"cr"}\r', b'{"n":18,'),
    *(b'"t":"two lines"}', b'{"n":19,"t":"a\x0bb"}', b'{"n":20,"t":"\\u001c"}', b'{"n":12,"t":"last"}'),
)
GOOD = {1: "\U0001f600 ok", 3: "a\x00b", 4: "line\u2028sep\x85x", 7: "ok", 10: "\xe9", 17: "cr", 20: "\x1c", 12: "last"}


def test_a_line_of_json_ends_with_a_line_feed_and_is_one_object(tmp_path: Path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(b"\n".join(LINES))
    bench = Bench(
        FileSource, [], ["n int, t string", "line bigint, reason string"],
        file=str(path), format="jsonl", parsing="permissive",
    )  # fmt: skip
    bench.produce()
    assert dict(bench.rows()) == GOOD
    assert [line for line, _ in bench.rows(1)] == [2, 5, 6, 9, 11, 12, 13, 14, 16, 17, 18]


def test_two_objects_in_one_line_do_not_make_up_for_one_in_two(tmp_path: Path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(b'{"n":1} {"n":2}\n{"n":\n3}\n')
    with pytest.raises(DataError, match="line 1: it is not JSON at character 9"):
        source(path, "n int", format="jsonl").produce()


def test_a_byte_order_mark_at_the_beginning_of_a_file_is_skipped(tmp_path: Path):
    for name, content in (("a.jsonl", b'\xef\xbb\xbf{"n":1}\n'), ("a.csv", b"\xef\xbb\xbfn\n1\n")):
        (tmp_path / name).write_bytes(content)
        bench = source(tmp_path / name, "n int", format=name.rpartition(".")[2])
        bench.produce()
        assert bench.rows() == [(1,)]


CELLS = ["NA", '"NA"', "", '""', "null", "NaN", '" a"', '"a\rb"', '"a\nb"', '"a\r\nb"', '"a""b"', "-", '"-"']
READ = {
    ("", "NA", "null"): (None, "NA", None, "", None, "NaN", " a", "a\rb", "a\nb", "a\r\nb", 'a"b', "-", "-"),
    ("-",): ("NA", "NA", "", "", "null", "NaN", " a", "a\rb", "a\nb", "a\r\nb", 'a"b', None, "-"),
}


@pytest.mark.parametrize("parsing", ["strict", "permissive"])
@pytest.mark.parametrize("nulls", READ)
def test_only_a_text_without_quotes_is_null(nulls: tuple[str, ...], parsing: str, tmp_path: Path):
    path = tmp_path / "c.csv"
    path.write_text("n,t\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(CELLS)), newline="")
    bench = source(path, "n int, t string", nullTexts=nulls, parsing=parsing)
    bench.produce()
    assert tuple(text for _, text in bench.rows()) == READ[nulls]


def test_a_number_in_quotes_may_be_null_where_everything_stands_in_quotes(tmp_path: Path):
    path = tmp_path / "c.csv"
    path.write_text('"n","t"\n"1","NA"\n"",""\n"NA","x"\n')
    bench = source(path, "n int, t string")
    bench.produce()
    assert bench.rows() == [(1, "NA"), (None, ""), (None, "x")]


def invalid() -> pa.Array:
    return pa.array([b"ok", b"a\xff", b"z"], pa.binary()).view(pa.string())


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_columnar_file_with_a_text_that_is_no_utf8_is_refused(format: str, tmp_path: Path):
    table, path = pa.table({"s": invalid()}), tmp_path / f"t.{format}"
    if format == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(DataError, match=rf"t.{format}, .* 1 of 1, row 2, column s: {NOT_UTF8}"):
        source(path, "s string", format=format).produce()


class OneFile:
    place = "the table"

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, part: object) -> str:
        return str(self.path)

    def columns_in(self, schema: pa.Schema, names: list[str]) -> dict[str, str]:
        return {name: name for name in names}


def test_a_lake_with_a_text_that_is_no_utf8_is_refused(tmp_path: Path):
    pq.write_table(pa.table({"s": invalid()}), tmp_path / "p.parquet")
    table: Any = OneFile(tmp_path / "p.parquet")
    part = DataPart("p.parquet", {})
    with pytest.raises(DataError, match=rf"p.parquet of the table, row 2, column s: {NOT_UTF8}"):
        PartReader(table, arrow_schema("s string")).read(TablePosition(1, 0, 0), part, 10)


def test_a_text_of_sqlite_that_is_no_utf8_is_a_bad_tuple(tmp_path: Path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'ok'), (2, CAST(x'61ff' AS TEXT)), (3, 'z')")
    bench = Bench(
        SqlSource, [], ["id bigint, s string"], url=f"sqlite:///{tmp_path / 'a.db'}", table="t", column="id",
        settle=0, until="latest",
    )  # fmt: skip
    with pytest.raises(DataError, match=f"table t, id 2, column s: {NOT_UTF8}"):
        list(produced(bench))


def produced(bench: Bench) -> Iterator[object]:
    offset = None
    for _ in range(4):
        done = bench.produce(offset)
        offset = done.offset
        yield done


def test_nan_is_refused_for_sqlite_which_would_store_null():
    check_numbers({"x": 1.0, "y": math.nan}, ["x"], "sqlite")
    with pytest.raises(NotStorableError, match="a number is NaN, which SQLite does not have") as caught:
        check_numbers({"x": math.nan}, ["x"], "sqlite")
    assert caught.value.column == "x"


class KafkaMessage:
    def __init__(self, key: bytes | None, header: bytes) -> None:
        self._key, self._header = key, header

    def key(self) -> bytes | None:
        return self._key

    def headers(self) -> list[tuple[str, bytes]]:
        return [("h", self._header)]


def test_a_key_or_header_that_is_no_utf8_makes_a_message_a_bad_one():
    messages = [KafkaMessage(None, b"x"), KafkaMessage(b"a\xff", b"x"), KafkaMessage(b"k", b"a\xff")]
    named = {"k": "key", "h": "header.h", "p": "partition"}
    faults = metadata_faults(messages, named, arrow_schema("k string, h string, p int"))
    assert list(faults) == [1, 2]
    assert faults[1].startswith("key: it is not UTF-8 text: byte 2 is 0xff")
    assert "header.h: " in faults[2]
    assert metadata_faults(messages, named, arrow_schema("k binary, h binary, p int")) == {}


CODECS: dict[SchemaKind, Any] = {"avro": (AvroWriter, AvroReader), "protobuf": (ProtobufWriter, ProtobufReader)}
BYTES = "a struct<n: int, s: binary>, l array<binary>, m map<string, struct<q: binary>>, z binary"
ROW: dict[str, Any] = {"a": {"n": 1, "s": b"x"}, "l": [b"a", b"b"], "m": [("k", {"q": b"v"})], "z": b"z"}
WRONG = {
    "a.s": {"a": {"n": 1, "s": b"a\xff"}},
    "l": {"l": [b"z", b"a\xff"]},
    "m.+q": {"m": [("k", {"q": b"a\xff"})]},
    "z": {"z": b"a\xff"},
}


@pytest.mark.slow
@pytest.mark.parametrize("format", CODECS)
def test_a_text_of_a_registered_message_that_is_no_utf8_is_refused_with_its_field(format: SchemaKind):
    writer, reader = CODECS[format]
    texts = BYTES.replace("binary", "string")
    schemas = [RegisteredSchema(1, format, derived(arrow_schema(ddl), format, "clicks"), {}) for ddl in (BYTES, texts)]
    written, read = writer(schemas[0], arrow_schema(BYTES)), reader(schemas[1], arrow_schema(texts))
    path = b"" if format == "avro" else b"\0"
    assert read.read(path + written.write(ROW))["m"] == [("k", {"q": "v"})]
    for field, change in WRONG.items():
        with pytest.raises(ValueError, match=f"^{field}: {NOT_UTF8}"):
            read.read(path + written.write(ROW | change))


def test_a_text_of_avro_that_no_attribute_has_may_be_anything():
    text = '{"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}, {"name": "n", "type": "int"}]}'
    reader = AvroReader(RegisteredSchema(1, "avro", text, {}), arrow_schema("n int"))
    assert reader.read(b"\x04a\xff\x02") == {"n": 1}


def test_the_table_of_a_lookup_has_texts_and_nulls_as_a_file_of_a_source(tmp_path: Path):
    (tmp_path / "t.csv").write_text('k,v\n"NA",12.50\nx,\n')
    bench = Bench(
        Lookup, ["k string"], ["k string, v decimal(5, 2)"], base=tmp_path,
        table="t.csv", key="k", attribute="k", take={"v": "v"},
    )  # fmt: skip
    bench.send([("NA",), ("x",)])
    assert bench.rows() == [("NA", Decimal("12.50")), ("x", None)]
    (tmp_path / "t.csv").write_text("k,v\nx,1.005\n")
    with pytest.raises(ValueError, match=r"table: .*t.csv: line 2, column v: '1.005' is not a valid decimal"):
        Bench(
            Lookup, ["k string"], ["k string, v decimal(5, 2)"], base=tmp_path,
            table="t.csv", key="k", attribute="k", take={"v": "v"},
        ).send([("x",)])  # fmt: skip


def test_only_what_has_a_reason_is_refused_among_many_objects():
    texts = [b'{"x": %d}' % n if n % 100 else b'{"x": "NaN"}' if n % 200 else b'{"x": 1e400}' for n in range(1000)]
    read = read_objects(texts, arrow_schema("x double"))
    assert [each.row for each in read.refused] == [0, 200, 400, 600, 800]
    values = read.batch.column(0).to_pylist()
    assert (len(values), sum(math.isnan(value) for value in values)) == (995, 5)
