"""HttpSink: requests, keys, and what each answer means."""

from __future__ import annotations

import importlib.util
import itertools
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.clients.http_client import HttpAwayError
from streams_orchestration.operators.errors.errors import RefusedError, UnknownAttributeError
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.undeliverable import file_of
from streams_orchestration.operators.standard.network.http_sink import HttpSink, body, parts
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.http import Receiver, receiver

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
SECRET = "planted-secret-of-the-test"
KEY = DeliveryKey("life", "Out", -1, 7, 0, 7, "alerts")


@pytest.fixture
def web() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def batch(first: int, last: int) -> pa.RecordBatch:
    numbers = range(first, last)
    return pa.record_batch([[f"k{n}" for n in numbers], list(numbers)], schema=SCHEMA)


def sink(url: str, **parameters: Any) -> HttpSink:
    operator = Bench(HttpSink, ["k string, n bigint"], url=url, **parameters).operator
    assert isinstance(operator, HttpSink)
    return operator


def deliver(operator: HttpSink, *batches: pa.RecordBatch, key: DeliveryKey = KEY) -> None:
    operator.open()
    try:
        operator.deliver(key, (TupleBatch(each) for each in batches))
    finally:
        operator.close()


def numbers(web: Receiver) -> list[int]:
    return [json.loads(line)["n"] for content in web.taken.values() for line in content.splitlines()]


BODIES = [
    ("jsonl", b'{"k":"a","n":1}\n{"k":null,"n":2}\n'),
    ("json", b'[{"k":"a","n":1},\n{"k":null,"n":2}]\n'),
    ("csv", b"k,n\r\na,1\r\n,2\r\n"),
]


@pytest.mark.parametrize(("format", "wanted"), BODIES)
def test_a_body_has_the_format_of_the_sink(format: Any, wanted: bytes):
    assert body(pa.record_batch([["a", None], [1, 2]], schema=SCHEMA), format) == wanted


@given(st.lists(st.integers(0, 7)), st.integers(1, 6))
def test_parts_are_the_same_however_tuples_were_divided(sizes: list[int], size: int):
    bounds = [sum(sizes[:count]) for count in range(len(sizes) + 1)]
    divided = list(parts((batch(a, b) for a, b in itertools.pairwise(bounds)), size))
    whole = list(parts([batch(0, bounds[-1])], size))
    assert [each.to_pydict() for each in divided] == [each.to_pydict() for each in whole]
    assert [n for each in whole for n in each.column("n").to_pylist()] == list(range(bounds[-1]))
    assert all(each.num_rows == size for each in whole[:-1])


def test_requests_have_a_key_of_application_sink_epoch_and_part(web: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOKEN", SECRET)
    deliver(sink(web.address, batchSize=4, token="${env:TOKEN}", suppress=["k"]), batch(0, 3), batch(3, 10))
    assert list(web.taken) == [f'"alerts/life/Out/-1/7/{part}"' for part in range(3)]
    assert numbers(web) == list(range(10))
    headers = web.requests[0][0]
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert headers["Content-Type"] == "application/x-ndjson"
    assert json.loads(web.requests[0][1].splitlines()[0]) == {"n": 0}


@pytest.mark.parametrize("answer", [None, 408, 409, 421, 423, 425, 429, 500, 502, 503, 504, 507])
def test_a_request_without_an_answer_is_posted_again_under_its_key(web: Receiver, answer: int | None):
    operator = sink(web.address, batchSize=2)
    web.answers = [200, answer]
    with pytest.raises(HttpAwayError, match=r"cannot be reached|answered"):
        deliver(operator, batch(0, 6))
    deliver(operator, batch(0, 6))
    assert numbers(web) == list(range(6))
    # the same process posts an accepted request only once, and repeats any other, even one that has arrived
    assert [headers["Idempotency-Key"][-2] for headers, _ in web.requests] == ["0", "1", "1", "2"]


def test_another_process_posts_everything_again_under_the_same_keys(web: Receiver):
    web.answers = [200, None]
    with pytest.raises(HttpAwayError):
        deliver(sink(web.address, batchSize=2), batch(0, 6))
    deliver(sink(web.address, batchSize=2), batch(0, 1), batch(1, 6))
    assert numbers(web) == list(range(6))
    assert len(web.requests) == 5


REFUSALS = [
    (301, "requests are not redirected"),
    (400, "refused"),
    (401, "check the credentials"),
    (403, "check the credentials in token and headers, and their rights"),
    (404, "check the path"),
    (405, "accepts POST"),
    (410, "check what the receiver requires"),
    (413, "reduce batchSize"),
    (415, "check which format"),
    (422, "refused"),
    (501, "refused"),
    (505, "refused"),
]


@pytest.mark.parametrize(("answer", "remedy"), REFUSALS)
def test_a_refusal_stops_and_names_address_status_and_remedy(web: Receiver, answer: int, remedy: str):
    web.answers = [answer]
    with pytest.raises(RefusedError, match=rf"{web.address}.*answered {answer} .*{remedy}"):
        deliver(sink(web.address), batch(0, 1))


def test_a_receiver_that_asks_for_time_gets_it(web: Receiver):
    operator = sink(web.address)
    web.answers, web.headers = [503], {"Retry-After": "100"}
    with pytest.raises(HttpAwayError, match="answered 503"):
        deliver(operator, batch(0, 1))
    with pytest.raises(HttpAwayError, match="the server asked to wait"):
        deliver(operator, batch(0, 1))
    assert len(web.requests) == 1


def test_nobody_there_is_tried_again_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH_SECRET", SECRET)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(HttpAwayError, match="Connection refused") as raised:
        deliver(sink(f"http://127.0.0.1:{port}/hook/${{env:PATH_SECRET}}"), batch(0, 1))
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("parameters", [{"headers": {"X-A": "${env:ABSENT}"}}, {"token": "${file:/absent}"}])
def test_a_reference_to_nothing_stops(parameters: dict[str, Any]):
    with pytest.raises(RefusedError, match=r"ABSENT|/absent"):
        deliver(sink("http://127.0.0.1:1", **parameters), batch(0, 1))


def test_a_secret_with_a_line_break_makes_no_header(tmp_path: Path):
    (tmp_path / "token").write_text(f"{SECRET}\r\nX-Other: 1")
    with pytest.raises(RefusedError, match="has a line break") as raised:
        deliver(sink("http://127.0.0.1:1", token=f"${{file:{tmp_path / 'token'}}}"), batch(0, 1))
    assert SECRET not in str(raised.value)


WRONG = [
    ({"url": "ftp://host/x"}, "not an address of the form"),
    ({"url": "http://"}, "not an address of the form"),
    ({"url": "http://host:99999/"}, "is not an address"),
    ({"url": f"http://me:{SECRET}@host/"}, "the address contains a user or password"),
    ({"token": SECRET}, "it contains a secret"),
    ({"headers": {"X-Api-Key": SECRET}}, "it contains a secret"),
    ({"headers": {"Idempotency-Key": "x"}}, "is set by the operator itself"),
    ({"headers": {"a b": "x"}}, "is not a header of HTTP"),
    ({"headers": {"a": "x\r\nb: y"}}, "is not a header of HTTP"),
    ({"batchSize": 0}, "greater than or equal to 1"),
    ({"format": "xml"}, "jsonl"),
]


@pytest.mark.parametrize(("parameters", "wanted"), WRONG)
def test_wrong_parameters_of_an_http_sink_are_refused_before_it_runs(parameters: dict[str, Any], wanted: str):
    with pytest.raises(ValueError, match=wanted):
        sink(**({"url": "http://host/"} | parameters))


def test_attributes_that_are_not_there_or_do_not_fit():
    with pytest.raises(UnknownAttributeError, match="no attribute m"):
        sink("http://host/", suppress=["m"])
    with pytest.raises(ValueError, match="csv cannot hold"):
        Bench(HttpSink, ["a array<int>"], url="http://host/", format="csv")


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "requests" else find(name))
    with pytest.raises(ValueError, match=r"pip install 'streams-orchestration\[http\]'"):
        sink("http://host/")


def test_tuples_that_a_receiver_refuses_are_named_or_set_aside_and_the_others_are_taken(tmp_path: Path, web: Receiver):
    web.refuses = lambda content: b'"n":5' in content or b'"n":6' in content
    operator = sink(web.address, batchSize=4)
    with pytest.raises(RefusedError, match=r"answered 422 .*the request holds rows 5 to 8 of the delivery; onUndel"):
        deliver(operator, batch(0, 10))
    bench = Bench(HttpSink, ["k string, n bigint"], results=tmp_path, url=web.address)
    for _ in range(2):  # as two processes do
        options: dict[str, Any] = {"url": web.address, "batchSize": 4, "onUndeliverable": "route"}
        routing = Bench(HttpSink, ["k string, n bigint"], results=tmp_path, **options).operator
        assert isinstance(routing, HttpSink)
        deliver(routing, batch(0, 10))
    assert sorted(numbers(web)) == [0, 1, 2, 3, 4, 7, 8, 9]
    lines = [json.loads(line) for line in file_of(bench.context, KEY).read_text().splitlines()]
    assert [(line["row"], line["tuple"]) for line in lines] == [(6, {"k": "k5", "n": 5}), (7, {"k": "k6", "n": 6})]
    assert {key for key in web.taken if ":" in key} == {
        '"alerts/life/Out/-1/7/1:5-5"',
        '"alerts/life/Out/-1/7/1:8-8"',
    }
