"""HttpSource: what was answered 202 becomes tuples, once; what cannot be taken is answered so."""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.journal import writing
from streams_orchestration.operators.journal.writing import Journal, JournalFullError
from streams_orchestration.operators.serving.bodies import BodyError, messages_of
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.standard.network.http_sink import HttpSink
from streams_orchestration.operators.standard.network.http_source import HttpSource
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import receiving, reported
from streams_orchestration_tests.waiting import until

ROW = "k string, n bigint"
JSON, LINES, CSV = ({"Content-Type": kind} for kind in ("application/json", "application/x-ndjson", "text/csv"))
SECRET = "planted-secret-of-the-test"


def bench(directory: Path, schema: str = ROW, **parameters: Any) -> tuple[Bench, HttpSource]:
    settings: Any = {"port": 0} | parameters
    made = Bench(HttpSource, [], [schema], results=directory, **settings)
    assert isinstance(made.operator, HttpSource)
    return made, made.operator


def post(source: HttpSource, body: bytes, headers: dict[str, str]) -> requests.Response:
    return requests.post(reported(source, "place"), body, headers=headers, timeout=20)


BODIES = [
    ("json", "application/json", b'[{"n": 1}, {"n": 2}]', [b'{"n": 1}', b'{"n": 2}']),
    ("json", "application/json; charset=utf-8", b' {"n": 1}\n', [b' {"n": 1}\n']),
    ("json", "application/json", b"[]", []),
    ("json", "application/x-ndjson", b'{"n": 1}\r\n\n{"n": 2}', [b'{"n": 1}', b'{"n": 2}']),
    ("csv", "text/csv", b'a,1\r\n"b\nc",2\n', [b"a,1", b'"b\nc",2']),
    ("csv", "text/csv; header=present", b"k,n\na,1\n", [b"a,1"]),
    ("raw", "", b"\0any\n", [b"\0any\n"]),
]


@pytest.mark.parametrize(("format", "kind", "body", "wanted"), BODIES)
def test_a_body_is_divided_into_messages_by_its_type(format: Any, kind: str, body: bytes, wanted: list[bytes]):
    assert messages_of(body, kind, format, ["k", "n"], ",") == wanted


@given(st.lists(st.lists(st.text('a",\n\r', max_size=4), min_size=2, max_size=2)))
def test_rows_are_parted_where_they_end(rows: list[list[str]]):
    written = [",".join(f'"{value.replace(chr(34), 2 * chr(34))}"' for value in row).encode() for row in rows]
    assert messages_of(b"\r\n".join(written), "text/csv", "csv", [], ",") == written


REFUSED = [
    ("json", "text/plain", b"{}", 415, "application/json or application/x-ndjson is accepted"),
    ("json", "", b"{}", 415, "Content-Type is missing"),
    ("json", "application/json", b"{", 400, "the body is not JSON"),
    ("json", "application/json", b"[" * 100_000, 400, "nested too deeply"),
    ("json", "application/json", b"\xff\xff", 400, "the body is not JSON"),
    ("csv", "text/csv", b'a,"1', 400, "a quote is not closed"),
    ("csv", "text/csv; header=present", b"n,k\n1,a", 400, "n, k, but k, n are expected"),
]


@pytest.mark.parametrize(("format", "kind", "body", "status", "reason"), REFUSED)
def test_bodies_that_are_not_taken(format: Any, kind: str, body: bytes, status: int, reason: str):
    with pytest.raises(BodyError, match=reason) as raised:
        messages_of(body, kind, format, ["k", "n"], ",")
    assert raised.value.status == status


def test_a_request_is_answered_when_it_is_in_the_journal_and_its_tuples_come_again(tmp_path: Path):
    made, source = bench(tmp_path, path="/in")
    with receiving(source):
        answer = post(source, b'[{"k": "a", "n": 1}, {"k": "b", "n": 2}]', JSON)
        assert (answer.status_code, answer.json()) == (202, {"messages": 2})
        made.produce()
        assert post(source, b'{"k": "c", "n": 3}\n', LINES).status_code == 202
        assert requests.get(reported(source, "place"), timeout=20).status_code == 405
        assert requests.post(reported(source, "place") + "/x", timeout=20).status_code == 404
    made.sent.clear()
    made.restart().produce()
    assert made.rows() == [("a", 1), ("b", 2), ("c", 3)]


def test_a_request_posted_again_under_its_key_counts_once_also_over_another_host(tmp_path: Path):
    made, source = bench(tmp_path)
    keyed = JSON | {"Idempotency-Key": '"app/out/1"'}
    for _ in range(3):
        with receiving(source):
            assert post(source, b'{"k": "a", "n": 0}', keyed).json() == {"messages": 1}
        (tmp_path / "_outputs" / "HttpSource" / "journal" / "receiver.json").unlink()
    made.produce()
    assert made.rows() == [("a", 0)]


def test_a_key_that_comes_again_with_another_body_is_answered_409_also_over_hosts_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 200)
    made, source = bench(tmp_path)
    body = b'{"k": "a", "n": %d}'
    for other in range(1, 4):
        with receiving(source):
            first = post(source, body % 0, JSON | {"Idempotency-Key": "one"})
            again = post(source, body % other, JSON | {"Idempotency-Key": "one"})
            assert (first.status_code, again.status_code) == (202, 409)
            assert "Idempotency-Key: another body was sent with this key" in again.json()["error"]
            assert post(source, body % other, JSON | {"Idempotency-Key": str(other)}).status_code == 202
        (tmp_path / "_outputs" / "HttpSource" / "journal" / "receiver.json").unlink()
    made.produce()
    assert made.rows() == [("a", 0), ("a", 1), ("a", 2), ("a", 3)]


def test_requests_of_an_http_sink_count_once_whichever_process_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOKEN", SECRET)
    made, source = bench(tmp_path, format="csv", token="${env:TOKEN}")
    key = DeliveryKey("life", "Out", -1, 7, 0, 7, "app")
    batch = pa.record_batch([["a", 'b"\n', None], [1, 2, None]], schema=made.context.outputs[0])
    with receiving(source):
        for _ in range(2):  # the second one is another process that does not know of the first
            parameters = {"url": reported(source, "place"), "token": "${env:TOKEN}", "format": "csv", "batchSize": 2}
            sink = Bench(HttpSink, [ROW], **parameters).operator
            assert isinstance(sink, HttpSink)
            sink.open()
            sink.deliver(key, iter([TupleBatch(batch)]))
            sink.close()
    made.produce()
    assert made.rows() == [("a", 1), ('b"\n', 2), (None, None)]
    assert [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []


ANSWERS = [
    (b"{}", {}, 415, "Content-Type"),
    (b"{", JSON, 400, "not JSON"),
    (b"[" + b"1," * 100 + b"1]", JSON, 413, "the body has more than 100 bytes"),
    (b'["' + b"x" * 60 + b'"]', JSON, 413, "a message in the body has more than 50 bytes"),
    (gzip.compress(b"{}", mtime=0), JSON | {"Content-Encoding": "gzip"}, 415, "Content-Encoding is gzip"),
    (b"{}", JSON | {"Idempotency-Key": "k" * 256}, 400, "more than 255 characters"),
]


@pytest.mark.parametrize(("body", "headers", "status", "reason"), ANSWERS, ids=[each[-1] for each in ANSWERS])
def test_a_refused_request_is_answered_with_the_reason_and_is_not_in_the_journal(
    tmp_path: Path, body: bytes, headers: dict[str, str], status: int, reason: str
):
    made, source = bench(tmp_path, maxBodyBytes=100, maxMessageBytes=50)
    with receiving(source):
        answer = post(source, body, headers)
    assert (answer.status_code, reason in answer.json()["error"]) == (status, True)
    made.produce()
    assert made.rows() == []


def test_a_body_of_unknown_length_is_cut_at_the_limit(tmp_path: Path):
    _, source = bench(tmp_path, maxBodyBytes=100)
    with receiving(source):
        parts = (b"x" * 60 for _ in range(5))
        answer = requests.post(reported(source, "place"), parts, headers=JSON, timeout=20)
    assert answer.status_code == 413


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Basic " + SECRET, "Bearer ÿ"])
def test_a_request_without_the_token_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authorization: str | None
):
    monkeypatch.setenv("TOKEN", SECRET)
    _, source = bench(tmp_path, token="${env:TOKEN}")
    with receiving(source):
        headers: Any = JSON | ({} if authorization is None else {"Authorization": authorization.encode()})
        answer = post(source, b"{}", headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert post(source, b"{}", JSON | {"Authorization": f"Bearer {SECRET}"}).status_code == 202


def test_a_full_journal_is_503_and_says_when_to_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, source = bench(tmp_path)
    append, full = Journal.append, [True]

    def appending(journal: Journal, arrivals: Any) -> int:
        if full.pop() if full else False:
            raise JournalFullError
        return append(journal, arrivals)

    monkeypatch.setattr(Journal, "append", appending)
    with receiving(source):
        answer = post(source, b'{"k": "a", "n": 1}', JSON | {"Idempotency-Key": "k"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert post(source, b'{"k": "a", "n": 1}', JSON | {"Idempotency-Key": "k"}).status_code == 202
    made.produce()
    assert made.rows() == [("a", 1)]


def test_a_sender_that_goes_away_within_a_body_leaves_nothing(tmp_path: Path):
    made, source = bench(tmp_path)
    with receiving(source):
        port = int(reported(source, "place").rsplit(":", 1)[1].strip("/"))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 99\r\n\r\n"
            connection.sendall(head + b'{"k": "a", "n": 1}\n')
        assert post(source, b'{"k": "b", "n": 2}', JSON).status_code == 202
    made.produce()
    assert made.rows() == [("b", 2)]


def test_a_port_in_use_and_a_token_that_is_not_there_are_named(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        made, source = bench(tmp_path / "a", port=other.getsockname()[1])
        with receiving(source):
            assert "another process uses the port" in reported(source, "error")
    made, source = bench(tmp_path / "b", token="${env:ABSENT}")
    with receiving(source):
        reported(source, "refused")
        with pytest.raises(DataError, match="ABSENT is not set"):
            made.produce()
    made, source = bench(tmp_path / "c", certificate="/absent.pem", privateKey="/absent.key")
    with receiving(source):
        reported(source, "refused")
        with pytest.raises(DataError, match=r"certificate /absent\.pem, privateKey /absent\.key: No such file"):
            made.produce()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_connections_that_never_greet_keep_nobody_out_of_https(tmp_path: Path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    _, source = bench(tmp_path, certificate=str(certificate), privateKey=str(key), connections=5)
    with receiving(source), contextlib.ExitStack() as stack:
        place = reported(source, "place")
        for greeting in (b"", b"\x16\x03\x01\x02\x00\x01"):
            for _ in range(10):
                connection = socket.create_connection(("127.0.0.1", urlsplit(place).port), 20)
                stack.enter_context(connection).sendall(greeting)
            assert requests.post(place, b"[]", headers=JSON, timeout=20, verify=str(certificate)).status_code == 202


@pytest.mark.parametrize("headers", [{"Origin": "http://example.org"}, {"Origin": "null"}])
def test_without_a_token_nothing_is_taken_from_web_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
):
    monkeypatch.setenv("TOKEN", SECRET)
    made, source = bench(tmp_path / "open", format="raw", schema="text string")
    with receiving(source):
        answer = post(source, b"planted", headers | {"Content-Type": "text/plain"})
        assert (answer.status_code, "page" in answer.json()["error"]) == (403, True)
        made.produce()
    assert made.rows() == []
    _, asking = bench(tmp_path / "asking", token="${env:TOKEN}")
    with receiving(asking):
        assert post(asking, b"[]", JSON | headers | {"Authorization": f"Bearer {SECRET}"}).status_code == 202


def test_bodies_that_are_read_at_once_have_a_limit_together(tmp_path: Path):
    _, source = bench(tmp_path, maxBodyBytes=1000)
    with receiving(source), contextlib.ExitStack() as stack:
        port = urlsplit(reported(source, "place")).port
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        for _ in range(8):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)).sendall(head + b" " * 999)
        until(lambda: post(source, b" " * 900 + b"[]", JSON).status_code == 503, lambda: "all bodies find room at once")
        stack.close()
        until(lambda: post(source, b" " * 900 + b"[]", JSON).status_code == 202, lambda: "no body finds room")


WRONG = [
    ({"token": SECRET}, "it contains a secret"),
    ({"path": "in"}, "path"),
    ({"path": "/{x}"}, "path"),
    ({"certificate": "a.pem"}, "certificate and privateKey require each other"),
    ({"maxBodyBytes": 1 << 30}, "less than eight bodies"),
]


@pytest.mark.parametrize(("parameters", "wanted"), WRONG)
def test_wrong_parameters_of_an_http_source_are_refused_before_it_runs(
    tmp_path: Path, parameters: dict[str, Any], wanted: str
):
    with pytest.raises(ValueError, match=wanted):
        bench(tmp_path, **parameters)


def test_without_the_extra_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "uvicorn" else find(name))
    with pytest.raises(ValueError, match=r"pip install 'streams-orchestration\[http\]'"):
        bench(tmp_path)
