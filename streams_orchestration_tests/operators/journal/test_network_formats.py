"""TCPSource and UDPSource read the formats of IBM Streams, however their bytes arrive, and what our sinks send."""

from __future__ import annotations

import itertools
import socket
import struct
import zlib
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.spl_binary import encoded
from streams_orchestration.operators.journal.framing import Frames, FramingLostError, blocks_of, split_at, tuples_of
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import read_batches
from streams_orchestration.operators.standard.network.tcp_sink import TCPSink
from streams_orchestration.operators.standard.network.tcp_source import TCPSource
from streams_orchestration.operators.standard.network.udp_source import UDPSource
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.types.written import type_of_text
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import port, receiving, reported, send, wait_for_messages

ROW = "n int NOT NULL, s string NOT NULL"
TYPE = cast("Tuple", type_of_text("tuple<int32 n, rstring s>"))
ROWS = [(1, "a"), (-2, "b,\n"), (3, "")]
BINARY = [encoded({"n": n, "s": s}, TYPE) for n, s in ROWS]

FORMATS: list[tuple[dict[str, Any], str, bytes, list[Any]]] = [
    ({"format": "splCsv"}, ROW, b'1,"a"\r\n\n#no\n -2 , "b,\\n"\n3,', ROWS),
    ({"format": "splCsv", "separator": ";", "eolMarker": "|"}, ROW, b'1;a|-2;"b,\\n"|3;""|', ROWS),
    ({"format": "splCsv", "defaultTuple": {"s": "'none'"}}, ROW, b"1,\n", [(1, "none")]),
    ({"format": "splCsv", "ignoreExtraCSVValues": True}, ROW, b"1,a,2,3\n", [(1, "a")]),
    ({"format": "splCsv"}, "l array<int> NOT NULL", b"[1,2]\n[]\n", [([1, 2],), ([],)]),
    ({"format": "splCsv", "types": {"d": "decimal64"}}, "d string NOT NULL", b"1.50\n", [("1.50",)]),
    ({"format": "splTxt"}, ROW, b'{n=1,s="a"}\n#\n{n=-2,s="b,\\n"}\n{n=3,s=""}', ROWS),
    ({"format": "splTxt", "encoding": "latin-1"}, ROW, b'{n=1,s="\xe4"}\n', [(1, "\xe4")]),
    ({"format": "line"}, "s string NOT NULL", b"one\r\n\n#two\nlast", [("one",), ("",), ("#two",), ("last",)]),
    ({"format": "block", "blockSize": 3}, "b binary NOT NULL", b"abcdefgh", [(b"abc",), (b"def",), (b"gh",)]),
    ({"format": "bin"}, ROW, b"".join(BINARY), ROWS),
    ({"format": "bin", "types": {"e": "enum{red, green}"}}, "e string NOT NULL", b"\0\0\0\1", [("green",)]),
    ({"format": "splCsv", "compression": "gzip"}, ROW, zlib.compress(b"1,a\n", wbits=31), [(1, "a")]),
    ({"format": "json", "compression": "zlib"}, ROW, zlib.compress(b'{"n": 1, "s": "a"}\n'), [(1, "a")]),
]


def source(directory: Path, schema: str, kind: type[Any] = TCPSource, **parameters: Any) -> tuple[Bench, Any]:
    more = {"port": 0} | ({"acknowledge": True} if kind is TCPSource else {})
    made = Bench(kind, [], [schema], results=directory, **more, **parameters)
    return made, made.operator


@pytest.mark.parametrize(("parameters", "schema", "content", "rows"), FORMATS)
def test_a_connection_is_read_in_its_format(
    tmp_path: Path, parameters: dict[str, Any], schema: str, content: bytes, rows: list[Any]
):
    made, operator = source(tmp_path, schema, **parameters)
    with receiving(operator):
        assert send(port(operator), [content]) == len(rows)
        made.produce()
    assert made.rows() == rows


SPLITS: list[tuple[Any, list[bytes]]] = [
    (split_at(b"|"), [b"one|", b"|", b"three|"]),
    (blocks_of(4), [b"abcd", b"efgh"]),
    (tuples_of(TYPE), BINARY),
]


@given(st.sampled_from(SPLITS), st.lists(st.integers(0, 60), max_size=6))
def test_messages_are_the_same_however_the_bytes_arrive(case: tuple[Any, list[bytes]], cuts: list[int]):
    split, messages = case
    content = b"".join(messages)
    frames = Frames(split, 100, skip_empty=False)
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    taken = [each for a, b in itertools.pairwise(bounds) for each in frames.take(content[a:b])]
    assert taken == [message.removesuffix(b"|") for message in messages]
    assert (frames.rest, frames.end()) == (0, [])


def test_damaged_bytes_end_the_connection_and_are_counted(tmp_path: Path):
    with pytest.raises(FramingLostError, match="200 begins no size of a text or collection"):
        Frames(tuples_of(TYPE), 100, skip_empty=False).take(b"\0\0\0\1\xc8")
    made, operator = source(tmp_path, ROW, format="splCsv", compression="gzip")
    with receiving(operator):
        assert send(port(operator), [b"1,a\n" * 9]) == 0
        assert reported(operator, "counts") == {"too long": 1}
    assert made.produce().offset["next"] == 1


def test_nanoseconds_that_a_column_cannot_hold_are_bad_data(tmp_path: Path):
    _, operator = source(tmp_path, "t timestamp NOT NULL", format="bin")
    with pytest.raises(DataError, match="would lose data"):
        operator.decode_messages([struct.pack(">qIi", 1, 1001, 0)])


BAD = [
    ({"format": "splCsv"}, b"x,a", "column n: "),
    ({"format": "splTxt"}, b"{n=1}", ""),
    ({"format": "bin"}, BINARY[0][:-1], "the bytes end within the tuple"),
    ({"format": "bin"}, BINARY[0] + b"x", "1 bytes follow the tuple"),
]


@pytest.mark.parametrize(("parameters", "content", "reason"), BAD)
def test_a_datagram_that_is_no_tuple_is_refused_or_dropped(
    tmp_path: Path, parameters: dict[str, Any], content: bytes, reason: str
):
    good = {"splCsv": b'1,"a"\n', "splTxt": b'{n=1,s="a"}', "bin": BINARY[0]}[parameters["format"]]
    for policy in ("fail", "drop"):
        made, operator = source(tmp_path / policy, ROW, UDPSource, onBadTuple=policy, **parameters)
        with receiving(operator), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for each in (content, good):
                sender.sendto(each, ("127.0.0.1", port(operator)))
            wait_for_messages(operator, 2)
        if policy == "fail":
            with pytest.raises(DataError, match=f"it cannot become a tuple: {reason}"):
                made.produce()
        else:
            made.produce()
            assert made.rows() == [(1, "a")]


@pytest.mark.parametrize("compression", [None, "zlib", "gzip", "bzip2"])
@pytest.mark.parametrize("format", ["splCsv", "splTxt", "bin"])
def test_a_source_reads_what_a_sink_sends(tmp_path: Path, format: str, compression: str | None):
    packed: dict[str, Any] = {} if compression is None else {"compression": compression}
    made, operator = source(tmp_path / "in", ROW, format=format, **packed)
    with receiving(operator):
        bench = Bench(TCPSink, [ROW], results=tmp_path / "out", port=port(operator), format=format, **packed)
        sink = TCPSink(bench.context, bench.parameters)
        sink.open()
        for part in (ROWS[:1], ROWS[1:]):
            bench.send(part)
            for file in bench.commit():
                sink.deliver(DeliveryKey("life", "Out", -1, 1, 0, 1), read_batches(file.pending))
        wait_for_messages(operator, len(ROWS))
        sink.close()
        made.produce()
    assert made.rows() == ROWS


WRONG = [
    ({"format": "block"}, "b binary", "format block and blockSize require each other"),
    ({"format": "block", "blockSize": 3}, ROW, "exactly one binary attribute gets the bytes"),
    ({"format": "line"}, ROW, "exactly one string attribute gets the line"),
    ({"format": "bin", "types": {"s": "decimal64"}}, ROW, "values of type decimal64 are not written"),
    ({"format": "json", "eolMarker": "|"}, ROW, "eolMarker is for format splCsv or splTxt or line, not for json"),
    ({"format": "splCsv", "framing": "length"}, ROW, "framing is for the formats json, csv and raw"),
    ({"format": "splCsv", "defaultTuple": {"x": 1}}, ROW, "defaultTuple: the stream has no attribute x"),
    ({"format": "splTxt", "encoding": "utf-16"}, ROW, "is not an encoding with a line feed of one byte"),
]


@pytest.mark.parametrize(("parameters", "schema", "message"), WRONG)
def test_wrong_parameters_are_refused(tmp_path: Path, parameters: dict[str, Any], schema: str, message: str):
    with pytest.raises(ValueError, match=message):
        source(tmp_path, schema, **parameters)
