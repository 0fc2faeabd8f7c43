"""Messages of a real broker whose schemas are in a real registry, and in one that goes away."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.operators.errors.errors import DataError, RefusedError
from streams_orchestration.operators.kafka.client import KafkaRefusedError
from streams_orchestration.operators.messages.framing import frame
from streams_orchestration.operators.messages.registry import RegistryAwayError
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.standard.systems.kafka_sink import KafkaSink
from streams_orchestration.operators.standard.systems.kafka_source import KafkaSource
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.jars import NotToBeHadError
from streams_orchestration_tests.servers.kafka import PROMPT, Broker
from streams_orchestration_tests.servers.registry import apicurio, small_registry

pytestmark = [pytest.mark.java, pytest.mark.slow]

RECORD = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
BAD = "topic string, offset bigint, reason string"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(apicurio(tmp_path_factory.mktemp("registry")))
        except NotToBeHadError as error:
            pytest.skip(f"Apicurio: {error}")
        yield address


def send(kafka: Broker, topic: str, registry: str, epoch: int, ddl: str, rows: list[dict[str, Any]], **more: Any):
    parameters = {"brokers": kafka.address, "topic": topic, "registry": {"url": registry}} | more
    operator = Bench(KafkaSink, inputs=[ddl], **parameters).operator
    assert isinstance(operator, KafkaSink)
    operator.open()
    try:
        batch = TupleBatch(pa.RecordBatch.from_pylist(rows, schema=operator.context.inputs[0]))
        operator.deliver(DeliveryKey("life", "Out", 0, epoch, 0, epoch, topic), iter([batch]))
    finally:
        operator.close()


def source(kafka: Broker, topic: str, registry: str, directory: Path, *ddl: str, **more: Any) -> Bench:
    parameters = {"brokers": kafka.address, "client": PROMPT, "topic": topic, "registry": {"url": registry}}
    parameters |= {"until": "latest"} | more
    return Bench(KafkaSource, outputs=ddl, results=directory, **parameters)


def source_of(bench: Bench) -> KafkaSource:
    assert isinstance(bench.operator, KafkaSource)
    return bench.operator


def run(bench: Bench) -> list[Any]:
    offset: dict[str, Any] = {}
    exhausted = False
    while not exhausted:
        offset, exhausted = bench.produce(offset, 100)
    return bench.rows()


@pytest.mark.deep  # a registry takes long to start
@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_a_topic_is_written_and_read_with_schemas_that_grow(kafka: Broker, registry: str, tmp_path: Path, format: str):
    topic = kafka.topic()
    send(kafka, topic, registry, 1, "n bigint", [{"n": 1}], format=format)
    body = json.dumps({"compatibility": "BACKWARD"}).encode()
    request = urllib.request.Request(f"{registry}/config/{topic}-value", body, method="PUT")
    request.add_header("Content-Type", "application/json")
    urllib.request.urlopen(request, timeout=30).close()
    send(kafka, topic, registry, 2, "n bigint, s string", [{"n": 2, "s": "b"}], format=format)
    send(kafka, topic, registry, 3, "n bigint", [{"n": 3}], format=format, suppress=[], registerSchema=True)
    with pytest.raises(RefusedError, match=f"subject {topic}-value: the registry at {registry} refuses the schema"):
        send(kafka, topic, registry, 4, "n string", [{"n": "x"}], format=format)
    send(kafka, topic, registry, 5, "n bigint", [{"n": 5}], format=format, registerSchema=False)
    rows = run(source(kafka, topic, registry, tmp_path, "n bigint, s string", format=format))
    assert rows == [(1, None), (2, "b"), (3, None), (5, None)]


def test_a_source_waits_for_a_registry_that_is_away_and_loses_nothing(kafka: Broker, tmp_path: Path):
    topic = kafka.topic()
    with small_registry() as server:
        number = server.add(RECORD)
        kafka.send(topic, [frame(number) + b"\x02", frame(number) + b"\x04"])
        server.answers = [(503, {})] * 3
        bench = source(kafka, topic, server.address, tmp_path, "n bigint", format="avro")
        pauses = []
        for _ in range(3):
            assert bench.produce({}, 100) == ({}, False)
            pauses.append(source_of(bench).pause())
        assert pauses == sorted(set(pauses))
        assert run(bench) == [(1,), (2,)]
        assert source_of(bench).pause() is None
    kafka.send(topic, [frame(number) + b"\x06"])
    offset = {"next": {topic: {"0": 2}}}
    until = time.monotonic() + 60
    while len(bench.rows()) < 3 and time.monotonic() < until:
        offset = bench.produce(offset, 100).offset
    assert bench.rows()[2:] == [(3,)]  # its schema is known


def test_messages_without_a_schema_go_where_onbadtuple_says(kafka: Broker, tmp_path: Path):
    topic = kafka.topic()
    with small_registry() as server:
        kafka.send(topic, [frame(server.add(RECORD)) + b"\x02", frame(77) + b"\x02", b"{}"])
        bench = source(kafka, topic, server.address, tmp_path, "n bigint", BAD, format="avro", onBadTuple="stream")
        assert run(bench) == [(1,)]
        assert [(row[1], row[2][:9]) for row in bench.rows(1)] == [(1, "schema 77"), (2, "it does n")]
        with pytest.raises(
            DataError, match="offset 1: the message cannot become a tuple: schema 77: the registry at http"
        ):
            run(source(kafka, topic, server.address, tmp_path, "n bigint", format="avro"))
        server.answers = [(401, {})]
        with pytest.raises(DataError, match="answered 401 Unauthorized: refused; check the credentials"):
            run(source(kafka, topic, server.address, tmp_path, "n bigint", format="avro"))


def test_a_sink_writes_nothing_while_the_registry_is_away(kafka: Broker):
    topic = kafka.topic()
    with small_registry() as server:
        server.answers = [(503, {})]
        with pytest.raises(RegistryAwayError, match=f"subject {topic}-value: {server.address}"):
            send(kafka, topic, server.address, 1, "n bigint", [{"n": 1}], format="avro")
        assert kafka.messages(topic) == []
        send(kafka, topic, server.address, 1, "n bigint", [{"n": 1}], format="avro")
    assert len(kafka.messages(topic)) == 1


def test_a_tuple_that_the_schema_has_no_place_for_is_named_or_set_aside(kafka: Broker, tmp_path: Path):
    topic = kafka.topic()
    given: dict[str, Any] = {"format": "avro", "registerSchema": False, "results": tmp_path}
    rows = [{"n": 1}, {"n": None}, {"n": 3}]
    with small_registry() as server:
        server.add(RECORD, subject=f"{topic}-value")
        with pytest.raises(KafkaRefusedError, match=r"does not fit into the schema.*it is row 2 of epoch 1; onUndeliv"):
            send(kafka, topic, server.address, 1, "n bigint", rows, **given)
        assert kafka.messages(topic) == []
        for _ in range(2):
            send(kafka, topic, server.address, 1, "n bigint", rows, onUndeliverable="route", **given)
        assert run(source(kafka, topic, server.address, tmp_path, "n bigint", format="avro")) == [(1,), (3,)]
    (file,) = tmp_path.rglob("undeliverable/**/*.jsonl")
    (left,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (left["row"], left["tuple"]) == (2, {"n": None})
