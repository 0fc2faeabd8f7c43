"""TCPSink and UDPSink send each tuple in order, and a TCPSink sends again what a broken connection did not take."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.errors.errors import DataError, RefusedError
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, read_batches
from streams_orchestration.operators.standard.network import tcp_sink
from streams_orchestration.operators.standard.network.tcp_sink import TCPSink
from streams_orchestration.operators.standard.network.tcp_source import TCPSource
from streams_orchestration.operators.standard.network.udp_sink import UDPSink
from streams_orchestration.operators.standard.network.udp_source import UDPSource
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import receiving, wait_for_messages
from streams_orchestration_tests.waiting import until

ROW = "n int, s string"
KEY = DeliveryKey("life", "Out", -1, 1, 0, 1)
TIMEOUT_SECONDS = 20.0


def sink(kind: type[EpochSink], directory: Path, schema: str = ROW, **parameters: Any) -> tuple[EpochSink, Bench]:
    bench = Bench(kind, [schema], results=directory, **parameters)
    made = kind(bench.context, bench.parameters)
    made.open()
    return made, bench


def batches(bench: Bench, rows: list[Any]) -> Iterator[TupleBatch]:
    bench.send(rows)
    for file in bench.commit():
        yield from read_batches(file.pending)


@contextlib.contextmanager
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_SECONDS)
        yield server


def content(connection: socket.socket) -> bytes:
    """Return all bytes of a connection that the sender closes."""
    connection.settimeout(TIMEOUT_SECONDS)
    with connection, connection.makefile("rb") as file:
        return file.read()


FORMATS = [
    ({}, ROW, [(1, "a"), (2, None)], b'{"n":1,"s":"a"}\n{"n":2,"s":null}\n'),
    ({"format": "csv", "separator": ";"}, ROW, [(1, "a;b")], b'1;"a;b"\n'),
    ({"format": "splCsv"}, ROW, [(1, 'a"')], b'1,"a\\""\n'),
    ({"format": "splCsv", "quoteStrings": False, "eolMarker": "|"}, ROW, [(1, "a"), (2, "b")], b"1,a|2,b|"),
    ({"format": "splTxt"}, ROW, [(1, "a")], b'{n=1,s="a"}\n'),
    ({"format": "line", "suppress": ["n"], "encoding": "latin-1"}, ROW, [(1, "\xe4")], b"\xe4\n"),
    ({"format": "block"}, "b binary", [(b"ab",), (b"c",)], b"abc"),
]


@pytest.mark.parametrize(("parameters", "schema", "rows", "expected"), FORMATS)
def test_tuples_are_sent_in_their_format(
    tmp_path: Path, parameters: dict[str, Any], schema: str, rows: list[Any], expected: bytes
):
    with listener() as server:
        made, bench = sink(TCPSink, tmp_path, schema, port=server.getsockname()[1], **parameters)
        made.deliver(KEY, batches(bench, rows))
        connection, _ = server.accept()
        made.close()
        assert content(connection) == expected


def test_a_delivery_goes_to_the_next_connection_when_the_receiver_has_closed_the_last_one(tmp_path: Path):
    with listener() as server:
        made, bench = sink(TCPSink, tmp_path, port=server.getsockname()[1], format="splCsv")
        made.deliver(KEY, batches(bench, [(1, "a")]))
        first, _ = server.accept()
        assert first.recv(100) == b'1,"a"\n'
        first.shutdown(socket.SHUT_RDWR)
        first.close()
        made.deliver(KEY, batches(bench, [(2, "b")]))
        second, _ = server.accept()
        made.close()
        assert content(second) == b'2,"b"\n'


def test_a_receiver_that_is_away_is_named_and_nothing_is_lost(tmp_path: Path):
    with listener() as server:
        port = server.getsockname()[1]
    made, bench = sink(TCPSink, tmp_path, port=port, format="splCsv")
    waiting = list(batches(bench, [(1, "a")]))
    with pytest.raises(ConnectionError, match=f"address 127.0.0.1, port {port}: Connection refused"):
        made.deliver(KEY, iter(waiting))
    made.close()
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(TIMEOUT_SECONDS)
        made.open()
        made.deliver(KEY, iter(waiting))
        connection, _ = server.accept()
        made.close()
        assert content(connection) == b'1,"a"\n'


def test_a_server_keeps_its_port_until_a_client_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tcp_sink, "CLIENT_SECONDS", 0.01)
    with listener() as server:
        port = server.getsockname()[1]
    made, bench = sink(TCPSink, tmp_path, role="server", port=port, format="splCsv")
    waiting = list(batches(bench, [(1, "a")]))
    with pytest.raises(ConnectionError, match="no client has connected"):
        made.deliver(KEY, iter(waiting))
    made.close()
    got: list[bytes] = []
    client = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
    reading = threading.Thread(target=lambda: got.append(content(client)))
    reading.start()
    monkeypatch.setattr(tcp_sink, "CLIENT_SECONDS", TIMEOUT_SECONDS)
    made.open()
    made.deliver(KEY, iter(waiting))
    made.close()
    reading.join(TIMEOUT_SECONDS)
    assert got == [b'1,"a"\n']
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)


def test_each_tuple_is_a_datagram(tmp_path: Path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(TIMEOUT_SECONDS)
        made, bench = sink(UDPSink, tmp_path, address="127.0.0.1", port=receiver.getsockname()[1], format="csv")
        made.deliver(KEY, batches(bench, [(1, "a"), (2, "b")]))
        assert [receiver.recv(100), receiver.recv(100)] == [b"1,a\n", b"2,b\n"]
        with pytest.raises(RefusedError, match="a tuple has 70003 bytes, but a datagram has at most 65507"):
            made.deliver(KEY, batches(bench, [(1, "a" * 70_000)]))
        made.close()


def test_a_text_beyond_the_encoding_is_named(tmp_path: Path):
    with listener() as server:
        parameters = {"port": server.getsockname()[1], "format": "splCsv", "encoding": "latin-1"}
        made, bench = sink(TCPSink, tmp_path, **parameters)
        with pytest.raises(DataError, match="'\u20ac' is not a character of latin-1"):
            made.deliver(KEY, batches(bench, [(1, "\u20ac")]))
        made.close()


NAMED = [
    (TCPSource, TCPSink, "server", "client"),
    (UDPSource, UDPSink, "", ""),
    (TCPSource, TCPSink, "client", "server"),
]


@pytest.mark.parametrize(("source_kind", "sink_kind", "source_role", "sink_role"), NAMED)
def test_a_client_finds_a_server_by_its_name(
    tmp_path: Path, source_kind: type[JournalSource], sink_kind: type[EpochSink], source_role: str, sink_role: str
):
    given: dict[str, Any] = {"name": "orders/7", "format": "csv"}
    roles: list[dict[str, Any]] = [{"role": each} if each else {} for each in (source_role, sink_role)]
    source = Bench(source_kind, [], [ROW], results=tmp_path, **given, **roles[0])
    made, bench = sink(sink_kind, tmp_path, **given, **roles[1])
    waiting = list(batches(bench, [(1, "a"), (2, "b")]))
    if source_role != "client":
        with pytest.raises(ConnectionError, match="no server of this state directory has the name orders/7 now"):
            made.deliver(KEY, iter(waiting))
    receiver = source.operator
    assert isinstance(receiver, JournalSource)
    names = bench.context.names
    with receiving(receiver):
        if source_role != "client":
            until(lambda: any(names.glob("orders*")), lambda: "no server is registered")
        made.deliver(KEY, iter(waiting))
        wait_for_messages(receiver, 2)
        source.produce()
        assert source.rows() == [(1, "a"), (2, "b")]
    made.close()
    assert list(names.iterdir()) == []


WRONG = [
    ({"port": None}, "the parameter port is missing; name a port, or give the server a name"),
    ({"name": "x"}, "name and port exclude each other in a client"),
    ({"format": "line"}, "exactly one string attribute"),
    ({"format": "json", "eolMarker": "|"}, "eolMarker is for format"),
    ({"suppress": ["x"]}, "the input stream has no attribute x"),
    ({"port": 0}, "role client needs a port"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_wrong_parameters_are_refused(tmp_path: Path, parameters: dict[str, Any], message: str):
    given: dict[str, Any] = {"port": 9} | parameters
    with pytest.raises(ValueError, match=message):
        Bench(TCPSink, [ROW], results=tmp_path, **given)
