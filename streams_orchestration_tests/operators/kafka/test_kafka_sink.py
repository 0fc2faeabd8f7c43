"""KafkaSink on a real broker: every delivery once, whoever repeats it, dies within it or sleeps through it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.operators.errors.errors import UnknownAttributeError
from streams_orchestration.operators.kafka import producer as producing
from streams_orchestration.operators.kafka.client import KafkaAwayError, KafkaRefusedError
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.undeliverable import file_of
from streams_orchestration.operators.standard.systems.kafka_sink import KafkaSink
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.kafka import PASSWORD, Broker, broker
from streams_orchestration_tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.slow]

SCHEMA = "n bigint, s string"


def sink(kafka: Broker, topic: str, schema: str = SCHEMA, **options: Any) -> KafkaSink:
    parameters: dict[str, Any] = {"brokers": kafka.address, "topic": topic} | options
    operator = Bench(KafkaSink, inputs=[schema], **parameters).operator
    assert isinstance(operator, KafkaSink)
    operator.open()
    return operator


def key(topic: str, epoch: int, *, life: str = "life", generation: int = 0) -> DeliveryKey:
    return DeliveryKey(life, "Out", 0, epoch, generation, epoch, topic)


def batch(operator: KafkaSink, rows: list[tuple[Any, ...]]) -> TupleBatch:
    schema = operator.context.inputs[0]
    return TupleBatch.from_columns({name: [row[i] for row in rows] for i, name in enumerate(schema.names)}, schema)


def deliver(operator: KafkaSink, topic: str, epoch: int, **of_key: Any) -> None:
    operator.deliver(
        key(topic, epoch, **of_key), iter([batch(operator, [(epoch, "a")]), batch(operator, [(epoch, "b")])])
    )


def numbers(kafka: Broker, topic: str) -> list[int]:
    return [json.loads(value)["n"] for value in kafka.values(topic)]


def test_epochs_are_there_once_and_in_order_however_often_they_are_delivered(kafka: Broker):
    topic = kafka.topic()
    first = sink(kafka, topic)
    for epoch in (1, 2, 2, 1, 3):
        deliver(first, topic, epoch)
    first.close()
    second = sink(kafka, topic)
    for epoch in (3, 2, 4):
        deliver(second, topic, epoch)
    assert numbers(kafka, topic) == [1, 1, 2, 2, 3, 3, 4, 4]


class DiedError(Exception):
    """A process died here."""


class Dying:
    """The library's producer, whose process dies behind one of its calls."""

    def __init__(self, producer: Any, after: str) -> None:
        self.producer = producer
        self.after = after

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.producer, name)

        def dies(*arguments: Any) -> None:
            call(*arguments)
            self.producer.flush(30)
            raise DiedError

        return dies if name == self.after else call

    def __len__(self) -> int:
        return len(self.producer)


@pytest.mark.parametrize("after", ["begin_transaction", "poll", "send_offsets_to_transaction", "commit_transaction"])
def test_a_delivery_may_die_at_any_step_and_be_repeated(kafka: Broker, after: str):
    topic = kafka.topic()
    first = sink(kafka, topic)
    deliver(first, topic, 1)
    assert first.producer is not None
    first.producer.client = Dying(first.producer.client, after)
    with pytest.raises(DiedError):
        deliver(first, topic, 2)
    second = sink(kafka, topic)  # the sink of the next process
    deliver(second, topic, 2)
    deliver(second, topic, 3)
    assert numbers(kafka, topic) == [1, 1, 2, 2, 3, 3]


def test_a_process_that_sleeps_within_a_delivery_changes_nothing_when_it_wakes(kafka: Broker):
    topic = kafka.topic()
    asleep, awake = sink(kafka, topic), sink(kafka, topic)
    deliver(asleep, topic, 1)

    def batches() -> Any:
        yield batch(asleep, [(2, "a")])
        deliver(awake, topic, 2)
        deliver(awake, topic, 3)
        yield batch(asleep, [(2, "b")])

    with pytest.raises(KafkaAwayError, match="another process has taken over"):
        asleep.deliver(key(topic, 2), batches())
    asleep.close()
    asleep.open()
    deliver(asleep, topic, 2)  # finds that it was made
    asleep.close()
    awake.close()
    awake.open()
    deliver(awake, topic, 4)
    assert numbers(kafka, topic) == [1, 1, 2, 2, 3, 3, 4, 4]


def refuses_more(operator: KafkaSink, topic: str) -> bool:
    from confluent_kafka import KafkaException

    assert operator.producer is not None
    try:
        operator.producer.client.produce(topic, b"{}")
    except KafkaException:
        return True
    return False


def test_a_process_that_hears_late_that_another_has_taken_over_says_so(kafka: Broker):
    topic = kafka.topic()
    asleep, awake = sink(kafka, topic), sink(kafka, topic)
    deliver(asleep, topic, 1)

    def batches() -> Any:
        deliver(awake, topic, 2)
        yield batch(asleep, [(2, "a")])
        until(lambda: refuses_more(asleep, topic), "the client has heard nothing")
        yield batch(asleep, [(2, "b")])

    with pytest.raises(KafkaAwayError, match="another process has taken over"):
        asleep.deliver(key(topic, 2), batches())
    for each in (asleep, awake):
        each.close()


def test_a_new_life_begins_anew_and_channels_do_not_know_of_each_other(kafka: Broker):
    topic = kafka.topic(2)
    first = sink(kafka, topic)
    deliver(first, topic, 5)
    first.close()
    second = sink(kafka, topic)
    deliver(second, topic, 1, life="another")
    other = sink(kafka, topic)
    other.deliver(key(topic, 1)._replace(channel=1), iter([batch(other, [(9, "c")])]))
    assert sorted(numbers(kafka, topic)) == [1, 1, 5, 5, 9]


def test_batches_of_later_generations_come_after_those_before(kafka: Broker):
    topic = kafka.topic()
    operator = sink(kafka, topic, visibility="read_uncommitted")
    for generation, number in ((1, 7), (1, 7), (2, 6), (2, 7), (1, 8)):
        operator.deliver(key(topic, number, generation=generation), iter([batch(operator, [(number, "a")])]))
    assert numbers(kafka, topic) == [7, 6, 7]


def test_attributes_name_key_partition_time_and_headers(kafka: Broker):
    topic = kafka.topic(3)
    schema = "n bigint, k string, p int, t timestamp, h int"
    options = {
        "key": "k",
        "partition": "p",
        "timestamp": "t",
        "headers": {"x-h": "h"},
        "suppress": ["k", "p", "t", "h"],
    }
    operator = sink(kafka, topic, schema, **options)
    moment = datetime.fromtimestamp(int(time.time()) - 100, UTC)
    rows = [(1, "one", 2, moment, 5), (2, None, 0, moment + timedelta(seconds=1), None)]
    operator.deliver(key(topic, 1), iter([batch(operator, rows)]))
    milliseconds = int(moment.timestamp()) * 1000
    actual = [(m.value(), m.key(), m.partition(), m.timestamp()[1], m.headers()) for m in kafka.messages(topic)]
    assert actual == [
        (b'{"n":2}', None, 0, milliseconds + 1000, [("x-h", None)]),
        (b'{"n":1}', b"one", 2, milliseconds, [("x-h", b"5")]),
    ]


@pytest.mark.parametrize(("format", "wanted"), [("json", b'{"n":1,"s":"a,b"}'), ("csv", b'1,"a,b"')])
def test_messages_have_the_format_of_the_sink(kafka: Broker, format: str, wanted: bytes):
    topic = kafka.topic()
    operator = sink(kafka, topic, format=format)
    operator.deliver(key(topic, 1), iter([batch(operator, [(1, "a,b")])]))
    assert kafka.values(topic) == [wanted]


def test_a_permanent_refusal_names_the_topic(kafka: Broker):
    with pytest.raises(KafkaRefusedError, match=r"topic missing at 127.0.0.1"):
        deliver(sink(kafka, "missing"), "missing", 1)


@pytest.fixture(scope="module")
def kafka_that_makes_topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker(tmp_path_factory.mktemp("kafka"), auto_create=True) as server:
        yield server


BROKERS = ["kafka", pytest.param("kafka_that_makes_topics", marks=pytest.mark.deep)]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a topic that is gone be looked for soon."""
    monkeypatch.setattr(producing, "TOPIC_CHECK_SECONDS", 0.2)


def deliver_and(action: Callable[[], None], operator: KafkaSink, topic: str, *, before: int) -> None:
    """Deliver epoch 2 in two batches, and run an action when the broker has `before` of them."""

    def batches() -> Iterator[TupleBatch]:
        for number in range(3):
            if number == before:
                if operator.producer is not None:
                    operator.producer.client.flush(30)
                action()
            if number < 2:
                yield batch(operator, [(2, str(number))])

    operator.deliver(key(topic, 2), batches())


@pytest.mark.parametrize("server", BROKERS)
@pytest.mark.parametrize("before", range(3))
@pytest.mark.usefixtures("impatient")
def test_a_topic_that_is_deleted_stops_by_name_and_gets_what_waited_when_it_is_made_again(
    request: pytest.FixtureRequest, server: str, before: int
):
    kafka: Broker = request.getfixturevalue(server)
    topic = kafka.topic(3)
    first = sink(kafka, topic)
    deliver(first, topic, 1)
    remedy = "create the topic, with its old settings if it was deleted, or check"
    wanted = rf"topic {topic} at {kafka.address}: refused: .*; {remedy}"
    with pytest.raises(KafkaRefusedError, match=wanted):
        deliver_and(lambda: kafka.delete(topic), first, topic, before=before)
    first.close()
    with pytest.raises(KafkaRefusedError, match=wanted):
        deliver(sink(kafka, topic), topic, 2)
    assert topic not in kafka.topics(), "what it is like is its owner's matter"
    kafka.topic(3, topic)
    second = sink(kafka, topic)
    for epoch in (2, 2, 3):
        deliver(second, topic, epoch)
    assert sorted(numbers(kafka, topic)) == [2, 2, 3, 3]


@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.usefixtures("impatient")
def test_a_topic_that_is_recreated_within_a_delivery_gets_all_of_it(kafka: Broker, before: int):
    topic = kafka.topic()
    first = sink(kafka, topic)
    deliver(first, topic, 1)

    def make_anew() -> None:
        kafka.delete(topic)
        kafka.topic(name=topic)

    with pytest.raises((KafkaAwayError, KafkaRefusedError), match=rf"topic {topic} at {kafka.address}: "):
        deliver_and(make_anew, first, topic, before=before)
    first.close()
    second = sink(kafka, topic)
    for epoch in (2, 2, 3):
        deliver(second, topic, epoch)
    assert numbers(kafka, topic) == [2, 2, 3, 3]


@pytest.mark.parametrize(("most", "size"), [("100", 1_000), ("10000000", 2_000_000)])
def test_a_message_that_is_too_large_for_the_topic_or_the_client_says_what_allows_it(
    kafka: Broker, most: str, size: int
):
    topic = kafka.topic(max_message_bytes=most)
    large = sink(kafka, topic)
    wanted = (
        rf"topic {topic} at .*: refused: .*; allow larger messages, by max.message.bytes .* message.max.bytes under"
    )
    with pytest.raises(KafkaRefusedError, match=wanted):
        large.deliver(key(topic, 1), iter([batch(large, [(1, "x" * size)])]))
    assert kafka.values(topic) == []
    large.close()
    allowed = sink(kafka, kafka.topic(max_message_bytes="10000000"), client={"message.max.bytes": 5_000_000})
    allowed.deliver(key("allowed", 1), iter([batch(allowed, [(1, "x" * size)])]))


def test_a_topic_that_may_not_be_written_stops_by_name(kafka: Broker, monkeypatch: pytest.MonkeyPatch):
    topic = kafka.topic()
    kafka.allow_only(topic, "DESCRIBE")
    monkeypatch.setenv("TEST_KAFKA", PASSWORD)
    forbidden = sink(kafka, topic, brokers=kafka.sasl_address, client=kafka.login)
    with pytest.raises(
        KafkaRefusedError, match=rf"topic {topic} at 127.0.0.1:\d+: refused: .*; check the topic, the rights"
    ):
        deliver(forbidden, topic, 1)
    assert kafka.values(topic) == []


def test_a_cluster_that_is_away_is_tried_again(kafka: Broker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(producing, "CONNECT_SECONDS", 0.2)
    with pytest.raises(KafkaAwayError, match=r"127.0.0.1:1"):
        deliver(sink(kafka, "t", brokers="127.0.0.1:1"), "t", 1)


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"key": "k"}, "key: the input stream has no attribute k"),
        ({"partition": "s"}, "partition: s is string"),
        ({"timestamp": "n"}, "timestamp: n is bigint"),
        ({"suppress": ["n", "s"]}, "no attribute is left"),
        ({"format": "raw"}, "format raw: one attribute"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(parameters: dict[str, Any], wanted: str, tmp_path: Path):
    with pytest.raises((ValueError, UnknownAttributeError), match=wanted):
        Bench(KafkaSink, inputs=[SCHEMA], results=tmp_path, brokers="b:1", topic="t", **parameters)


@pytest.mark.parametrize("by", ["client", "broker", "partition"])
def test_messages_that_are_refused_for_what_they_are_are_named_or_set_aside_and_the_others_are_there(
    kafka: Broker, tmp_path: Path, by: str
):
    topic = kafka.topic(max_message_bytes="20000")
    options: dict[str, Any] = {"partition": "p", "suppress": ["p"]} if by == "partition" else {"suppress": ["p"]}
    options["client"] = {"compression.type": "none"} | ({"message.max.bytes": 20000} if by == "client" else {})
    rows: list[Any] = [(number, "x", 0) for number in range(50)]
    for number in (7, 8, 40):
        rows[number] = (number, "x", 9) if by == "partition" else (number, "x" * 30_000, 0)

    def made(**more: Any) -> KafkaSink:
        operator = Bench(
            KafkaSink,
            ["n bigint, s string, p int"],
            results=tmp_path,
            brokers=kafka.address,
            topic=topic,
            **options,
            **more,
        ).operator
        assert isinstance(operator, KafkaSink)
        operator.open()
        return operator

    file = tmp_path / "waiting.arrow"
    whole = batch(made(), rows).arrow
    with pa.OSFile(str(file), "wb") as sink_, pa.ipc.new_file(sink_, whole.schema) as writer:
        writer.write_table(pa.Table.from_batches([whole]), 20)
    failing = made()
    with pytest.raises(KafkaRefusedError, match=r"row.* of epoch 1.*; onUndeliverable: route sets"):
        failing.deliver_files(key(topic, 1), [file])
    failing.close()
    assert numbers(kafka, topic) == []
    for _ in range(2):
        routing = made(onUndeliverable="route")
        routing.deliver_files(key(topic, 1), [file])
        routing.close()
    assert numbers(kafka, topic) == [number for number in range(50) if number not in (7, 8, 40)]
    lines = [json.loads(line) for line in file_of(failing.context, key(topic, 1)).read_text().splitlines()]
    wanted = "p" if by == "partition" else None
    assert [(line["row"], line["tuple"]["n"], line["column"]) for line in lines] == [
        (8, 7, wanted), (9, 8, wanted), (41, 40, wanted),
    ]  # fmt: skip
