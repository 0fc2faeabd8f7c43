"""Errors of brokers: some are refusals for good, which stop the source at once, others pass and are waited for."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nats import errors as nats_errors
from nats.js import errors as jetstream_errors
from redis import exceptions as redis_errors
from redis._parsers.base import BaseParser

from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.standard.systems.mqtt_source import MQTTSource
from streams_orchestration.operators.standard.systems.nats_source import NATSSource
from streams_orchestration.operators.standard.systems.redis_source import RedisSource
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.hosts import receivers
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import receiving, reported

ROW = "n bigint"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses before a retry."""
    monkeypatch.setattr(receivers, "PAUSES", Pauses(0.05, 0.05))


def raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


UNTRUSTED = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
CLOSED = ssl.SSLEOFError(8, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol")
REDIS_ANSWERS = [
    ("WRONGPASS invalid username-password pair or user is disabled.", True),
    ("NOAUTH Authentication required.", True),
    ("NOPERM User reader has no permissions to run the 'xreadgroup' command", True),
    ("ERR AUTH <password> called without any password configured for the default user.", True),
    ("WRONGTYPE Operation against a key holding the wrong kind of value", True),
    ("ERR unknown command 'XREADGROUP'", True),
    ("MOVED 3999 127.0.0.1:6381", True),
    ("DENIED Redis is running in protected mode", True),
    ("LOADING Redis is loading the dataset in memory", False),
    ("READONLY You can't write against a read only replica.", False),
    ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", False),
    ("CLUSTERDOWN The cluster is down", False),
    ("TRYAGAIN Multiple keys request during rehashing of slot", False),
    ("OOM command not allowed when used memory > 'maxmemory'.", False),
    ("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", False),
    ("NOREPLICAS Not enough good replicas to write.", False),
    ("BUSY Redis is busy running a script.", False),
    ("NOGROUP No such key 'in' or consumer group 'streams'", False),
    ("UNBLOCKED the stream key no longer exists", False),
    ("ERR max number of clients reached", False),
]
REDIS_ERRORS: list[tuple[Exception, bool]] = [
    *((BaseParser.parse_error(answer), final) for answer, final in REDIS_ANSWERS),
    (raised_from(redis_errors.ConnectionError("Error 1 connecting"), UNTRUSTED), True),
    (raised_from(redis_errors.ConnectionError("Error 8 connecting"), CLOSED), False),
    (redis_errors.ConnectionError("Error 111 connecting to 127.0.0.1:6379. Connection refused."), False),
    (redis_errors.TimeoutError("Timeout reading from socket"), False),
]


@pytest.mark.parametrize(("error", "final"), REDIS_ERRORS, ids=lambda value: str(value)[:50])
def test_errors_of_redis_are_final_or_pass(tmp_path: Path, error: Exception, final: bool):
    source = Bench(RedisSource, [], [ROW], results=tmp_path, url="redis://host", stream="in").operator
    assert isinstance(source, RedisSource)
    explained = source.explained(error)
    assert isinstance(explained, RefusedError if final else ConnectionError), explained
    assert str(explained).startswith("redis://host")


def jetstream(code: int, text: str) -> Exception:
    with pytest.raises(jetstream_errors.APIError) as raised:
        jetstream_errors.APIError.from_error({"code": code, "err_code": 10000 + code, "description": text})
    return raised.value


NATS_ERRORS: list[tuple[Exception, bool]] = [
    (nats_errors.AuthorizationError(), True),
    (nats_errors.Error("nats: 'Permissions Violation for Subscription to \"$JS.API\"'"), True),
    (jetstream(404, "stream not found"), True),
    (jetstream(400, "consumer already exists with another configuration"), True),
    (UNTRUSTED, True),
    (jetstream(429, "too many requests"), False),
    (jetstream(500, "insufficient resources"), False),
    (jetstream(503, "JetStream system temporarily unavailable"), False),
    (nats_errors.NoServersError(), False),
    (nats_errors.StaleConnectionError(), False),
    (nats_errors.TimeoutError(), False),
    (nats_errors.ConnectionClosedError(), False),
    (CLOSED, False),
    (ConnectionRefusedError(111, "Connection refused"), False),
]


@pytest.mark.parametrize(("error", "final"), NATS_ERRORS, ids=lambda value: str(value)[:50])
def test_errors_of_nats_are_final_or_pass(tmp_path: Path, error: Exception, final: bool):
    source = Bench(NATSSource, [], [ROW], results=tmp_path, url="nats://host", stream="IN").operator
    assert isinstance(source, NATSSource)
    explained = source.explained(error, [])
    assert isinstance(explained, RefusedError if final else ConnectionError), explained
    assert str(explained).startswith("nats://host")


SUBACK = b"\x90\x03\x00\x01"
TAKEN = b"\x20\x02\x01\x00"  # with the session of before
MQTT_ANSWERS = [
    ([b"\x20\x02\x00\x02"], True, "check clientId"),
    ([b"\x20\x02\x00\x04"], True, "check user, password"),
    ([b"\x20\x02\x00\x05"], True, "check user, password"),
    ([TAKEN, SUBACK + b"\x80"], True, "refuses a subscription to a/#; check the rights"),
    ([b"\x20\x02\x00\x03"], False, "Server unavailable"),
    ([b"\x20\x02\x00\x61"], False, "Unspecified error"),
    ([TAKEN, b""], False, ": the connection was closed"),
    ([b""], False, ": the connection was closed"),
]
"""The answers of a broker to CONNECT and SUBSCRIBE, one after the other; without one it closes the connection."""


@contextmanager
def answering(answers: list[bytes]) -> Iterator[str]:
    """Yield a broker that gives these answers on each connection."""

    def serve(server: socket.socket) -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            with connection:
                for answer in answers:
                    if not connection.recv(4096) or not answer:
                        break
                    connection.sendall(answer)
                else:
                    connection.recv(4096)  # until the client goes

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield f"mqtt://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(("answers", "final", "text"), MQTT_ANSWERS)
def test_errors_of_mqtt_are_final_or_pass(tmp_path: Path, answers: list[bytes], final: bool, text: str):
    with answering(answers) as url:
        source = Bench(MQTTSource, [], [ROW], results=tmp_path, url=url, topics=["a/#"]).operator
        assert isinstance(source, JournalSource)
        with receiving(source):
            error = reported(source, "error")
            assert error.startswith(url)
            assert error.endswith(text)
            facts: Any = source.reader.files.reported()
            assert facts["refused"] is final


FILTERS = [
    *((topic, True) for topic in ("a", "#", "+", "a/#", "+/b", "/", "/a", "a//b", "a/+/c/#", "$SYS/#", "ä b/c")),
    *((topic, False) for topic in ("", "a#", "#/a", "a/#/b", "a+", "a/b+/c", "a/+b", "##", "a\0b", "a" * 65536)),
]


@pytest.mark.parametrize(("topic", "fits"), FILTERS)
def test_filters_of_topics_are_checked_before_it_runs(topic: str, fits: bool):
    from paho.mqtt.client import Client
    from paho.mqtt.enums import MQTTErrorCode

    parameters = {"url": "mqtt://host", "topics": ["b", topic]}
    if fits:
        MQTTSource.Parameters.model_validate(parameters)
        assert Client._filter_wildcard_len_check(topic.encode()) == MQTTErrorCode.MQTT_ERR_SUCCESS
    else:
        with pytest.raises(ValueError, match="is not a topic filter"):
            MQTTSource.Parameters.model_validate(parameters)
