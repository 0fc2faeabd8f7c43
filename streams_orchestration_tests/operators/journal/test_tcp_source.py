"""TCPSource: what a sender was told of becomes tuples, and again after a reset; what is in the way is named."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError, UnknownAttributeError
from streams_orchestration.operators.journal import listening
from streams_orchestration.operators.journal.framing import Frames, Framing, FramingLostError
from streams_orchestration.operators.journal.writing import Journal, JournalFullError
from streams_orchestration.operators.standard.network import tcp_source
from streams_orchestration.operators.standard.network.tcp_source import TCPSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import (
    another,
    files_of,
    lengths,
    lines,
    port,
    receiving,
    reported,
    send,
)
from streams_orchestration_tests.waiting import until

ROW = "k string, n bigint"


def bench(directory: Path, schema: str = ROW, *more: str, **parameters: Any) -> tuple[Bench, TCPSource]:
    made = Bench(TCPSource, [], [schema, *more], results=directory, **({"port": 0, "acknowledge": True} | parameters))
    assert isinstance(made.operator, TCPSource)
    return made, made.operator


def row(number: int) -> bytes:
    return b'{"k": "k%d", "n": %d}' % (number % 3, number)


def numbers(made: Bench) -> list[int]:
    return [values[1] for values in made.rows()]


@given(
    st.sampled_from(["lines", "length"]),
    st.lists(st.binary(max_size=9).map(lambda each: each.replace(b"\n", b"").rstrip(b"\r")), max_size=6),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_messages_are_the_same_however_the_bytes_arrive(framing: Framing, messages: list[bytes], cuts: list[int]):
    content = (lines if framing == "lines" else lengths)(*messages)
    frames = Frames(framing, 10, skip_empty=False)
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    taken = [each for a, b in itertools.pairwise(bounds) for each in frames.take(content[a:b])]
    assert taken == messages
    assert frames.rest == 0


@pytest.mark.parametrize(("framing", "content"), [("lines", b"12345678901"), ("length", lengths(b"12345678901")[:4])])
def test_a_message_that_is_too_long_is_refused_before_it_is_there(framing: Framing, content: bytes):
    frames = Frames(framing, 5, skip_empty=False)
    with pytest.raises(FramingLostError, match="longer than maxMessageBytes"):
        frames.take(content)


FORMATS = [
    ({"format": "json"}, lines(b'{"k": "a", "n": 1}', b"", b'{"n": 2}'), [("a", 1), (None, 2)]),
    ({"format": "csv", "separator": ";"}, lines(b"a;1\r", b"b;2"), [("a", 1), ("b", 2)]),
    ({"format": "json", "framing": "length"}, lengths(b'{"k": "a\\n",\n "n": 1}'), [("a\n", 1)]),
]


@pytest.mark.parametrize(("parameters", "content", "wanted"), FORMATS)
def test_content_becomes_tuples(tmp_path: Path, parameters: dict[str, Any], content: bytes, wanted: list[tuple]):
    made, source = bench(tmp_path, **parameters)
    with receiving(source):
        send(port(source), [content])
        made.produce()
    assert made.rows() == wanted


def test_metadata_names_number_sender_and_time(tmp_path: Path):
    schema = "text string, number bigint, who string, at timestamp"
    metadata = {"number": "number", "who": "sender", "at": "received"}
    made, source = bench(tmp_path, schema, format="raw", metadata=metadata)
    with receiving(source):
        assert send(port(source), [lines(b"a", b"b")]) == 2
        made.produce()
    (one, two) = made.rows()
    assert (one[0], one[1], two[0], two[1]) == ("a", 1, "b", 2)
    assert re.fullmatch(r"127\.0\.0\.1:\d+", one[2])
    assert one[3].year >= 2026


def test_acknowledged_messages_are_replayed_from_any_offset_and_over_another_process(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        assert send(port(source), [lines(*map(row, range(5)))]) == 5
        middle = made.produce(limit=3)
    made.restart()
    (tmp_path / "_outputs" / "TCPSource" / "journal" / "receiver.json").unlink()
    with receiving(source):
        assert send(port(source), [lines(*map(row, range(5, 8)))]) == 3
    made.sent.clear()
    end = made.produce(middle.offset)
    assert numbers(made) == [3, 4, 5, 6, 7]
    assert not end.exhausted
    made.sent.clear()
    made.produce()
    assert numbers(made) == list(range(8))


def test_a_message_that_did_not_end_is_left_out_and_one_that_is_too_long_closes_its_connection(tmp_path: Path):
    made, source = bench(tmp_path, maxMessageBytes=50)
    with receiving(source):
        assert send(port(source), [lines(row(1)), row(2)[:5]]) == 1
        assert reported(source, "counts") == {"cut off": 1}
        with pytest.raises((AssertionError, OSError)):
            assert send(port(source), [bytes(100)]) == 1
        assert send(port(source), [lines(row(3))]) == 1
    made.produce()
    assert numbers(made) == [1, 3]


def test_open_connections_are_closed_when_it_ends_and_nothing_is_logged_of_that(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    _, source = bench(tmp_path)
    with contextlib.ExitStack() as stack:
        with receiving(source):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port(source)), 20.0))
            connection.sendall(lines(row(1)))
            assert connection.recv(10) == b"1\n"
        assert connection.recv(10) == b""
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_more_connections_than_wanted_are_closed(tmp_path: Path):
    _, source = bench(tmp_path, connections=1)
    with receiving(source):
        address = ("127.0.0.1", port(source))
        with socket.create_connection(address) as first, first.makefile("rb") as answers:
            first.sendall(lines(row(1)))
            assert answers.readline() == b"1\n"
            with socket.create_connection(address) as second:
                assert second.recv(1) == b""
            first.sendall(lines(row(2)))
            assert answers.readline() == b"2\n"


BAD = [
    ("drop", [("k0", 0), ("k2", 2)]),
    ("stream", [("k0", 0), ("k2", 2)]),
]


@pytest.mark.parametrize(("what", "wanted"), BAD)
def test_a_message_that_is_no_tuple_is_dropped_or_routed(tmp_path: Path, what: str, wanted: list[tuple]):
    second = ["number bigint, sender string, reason string, message string"] if what == "stream" else []
    made, source = bench(tmp_path, ROW, *second, onBadTuple=what)
    with receiving(source):
        send(port(source), [lines(row(0), b"{nonsense", row(2))])
        made.produce()
    assert made.rows() == wanted
    if second:
        ((number, _, _, message),) = made.rows(1)
        assert (number, message) == (2, "{nonsense")


def test_a_message_without_a_required_value_is_no_tuple(tmp_path: Path):
    made, source = bench(tmp_path, "k string, n bigint NOT NULL", onBadTuple="drop")
    with receiving(source):
        send(port(source), [lines(row(0), b'{"k": "k1"}', row(2))])
        made.produce()
    assert (made.rows(), made.metrics["dropped"]) == ([("k0", 0), ("k2", 2)], 1)


def test_a_message_that_is_no_tuple_fails_with_its_number_and_sender(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        send(port(source), [lines(row(0), b"{nonsense")])
        with pytest.raises(
            DataError, match=r"message 2 of the journal, from 127\.0\.0\.1:\d+: it cannot become a tuple"
        ):
            made.produce()


def test_a_port_in_use_is_waited_for_and_then_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        made, source = bench(tmp_path, port=taken)
        with receiving(source):
            error = reported(source, "error")
            assert error == (
                f"address 127.0.0.1, port {taken}: another process uses the port; end that process, "
                "or name another port"
            )
            made.produce()
            assert made.operator.pause() == 0.5  # type: ignore[attr-defined]
    monkeypatch.setattr(listening, "TAKEN_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", taken)), receiving(source):
        reported(source, "refused")
        with pytest.raises(DataError, match=f"port {taken}: another process uses the port"):
            made.produce()


@pytest.mark.parametrize(
    ("address", "wanted"),
    [("192.0.2.1", "this machine has no such address"), ("no.such.name.invalid", "the name is unknown")],
)
def test_an_address_of_another_machine_is_refused(tmp_path: Path, address: str, wanted: str):
    made, source = bench(tmp_path, address=address)
    with receiving(source):
        reported(source, "refused")
        with pytest.raises(DataError, match=wanted):
            made.produce()


def test_a_host_that_takes_over_waits_for_the_one_before(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    made, source = bench(tmp_path)
    with receiving(source) as before:
        send(port(source), [lines(row(1))])
        with receiving(source):
            until(lambda: "another process receives" in caplog.text, lambda: caplog.text)
            (tmp_path / "_outputs" / "TCPSource" / "journal" / "receiver.json").unlink()
            before.stop()
            assert send(port(source), [lines(row(2))]) == 1
    made.produce()
    assert numbers(made) == [1, 2]


def test_a_redeploy_with_another_port_goes_on_with_the_same_journal(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source) as receivers:
        first = port(source)
        send(first, [lines(row(1))])
        receivers.receive_for({"TCPSource": another(source)})
        assert send(first, [lines(row(2))]) == 1  # nothing has changed, so it listens on
        other = TCPSource(source.context, source.parameters.model_copy(update={"connections": 7}))
        (tmp_path / "_outputs" / "TCPSource" / "journal" / "receiver.json").unlink()
        receivers.receive_for({"TCPSource": another(other)})
        assert send(port(source), [lines(row(3))]) == 1
    made.produce()
    assert numbers(made) == [1, 2, 3]


def test_an_operator_of_another_name_reads_the_journal_before_to_its_end(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        send(port(source), [lines(*map(row, range(5)))])
    offset = made.produce(limit=2).offset
    renamed, other = bench(tmp_path)
    renamed.context.name = "Renamed"
    renamed.operator.setup()
    with receiving(other):
        send(port(other), [lines(row(5))])
        for _ in range(3):
            offset = renamed.produce(offset, 2).offset
    assert numbers(renamed) == [2, 3, 4, 5]


def test_a_journal_that_is_gone_is_named_or_passed_over_with_a_count(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        send(port(source), [lines(row(1))])
    gone = {"journal": "of-another-machine", "next": 5}
    with pytest.raises(DataError, match=r"journal: the journal is missing; it has the next message, 5; onLostData:"):
        made.produce(gone)
    skipping, _ = bench(tmp_path, onLostData="skip")
    skipping.produce(gone)
    made.produce(TCPSource.restored(gone))
    assert numbers(skipping) == numbers(made) == [1]


def test_messages_lost_from_the_journal_before_are_named_or_passed_over_with_a_count(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        send(port(source), [lines(*map(row, range(5)))])
    offset = made.produce(limit=2).offset
    for _, path in files_of(source).segments():
        path.unlink()
    renamed, other = bench(tmp_path)
    skipping, _ = bench(tmp_path, onLostData="skip")
    for each in (renamed, skipping):
        each.context.name = "Renamed"
        each.operator.setup()
    with receiving(other):
        send(port(other), [lines(row(9))])
    with pytest.raises(DataError, match=r"message 3 is the next to read, but only messages from 6 on are left; onLost"):
        renamed.produce(offset)
    offset = skipping.produce(offset).offset
    assert (offset["next"], numbers(skipping)) == (6, [])
    skipping.produce(offset)
    assert numbers(skipping) == [9]


def test_a_sender_waits_while_the_journal_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, source = bench(tmp_path)
    append, full, tried = Journal.append, threading.Event(), threading.Event()
    full.set()

    def appending(journal: Journal, arrivals: Any) -> int:
        if full.is_set():
            tried.set()
            raise JournalFullError
        return append(journal, arrivals)

    monkeypatch.setattr(Journal, "append", appending)
    with (
        receiving(source),
        socket.create_connection(("127.0.0.1", port(source)), 20.0) as sender,
        sender.makefile("rb") as answers,
    ):
        sender.sendall(lines(row(1)))
        assert tried.wait(20.0)
        assert made.produce().offset["next"] == 1
        full.clear()
        assert answers.readline() == b"1\n"
    made.produce()
    assert numbers(made) == [1]


@pytest.mark.usefixtures("soon_again")
def test_a_client_connects_reads_and_connects_again(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        made, source = bench(tmp_path, role="client", port=server.getsockname()[1])
        with receiving(source):
            for number in range(3):
                connection, _ = server.accept()
                with connection, connection.makefile("rb") as answers:
                    connection.sendall(lines(row(number)))
                    assert answers.readline() == b"1\n"
    made.produce()
    assert numbers(made) == [0, 1, 2]
    with receiving(source):
        error = reported(source, "error", "Connection refused", "Connect call failed")  # the server has closed its port
    assert error.startswith("address 127.0.0.1, port ")


WRONG = [
    ({"port": 70000}, "less than or equal to 65535"),
    ({"role": "client"}, "role client needs a port"),
    ({"maxMessageBytes": 1 << 30}, "less than eight messages"),
    ({"journalLimit": 5}, "greater than or equal to"),
    ({"metadata": {"n": "weather"}}, "weather is not one of number, received, sender"),
    ({"metadata": {"k": "number"}}, "number needs a bigint"),
    ({"onBadTuple": "stream"}, "and a second output port"),
    ({"separator": ";"}, "separator is for format csv only"),
]


@pytest.mark.parametrize(("parameters", "wanted"), WRONG)
def test_wrong_parameters_of_a_tcp_source_are_refused_before_it_runs(
    tmp_path: Path, parameters: dict[str, Any], wanted: str
):
    with pytest.raises(ValueError, match=wanted):
        bench(tmp_path, **parameters)


def test_a_tcp_source_is_refused_in_a_parallel_region_and_with_attributes_that_are_not_there(tmp_path: Path):
    with pytest.raises(UnknownAttributeError, match="no attribute m"):
        bench(tmp_path, metadata={"m": "number"})
    _, source = bench(tmp_path)
    source.context.max_channels = 2
    with pytest.raises(ValueError, match="put the source in front of the region"):
        TCPSource.check(source.context, source.parameters)
    assert files_of(source).id is None  # nothing was made


def test_silent_connections_give_way_and_those_that_send_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tcp_source, "SILENT_SECONDS", 0.0)
    made, source = bench(tmp_path, connections=3)
    with receiving(source), contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(socket.create_connection(("127.0.0.1", port(source)), 20.0))
        assert send(port(source), [lines(row(1))]) == 1
        assert reported(source, "counts")["silent"] > 0
    made.produce()
    assert numbers(made) == [1]


def test_an_address_has_as_many_connections_as_it_may(tmp_path: Path):
    _, source = bench(tmp_path, connectionsPerAddress=1)
    with receiving(source), contextlib.ExitStack() as stack:
        first = stack.enter_context(socket.create_connection(("127.0.0.1", port(source)), 20.0))
        first.sendall(lines(row(1)))
        assert first.recv(10) == b"1\n"
        assert stack.enter_context(socket.create_connection(("127.0.0.1", port(source)), 20.0)).recv(1) == b""
        other = stack.enter_context(socket.create_connection(("127.0.0.1", port(source)), 20.0, ("127.0.0.2", 0)))
        other.sendall(lines(row(2)))
        assert other.recv(10) == b"1\n"
