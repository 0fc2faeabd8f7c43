"""A KafkaSource that is behind reads ahead: what an offset gives does not depend on it; no broker is needed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("confluent_kafka")

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.kafka.client import KafkaAwayError
from streams_orchestration.operators.kafka.offsets import Positions
from streams_orchestration.operators.kafka.reader import KafkaReader
from streams_orchestration.operators.messages.decoders import decode
from streams_orchestration.operators.standard.systems import kafka_source
from streams_orchestration.operators.standard.systems.kafka_source import KafkaSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.kafka import inner_cluster

MESSAGES, PARTITIONS, TOPIC = 2_000, 4, "numbers"
SCHEMA = "n bigint, partition int, offset bigint"
LIMIT = 100


def is_bad(number: int) -> bool:
    return number % 97 == 5


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    """Yield the address of a cluster with a topic of numbers."""
    producer, address = inner_cluster(TOPIC)
    for number in range(MESSAGES):
        value = "none" if is_bad(number) else json.dumps({"n": number})
        producer.produce(TOPIC, value, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KafkaReader, "topic_ids", lambda *_: {})  # such a cluster has none, and is long in saying so
        yield address


def source(brokers: str, directory: Path, **parameters: Any) -> Bench:
    metadata = {"partition": "partition", "offset": "offset"}
    given: dict[str, Any] = {"brokers": brokers, "topic": TOPIC, "metadata": metadata, "onBadTuple": "drop"}
    return Bench(KafkaSource, [], [SCHEMA], results=directory, **given | parameters)


def between(first: Offset, last: Offset) -> list[tuple[int, int, int]]:
    """Return the tuples of all messages from one offset of the source to another one."""
    begin, end = (Positions.of(offset).next for offset in (first, last))
    places = [
        (number, at)
        for number in range(PARTITIONS)
        for at in range(begin.get((TOPIC, number), 0), end[TOPIC, number])
    ]  # fmt: skip
    return [
        (at * PARTITIONS + number, number, at) for number, at in places if not is_bad(at * PARTITIONS + number)
    ]  # fmt: skip


STEPS = st.lists(st.tuples(st.sampled_from(["on", "on", "on", "back", "anew"]), st.integers(1, 900)), max_size=8)


@given(steps=STEPS)
@examples(3)
def test_an_offset_gives_its_messages_wherever_the_source_was_before(brokers: str, steps: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as directory:
        bench, offsets = source(brokers, Path(directory)), [{}]
        for step, limit in [("on", LIMIT), *steps, ("on", 10 * MESSAGES)]:
            match step:
                case "back":
                    offsets = offsets[: 1 + limit % len(offsets)]
                case "anew":
                    bench = source(brokers, Path(directory))
            bench.sent.clear()
            produced = bench.produce(offsets[-1], limit)
            rows = [row for row in bench.rows() if isinstance(row, tuple)]
            assert sorted(rows, key=lambda row: row[1]) == between(offsets[-1], produced.offset)
            offsets.append(produced.offset)


def begun(bench: Bench) -> Offset:
    """Behind the first messages; the next ones are read ahead."""
    offset = bench.produce({}, LIMIT).offset
    assert bench.operator.__dict__["ahead"] is not None
    return offset


def test_a_failure_while_reading_ahead_is_raised_in_its_turn_and_tried_again(
    brokers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    bench = source(brokers, tmp_path)
    with monkeypatch.context() as patch:
        calls: list[int] = []

        def away(values: Any, *more: Any) -> Any:
            calls.append(len(values))
            if len(calls) == 2:
                message = "the cluster is away"
                raise KafkaAwayError(message)
            return decode(values, *more)

        patch.setattr(kafka_source, "decode", away)
        offset = begun(bench)
        bench.sent.clear()
        assert bench.produce(offset, LIMIT).offset == offset
        assert bench.rows() == []
        produced = bench.produce(offset, LIMIT)
    assert sorted(bench.rows(), key=lambda row: row[1]) == between(offset, produced.offset)


def test_a_bad_message_ahead_fails_behind_the_tuples_before_it(brokers: str, tmp_path: Path):
    bench = source(brokers, tmp_path, onBadTuple="fail")
    offset: Offset = {}
    with pytest.raises(DataError, match="the message cannot become a tuple"):
        while True:
            offset = bench.produce(offset, 1).offset
    assert sorted(bench.rows(), key=lambda row: row[1]) == between({}, offset)


@given(ends=st.lists(st.integers(0, MESSAGES // PARTITIONS), min_size=4, max_size=4), limit=st.integers(1, MESSAGES))
@examples(4)
def test_a_finite_run_ends_where_it_is_to_end_whatever_follows(brokers: str, ends: list[int], limit: int):
    following = {TOPIC: {str(number): min(number, end) for number, end in enumerate(ends)}}
    end = {TOPIC: {str(number): end for number, end in enumerate(ends)}}
    offset: Offset = {"next": following, "end": end}
    first, exhausted = offset, False
    with tempfile.TemporaryDirectory() as directory:
        bench = source(brokers, Path(directory), until="latest")
        while not exhausted:
            offset, exhausted = bench.produce(offset, max(limit, MESSAGES // 8))
        assert offset == {"next": end, "end": end}
        assert sorted(bench.rows(), key=lambda row: row[1]) == between(first, offset)
