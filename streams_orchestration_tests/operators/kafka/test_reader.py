"""Reading from the cluster that the client library has within itself; no broker is needed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from streams_orchestration.operators.kafka.client import KafkaParameters
from streams_orchestration.operators.kafka.reader import KafkaReader, OutOfRangeError
from streams_orchestration_tests.servers.kafka import PROMPT, inner_cluster

MESSAGES, TOPIC = 5_000, "numbers"


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    """Yield the address of a cluster with a topic of numbers in four partitions."""
    producer, address = inner_cluster(TOPIC)
    for number in range(MESSAGES):
        producer.produce(TOPIC, str(number), partition=number % 4)
    assert producer.flush(60) == 0
    yield address


def read_all(reader: KafkaReader) -> list[Any]:
    positions = {(TOPIC, number): 0 for number in range(4)}
    messages: list[Any] = []
    while len(messages) < MESSAGES:
        for piece in reader.read(positions, MESSAGES):
            messages += piece
    return messages


@pytest.fixture
def reader(brokers: str) -> Iterator[KafkaReader]:
    reader = KafkaReader(KafkaParameters(brokers=brokers, client=PROMPT), committed=False)
    yield reader
    reader.close()


def test_messages_of_a_partition_come_in_order(reader: KafkaReader):
    values = [int(message.value()) for message in read_all(reader)]
    for partition in range(4):
        assert [each for each in values if each % 4 == partition] == list(range(partition, MESSAGES, 4))


def test_no_garbage_is_collected_among_messages_that_come(reader: KafkaReader):
    """Each collection would check all of them."""
    collected: list[str] = []
    real = reader.client

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def consume(self, *arguments: Any) -> list[Any]:
            gc.callbacks.append(heard)
            try:
                return real.consume(*arguments)
            finally:
                gc.callbacks.remove(heard)

    def heard(phase: str, _info: dict[str, int]) -> None:
        collected.append(phase)

    reader.client = Watched()
    assert len(read_all(reader)) == MESSAGES
    assert collected == []
    assert gc.isenabled()


def test_the_collector_works_again_when_reading_fails(reader: KafkaReader):
    with pytest.raises(OutOfRangeError):
        while True:
            list(reader.read({(TOPIC, 0): 10 * MESSAGES}, 1))
    assert gc.isenabled()


def test_partitions_that_wait_are_not_read_and_go_on_where_they_were(reader: KafkaReader):
    positions = {(TOPIC, number): 0 for number in range(4)}
    read: list[int] = []
    for turn in range(10_000):
        waiting = {(TOPIC, number) for number in range(4) if turn % 4 in (number, 3)}
        before = dict(positions)
        for piece in reader.read(positions, 100, waiting=waiting):
            read += [int(message.value()) for message in piece]
        assert all(positions[each] == before[each] for each in waiting)
        if sum(positions.values()) == MESSAGES:
            break
    for partition in range(4):
        assert [each for each in read if each % 4 == partition] == list(range(partition, MESSAGES, 4))
