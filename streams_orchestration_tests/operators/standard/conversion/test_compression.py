"""Compress and Decompress are inverses however their bytes are cut, and Python's modules read and write the same."""

from __future__ import annotations

import bz2
import gzip
import itertools
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.conversion.compress import Compress
from streams_orchestration.operators.standard.conversion.decompress import Decompress
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

FORMATS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "zlib": (zlib.compress, zlib.decompress),
    "gzip": (gzip.compress, gzip.decompress),
    "bzip2": (bz2.compress, bz2.decompress),
}
CONTENT = b"".join(b"%d," % (each * each) for each in range(20_000))
CHUNK = 64 * 1024
MARK = Punctuation.WINDOW


def parts(content: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]
    return [content[begin:end] for begin, end in itertools.pairwise(bounds)]


def chunks(content: bytes) -> list[tuple[bytes]]:
    return [(content[at : at + CHUNK],) for at in range(0, len(content), CHUNK)]


def joined(items: list[Any]) -> bytes:
    return b"".join(data for (data,) in items)


def compressing(name: str, **more: Any) -> Bench:
    return Bench(Compress, ["data binary"], ["packed binary"], compression=name, **more)


def decompressing(name: str, **more: Any) -> Bench:
    return Bench(Decompress, ["packed binary"], ["data binary"], compression=name, **more)


@given(st.sampled_from(sorted(FORMATS)), st.lists(st.integers(0, 1 << 20), max_size=4), st.booleans())
@examples(30)
def test_python_reads_what_compress_writes(name: str, cuts: list[int], restarts: bool):
    bench = compressing(name)
    for part in parts(CONTENT, cuts):
        bench.send([(part,)])
        if restarts:
            bench.restart()
    *tuples, mark = bench.end().items()
    assert FORMATS[name][1](joined(tuples)) == CONTENT
    assert mark == MARK


@given(st.sampled_from(sorted(FORMATS)), st.lists(st.integers(0, 1 << 20), max_size=4), st.booleans())
@examples(30)
def test_decompress_reads_what_python_writes(name: str, cuts: list[int], restarts: bool):
    bench = decompressing(name)
    half = len(CONTENT) // 2
    packed = FORMATS[name][0](CONTENT[:half]) + FORMATS[name][0](CONTENT[half:])  # streams may follow each other
    for part in parts(packed, cuts):
        bench.send([(part,)])
        if restarts:
            bench.restart()
    assert bench.end().items() == [*chunks(CONTENT), MARK]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_mark_ends_a_stream_where_it_is_to_flush(name: str):
    pack, unpack = FORMATS[name]
    bench = compressing(name, flushOnPunct=True)
    bench.send([(b"one",), (b"two",)]).mark(MARK).mark(MARK)
    items = bench.send([(b"three",)]).end().items()
    marks = [place for place, item in enumerate(items) if item == MARK]
    texts = [joined(items[: marks[0]]), joined(items[marks[1] + 1 :])]
    assert list(map(unpack, texts)) == [b"onetwo", b"three"]
    bench = decompressing(name, flushOnPunct=True)
    bench.send([(pack(b"one"),)]).mark(MARK).send([(pack(b"two") + pack(b"three"),)])
    assert bench.end().items() == [(b"one",), MARK, (b"twothree",)]


def test_a_mark_passes_decompress_only_after_tuples():
    bench = decompressing("gzip", flushOnPunct=True).mark(MARK)
    bench.send([(FORMATS["gzip"][0](b"one"),)]).restart().mark(MARK).restart().mark(MARK)
    bench.send([(b"",)]).restart().mark(MARK)
    assert bench.end().items() == [(b"one",), MARK, MARK]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_tuple_may_be_a_stream(name: str):
    pack = FORMATS[name][0]
    bench = decompressing(name, flushPerTuple=True)
    bench.send([(pack(CONTENT),), (pack(b""),)]).mark(MARK).send([(pack(b"x"),)])
    assert bench.end().items() == [(CONTENT,), (b"",), MARK, (b"x",)]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_bytes_in_another_format_or_without_an_end_are_refused(name: str):
    with pytest.raises(DataError, match=f"not compressed by {name}"):
        decompressing(name).send([(b"plain text",)])
    with pytest.raises(DataError, match=f"end within a stream that is compressed by {name}"):
        decompressing(name).send([(FORMATS[name][0](CONTENT)[:-4],)]).end()


def test_input_and_output_are_bytes():
    with pytest.raises(ValueError, match="the output stream must have exactly one binary attribute"):
        Bench(Compress, ["data binary"], ["packed string"], compression="gzip")
    with pytest.raises(ValueError, match="compressionInput: name the attribute that contains the bytes: a, b"):
        Bench(Compress, ["a binary, b binary"], ["packed binary"], compression="gzip")
    with pytest.raises(ValueError, match="decompressionInput: a is int, but binary or string is expected"):
        Bench(Decompress, ["a int"], ["data binary"], compression="gzip")
