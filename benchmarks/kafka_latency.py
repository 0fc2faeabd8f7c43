"""From a message's production to a reader of the topic that it is written to: 20,000 messages a second through Kafka.

One application reads a topic of four partitions, filters and writes another topic, in a region with an epoch a second.
Messages carry the time at which they were given to a producer; a consumer of the target, which sees committed messages
only, takes the time when it has them. With `read_uncommitted` every batch is a transaction of Kafka, with
`read_committed` every epoch. The first seconds do not count.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from benchmarks.application import COMMAND, environment
from benchmarks.harness import Row
from benchmarks.kafka import MESSAGE_BYTES, PARTITIONS, make_internal_topics
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.servers.jars import NotToBeHadError
from streams_orchestration_tests.servers.kafka import Broker, broker

RATE, PERIOD = 20_000, 1.0
SECONDS, QUICK_SECONDS, WARM_SECONDS = 30.0, 15.0, 8.0
STEP_SECONDS = 0.005
START_SECONDS, END_SECONDS = 120.0, 60.0
VISIBILITIES = ("read_uncommitted", "read_committed")
PERCENTILES = (50, 99)


def spec(brokers: str, source: str, target: str, visibility: str) -> dict[str, Any]:
    """Return the application, which runs until it is stopped."""
    graph = [
        {
            "name": "Sent", "operator": "KafkaSource", "outputs": [{"stream": "Sent", "schema": "Sent"}],
            "parameters": {"brokers": brokers, "topic": source},
            "annotations": {"consistent": {"trigger": "periodic", "period": PERIOD}},
        },
        {"name": "Kept", "operator": "Filter", "inputs": ["Sent"], "parameters": {"filter": "n % 10 <> 3"}},
        {
            "name": "Out", "operator": "KafkaSink", "inputs": ["Kept"],
            "parameters": {"brokers": brokers, "topic": target, "visibility": visibility},
        },
    ]  # fmt: skip
    schemas = {"Sent": "n bigint, sent double"}
    return {"specVersion": 1, "application": "kafka_latency", "schemas": schemas, "graph": graph}


def produce(brokers: str, topic: str, messages: str) -> None:
    """Send numbered messages at the rate, from 1 on, each with its time."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 1})
    began, number = time.time(), 0
    while number < int(messages):
        due = min(int((time.time() - began) * RATE), int(messages))
        for number in range(number + 1, due + 1):  # noqa: B020  continues behind the last one
            text = f'{{"n": {number}, "sent": {time.time():.6f}, "agent": "'
            producer.produce(topic, f'{text}{"x" * (MESSAGE_BYTES - len(text) - 2)}"}}', partition=number % PARTITIONS)
        producer.poll(0)
        time.sleep(STEP_SECONDS)
    producer.flush(END_SECONDS)


def seconds(server: Broker, visibility: str, duration: float, scratch: Path) -> np.ndarray:
    """Run the application, and return the seconds of latency of every message after the warm-up.

    Exits if messages are missing.
    """
    source, target = server.topic(PARTITIONS), server.topic(PARTITIONS)
    scratch.mkdir()
    path, log = scratch / "latency.yaml", scratch / "log"
    path.write_text(yaml.safe_dump(spec(server.address, source, target, visibility)))
    messages = int(duration * RATE)
    with log.open("wb") as output:
        home = Home(scratch / "home")
        process = subprocess.Popen([*COMMAND, "run", str(path)], env=environment(home), stdout=output, stderr=output)
    try:
        reader = Reader(server, target)
        reader.wait_for_first(lambda: server.send(source, [b'{"n": 0, "sent": 0}']), process)
        maker = [sys.executable, "-m", "benchmarks.kafka_latency", server.address, source, str(messages)]
        with subprocess.Popen(maker) as producing:
            received = reader.until(messages)
        if producing.returncode or received is None:
            sys.exit(f"{visibility}: the messages did not all come; see {log.read_text()[-2000:]}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(END_SECONDS)
    sent, arrived = received
    return (arrived - sent)[sent > sent.min() + WARM_SECONDS]


class Reader:
    """A consumer of committed messages of a topic."""

    def __init__(self, server: Broker, topic: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self.consumer = Consumer({
            "bootstrap.servers": server.address, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed",
            "enable.auto.commit": False, "fetch.wait.max.ms": 10,
        })  # fmt: skip
        self.consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def wait_for_first(self, send: Any, process: subprocess.Popen[bytes]) -> None:
        """Send a message every second until one comes through."""
        until = time.monotonic() + START_SECONDS
        while not self.consumer.consume(1, 1):
            send()
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("the application does not work")

    def until(self, last: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the times at which each message was sent and came; None if some do not come."""
        wanted = last - sum(number % 10 == 3 for number in range(last + 1))
        values: list[bytes] = []
        times: list[tuple[float, int]] = []
        heard = time.monotonic()
        while len(values) < wanted:
            taken = [value for message in self.consumer.consume(5000, 0.01) if (value := message.value())]
            taken = [value for value in taken if b'"n":0,' not in value]
            if taken:
                heard = time.monotonic()
                values += taken
                times.append((time.time(), len(taken)))
            elif time.monotonic() > heard + END_SECONDS:
                return None
        sent = np.array([json.loads(value)["sent"] for value in values])
        return sent, np.repeat([at for at, _ in times], [count for _, count in times])


def rows(*, quick: bool = False) -> list[Row]:
    """Return the percentiles of latency for each visibility."""
    with TemporaryDirectory(prefix="bench-") as directory:
        try:
            with broker(Path(directory)) as server:
                make_internal_topics(server)
                duration = QUICK_SECONDS if quick else SECONDS
                late = {each: seconds(server, each, duration, Path(directory, each)) for each in VISIBILITIES}
        except NotToBeHadError as reason:
            print(f"  left out: {reason}", file=sys.stderr, flush=True)
            return []
    return [
        Row(
            f"latency of {RATE:,} messages/s from Kafka to Kafka, {visibility}, percentile {percentile}",
            float(np.percentile(late[visibility], percentile)), "s", PERIOD,
        )
        for visibility in VISIBILITIES
        for percentile in PERCENTILES
    ]  # fmt: skip


if __name__ == "__main__":
    produce(*sys.argv[1:])
