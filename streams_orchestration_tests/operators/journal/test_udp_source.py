"""UDPSource: what is in the journal becomes tuples, once."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.standard.network import udp_source
from streams_orchestration.operators.standard.network.udp_source import UDPSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import files_of, port, receiving, reported, wait_for_messages


def bench(directory: Path, schema: str = "k string, n bigint", **parameters: Any) -> tuple[Bench, UDPSource]:
    settings: Any = {"port": 0} | parameters
    made = Bench(UDPSource, [], [schema], results=directory, **settings)
    assert isinstance(made.operator, UDPSource)
    return made, made.operator


def test_each_datagram_is_a_message_and_comes_again(tmp_path: Path):
    made, source = bench(tmp_path, format="csv")
    with receiving(source), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(20):
            sender.sendto(b"a,%d\r\n" % number, ("127.0.0.1", port(source)))
        wait_for_messages(source, 20)
        offset = made.produce(limit=5).offset
    made.restart().produce(offset)
    assert made.rows() == [("a", number) for number in range(20)]


def test_metadata_names_the_sender_and_a_long_datagram_is_left_out(tmp_path: Path):
    metadata = {"who": "sender"}
    made, source = bench(tmp_path, "text string, who string", format="raw", metadata=metadata, maxMessageBytes=10)
    with receiving(source), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(11), ("127.0.0.1", port(source)))
        sender.sendto(b"short", ("127.0.0.1", port(source)))
        who = f"127.0.0.1:{sender.getsockname()[1]}"
        wait_for_messages(source, 1)
        assert reported(source, "counts") == {"too long": 1}
    made.produce()
    assert made.rows() == [("short", who)]


def test_a_port_in_use_is_named(tmp_path: Path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        made, source = bench(tmp_path, port=other.getsockname()[1])
        with receiving(source):
            assert "another process uses the port" in reported(source, "error")
            assert made.produce().offset == {"journal": files_of(source).id, "next": 1}


def test_datagrams_that_wait_have_a_limit_of_number_and_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(udp_source, "MAX_UNWRITTEN_DATAGRAMS", 3)
    monkeypatch.setattr(udp_source, "WAITING_BYTES", 10)

    async def added() -> list[bool]:
        waiting = udp_source.WaitingDatagrams()
        found = [waiting.add(value, "sender") for value in (b"12345", b"123456", b"", b"1234", b"")]
        taken = await waiting.taken()
        found.append(waiting.add(b"", "sender"))
        waiting.written(taken)
        return [*found, waiting.add(b"1234567890", "sender")]

    assert asyncio.run(added()) == [True, False, True, True, False, False, True]
