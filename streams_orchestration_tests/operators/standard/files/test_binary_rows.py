"""The format bin: tuples in the binary encoding of IBM Streams, whole and in pieces, with marks between them."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.spl_binary import IncompleteError, decoder, encoded
from streams_orchestration.operators.standard.conversion.parse import Parse
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.spl.types.written import type_of_text
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

VALUES = [
    ("int8", -1, "ff"),
    ("uint16", 258, "0102"),
    ("int32", -2, "fffffffe"),
    ("int64", 1, "0000000000000001"),
    ("uint64", 2**64 - 1, "ff" * 8),
    ("boolean", True, "01"),
    ("float32", 1.0, "3f800000"),
    ("float64", -2.0, "c000000000000000"),
    ("rstring", "\xe4", "02c3a4"),
    ("rstring", "a" * 128, "8000000080" + "61" * 128),
    ("ustring", "\xe4b", "0200e40062"),
    ("enum{a, b}", "b", "00000001"),
    ("timestamp", 1_000_000_002, "0000000000000001" + "00000002" + "00000000"),
    ("blob", b"\x07", "000000000000000107"),
    ("optional<int8>", None, "00"),
    ("optional<int8>", 5, "0105"),
    ("list<int8>", [1, 2], "020102"),
    ("set<rstring>", {"x": None}, "010178"),
    ("map<rstring, int8>", {"k": 1}, "01016b01"),
    ("tuple<int8 a, list<boolean> b>", {"a": 1, "b": []}, "0100"),
]


@pytest.mark.parametrize(("type_", "value", "written"), VALUES, ids=[f"{each[0]} {each[2][:9]}" for each in VALUES])
def test_a_value_has_the_bytes_that_streams_documents(type_: str, value: Any, written: str):
    own = type_of_text(type_)
    data = bytes.fromhex(written)
    assert encoded(value, own) == data
    assert decoder(own)(data, 0) == (value, len(data))
    for size in range(len(data)):
        with pytest.raises(IncompleteError):
            decoder(own)(data[:size], 0)


KIND = (
    "n int NOT NULL, s string NOT NULL, o string, x double NOT NULL, u ubigint NOT NULL, l array<string> NOT NULL, "
    "m map<string, int> NOT NULL, t struct<a: int, b: boolean> NOT NULL, at timestamp_ns NOT NULL"
)
TYPES = {"o": "optional<rstring>"}
TEXTS = st.text("ab\xe4\n", max_size=4)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**31), 2**31 - 1), TEXTS, st.none() | TEXTS, st.floats(allow_nan=False),
        st.integers(0, 2**64 - 1), st.lists(TEXTS, max_size=2),
        st.dictionaries(TEXTS, st.integers(-5, 5), max_size=2).map(lambda each: list(each.items())),
        st.fixed_dictionaries({"a": st.integers(-5, 5), "b": st.booleans()}),
        st.integers(0, 10**6).map(lambda each: dt.datetime.fromtimestamp(each, dt.UTC)),
    ),
    max_size=4,
)  # fmt: skip


@drawn(rows=ROWS)
@examples(60)
def test_a_source_reads_what_a_sink_wrote(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]):
    place = tmp_path_factory.mktemp("files")
    bench = Bench(FileSink, [KIND], results=place, file="out", format="bin", closeMode="batch", types=TYPES).send(rows)
    for part in bench.commit():
        settings = FileSink.read_with(bench.context, bench.parameters)
        assert settings is not None
        settings.pop("schema")
        given: dict[str, Any] = settings | {"file": part.pending.name}
        reading = Bench(FileSource, [], [KIND], part.pending.parent, **given)
        reading.produce()
        assert reading.rows() == rows


@drawn(st.lists(TEXTS, max_size=5), st.lists(st.integers(0, 40), max_size=4))
@examples(60)
def test_tuples_are_the_same_however_the_bytes_arrive(texts: list[str], cuts: list[int]):
    type_ = type_of_text("tuple<int16 n, rstring s>")
    content = b"".join(encoded({"n": number, "s": text}, type_) for number, text in enumerate(texts))
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    bench = Bench(Parse, ["b binary"], ["n smallint NOT NULL, s string NOT NULL"], format="bin")
    for begin, end in itertools.pairwise(bounds):
        bench.send([(content[begin:end],)]).restart()
    assert bench.end().rows() == list(enumerate(texts))


def test_marks_are_bytes_between_tuples(tmp_path: Path):
    parameters: dict[str, Any] = {"file": "out", "format": "bin", "closeMode": "batch", "writePunctuations": True}
    bench = Bench(FileSink, ["n tinyint NOT NULL"], results=tmp_path, **parameters)
    bench.send([(1,), (2,)]).mark().send([(3,)]).mark(Punctuation.FINAL)
    assert [part.pending.read_bytes() for part in bench.commit()] == [b"\0\1\0\2\1\0\3\2"]


def test_values_without_bytes_are_named(tmp_path: Path):
    null = Bench(FileSink, ["n int"], results=tmp_path, file="out", format="bin", closeMode="batch").send([(None,)])
    with pytest.raises(DataError, match="a value of type int32 is null; types may say that it is optional"):
        null.commit()
    with pytest.raises(ValueError, match="values of type decimal64 are not written"):
        Bench(FileSink, ["d string"], results=tmp_path, file="out", format="bin", types={"d": "decimal64"})
    (tmp_path / "short").write_bytes(b"\0\0\0\1\0")
    source = Bench(FileSource, [], ["n int NOT NULL"], tmp_path, file="short", format="bin")
    with pytest.raises(DataError, match="short: the bytes end within tuple 2"):
        source.produce()
