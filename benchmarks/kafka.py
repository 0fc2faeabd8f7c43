"""From Kafka to Kafka: messages of JSON filtered, derived and aggregated by keys, against other tools' connectors.

Every tool reads the same topic of four partitions up to its end, keeps the clicks of people, derives minute and
seconds, and writes count, sum and maximum by page and minute into a topic of its own. What the last message of every
key holds is compared. Throughput is counted after start-up: from a point behind a fifth of the messages to the time at
which the broker took the last result.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from benchmarks.application import run
from benchmarks.harness import Row, answer_of
from benchmarks.peers.answer import Point, steady
from benchmarks.peers.spark_kafka import CONNECTOR
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.servers.jars import NotToBeHadError, jars
from streams_orchestration_tests.servers.kafka import Broker, broker

MESSAGES, QUICK_MESSAGES, ROUNDS = 1_000_000, 300_000, 2
SENT_AT_ONCE = 50_000
PARTITIONS, MESSAGE_BYTES, PAGES, PER_MINUTE = 4, 200, 100, 5_000
SPARK, BYTEWAX, BYTEWAX_CORES = "Spark with its Kafka connector", "Bytewax", "Bytewax, a process a core"
TARGETS: dict[str, float | None] = {SPARK: 3.0, BYTEWAX: 4.0, BYTEWAX_CORES: None}
"""The least ratios."""
Result = dict[tuple[str, int], tuple[int, float, int]]
"""(page, minute) -> clicks, seconds, most milliseconds."""
WINDOW = {
    "window": f"tumbling, count({MESSAGES}), partitioned", "aggregateIncompleteWindows": True,
    "partitionBy": ["page", "minute"], "groupBy": ["page", "minute"],
}  # fmt: skip
"""A window for every page and minute, which the end closes."""
DERIVED = {"minute": "CAST(floor(at / 60000) AS BIGINT)", "seconds": "milliseconds / 1000.0"}
SPEC: dict[str, Any] = {
    "specVersion": 1,
    "application": "kafka",
    "schemas": {
        "Click": "page string, robot boolean, milliseconds bigint, at bigint",
        "Derived": "page string, minute bigint, seconds double, milliseconds bigint",
        "Total": "page string, minute bigint, clicks bigint, seconds double, longest bigint",
    },
}


def values(messages: int) -> list[bytes]:
    """Return clicks of 200 bytes each, in the order of their times."""
    rng = np.random.default_rng(7)
    pages, times = rng.integers(PAGES, size=messages), rng.integers(1, 4000, size=messages) * 4
    robots = rng.random(messages) < 0.3
    values_made = []
    for number in range(messages):
        text = (
            f'{{"page": "/page/{pages[number]:04}", "robot": {"true" if robots[number] else "false"}, '
            f'"milliseconds": {times[number]}, "at": {number * 60_000 // PER_MINUTE}, "agent": "'
        )
        values_made.append(f'{text}{"x" * (MESSAGE_BYTES - len(text) - 2)}"}}'.encode())
    return values_made


def spec(brokers: str, source: str, target: str) -> dict[str, Any]:
    """Return the product's application: two channels that read, two that aggregate."""
    by_page = {"width": 2, "partitionBy": [{"port": "Derived", "attributes": ["page"]}]}
    totals = {"clicks": "Count()", "seconds": "Sum(seconds)", "longest": "Max(milliseconds)"}
    graph = [
        {
            "name": "Clicks", "operator": "KafkaSource", "outputs": [{"stream": "Clicks", "schema": "Click"}],
            "parameters": {"brokers": brokers, "topic": source, "until": "latest"},
            "annotations": {"parallel": {"width": 2}, "consistent": {"trigger": "periodic", "period": 2.0}},
        },
        {"name": "People", "operator": "Filter", "inputs": ["Clicks"], "parameters": {"filter": "NOT robot"}},
        {
            "name": "Derived", "operator": "Functor", "inputs": ["People"],
            "outputs": [{"stream": "Derived", "schema": "Derived"}],
            "parameters": {"output": DERIVED},
        },
        {
            "name": "Totals", "operator": "Aggregate", "inputs": ["Derived"],
            "outputs": [{"stream": "Totals", "schema": "Total"}],
            "parameters": WINDOW | {"output": totals},
            "annotations": {"parallel": by_page},
        },
        {
            "name": "Out", "operator": "KafkaSink", "inputs": ["Totals"],
            "parameters": {"brokers": brokers, "topic": target, "key": "page"},
        },
    ]  # fmt: skip
    return SPEC | {"graph": graph}


def product(server: Broker, source: str, target: str, scratch: Path) -> list[Point]:
    """Run `streams run`, and return when how many messages were read."""
    path = scratch / "kafka.yaml"
    path.write_text(yaml.safe_dump(spec(server.address, source, target)))
    return run(path, Home(scratch / "home"), ["Out"], "--fusion", "manual", "--pes", "1").points["Out"]


def peer(module: str, *arguments: str) -> Callable[[Broker, str, str, Path], list[Point]]:
    """Return a function that runs a peer, and returns when how many messages were read."""

    def measured(server: Broker, source: str, target: str, scratch: Path) -> list[Point]:
        answer = answer_of(f"benchmarks.peers.{module}", server.address, source, target, *arguments)
        return [(at, count) for at, count in answer]

    return measured


def variants() -> dict[str, Callable[[Broker, str, str, Path], list[Point]]]:
    """Return the product and the installed peers, each as a function that runs it."""
    runs = {"product": product, SPARK: peer("spark_kafka")}
    if find_spec("bytewax") is not None:
        runs |= {BYTEWAX: peer("bytewax_kafka", "1"), BYTEWAX_CORES: peer("bytewax_kafka", "2")}
    return runs


def read(server: Broker, topic: str) -> tuple[Result, float]:
    """Return the last message of every key, and the time at which the broker took the last message of all."""
    result: Result = {}
    messages = server.messages(topic)
    for message in messages:
        row = json.loads(message.value())
        result[row["page"], row["minute"]] = row["clicks"], round(row["seconds"], 3), row["longest"]
    return result, max(message.timestamp()[1] for message in messages) / 1000


def make_internal_topics(server: Broker) -> None:
    """Have the broker make the topics in which it keeps transactions and groups, as every cluster has them."""
    from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

    topic = server.topic()
    producer = Producer({"bootstrap.servers": server.address, "transactional.id": "first"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"first")
    producer.commit_transaction()
    reader = Consumer({"bootstrap.servers": server.address, "group.id": "first"})
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(KafkaException):  # while they are made
            reader.committed([TopicPartition(topic, 0)], timeout=60)
            break
    reader.close()


def throughput(server: Broker, messages: int, rounds: int) -> dict[str, float]:
    """Return the best messages a second of every variant; the variants take turns, and their results must be equal."""
    make_internal_topics(server)
    source, made = server.topic(PARTITIONS), values(messages)
    for first in range(0, messages, SENT_AT_ONCE):
        part = made[first : first + SENT_AT_ONCE]
        server.send(source, part, partition=[number % PARTITIONS for number in range(len(part))])
    best: dict[str, float] = {}
    wanted: Result | None = None
    for _ in range(rounds):
        for name, variant in variants().items():
            target = server.topic(PARTITIONS, message_timestamp_type="LogAppendTime")
            with TemporaryDirectory(prefix="bench-") as scratch:
                points = variant(server, source, target, Path(scratch))
            result, ended = read(server, target)
            wanted = wanted or result
            assert result == wanted, f"{name} has other results"
            assert points[-1][1] == messages, f"{name} read {points[-1][1]} of {messages} messages"
            speed = steady([*points[:-1], (max(ended, points[-1][0]), messages)])
            best[name] = max(best.get(name, 0.0), speed)
            print(f"  {name}: {speed:,.0f} messages/s", file=sys.stderr, flush=True)
    return best


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of throughput to the peers."""
    with TemporaryDirectory(prefix="bench-") as directory:
        try:
            jars(CONNECTOR)
            with broker(Path(directory)) as server:
                best = throughput(server, QUICK_MESSAGES if quick else MESSAGES, 1 if quick else ROUNDS)
        except NotToBeHadError as reason:
            print(f"  left out: {reason}", file=sys.stderr, flush=True)
            return []
    ours = best.pop("product")
    return [
        Row(f"messages from Kafka to Kafka / {name}", ours, "/s", speed, TARGETS[name], at_least=True)
        for name, speed in best.items()
    ]
