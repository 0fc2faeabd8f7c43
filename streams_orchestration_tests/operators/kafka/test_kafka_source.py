"""KafkaSource on a real broker: every message once from every offset, lost and bad ones as the parameters say."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.kafka import reader
from streams_orchestration.operators.kafka.client import KafkaParameters
from streams_orchestration.operators.standard.systems.kafka_source import KafkaSource
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import Watermark
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.kafka import PASSWORD, PROMPT, Broker

pytestmark = [pytest.mark.java, pytest.mark.slow]

SCHEMA = "n bigint, s string"
PLACES = "n bigint, s string, p int, o bigint"
POLICIES = ("fail", "skip")
METADATA = {"p": "partition", "o": "offset"}


def message(number: int) -> bytes:
    return json.dumps({"n": number, "s": f"row {number}"}).encode()


def filled(kafka: Broker, count: int, partitions: int = 1) -> str:
    topic = kafka.topic(partitions)
    kafka.send(topic, [message(number) for number in range(count)], partition=[n % partitions for n in range(count)])
    return topic


def source(kafka: Broker, tmp_path: Path, name: str | None, schema: str = SCHEMA, **parameters: Any) -> Bench:
    settings = {"brokers": kafka.address, "client": PROMPT, "topic": name, "until": "latest"} | parameters
    return Bench(
        KafkaSource, outputs=[schema], results=tmp_path, **{k: v for k, v in settings.items() if v is not None}
    )


def run(bench: Bench, offset: dict[str, Any] | None = None, limit: int = 7) -> dict[str, Any]:
    offset, exhausted = offset or {}, False
    while not exhausted:
        offset, exhausted = bench.produce(offset, limit)
    return offset


def upto(bench: Bench, rows: int, offset: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read until a source that does not end has submitted some rows in all; the offset behind them."""
    offset, until = offset or {}, time.monotonic() + 60
    while len(bench.rows()) < rows and time.monotonic() < until:
        offset = bench.produce(offset, 100).offset
    return offset


def test_every_message_comes_once_and_in_order_of_its_partition(kafka: Broker, tmp_path: Path):
    bench = source(kafka, tmp_path, filled(kafka, 60, 3), PLACES, metadata=METADATA)
    run(bench)
    rows = bench.rows()
    assert sorted(row[0] for row in rows) == list(range(60))
    for partition in range(3):
        assert [row[3] for row in rows if row[2] == partition] == list(range(20))
    assert bench.metrics["lag"] == 0


@pytest.mark.parametrize("restart", range(0, 20, 3))
def test_reading_goes_on_from_every_offset(kafka: Broker, tmp_path: Path, restart: int):
    topic = filled(kafka, 20)
    first = source(kafka, tmp_path, topic)
    offset = {} if not restart else first.produce({}, restart).offset
    second = source(kafka, tmp_path, topic)
    run(second, offset)
    assert [row[0] for row in first.rows() + second.rows()] == list(range(20))


def test_the_same_object_goes_back_to_an_earlier_offset(kafka: Broker, tmp_path: Path):
    bench = source(kafka, tmp_path, filled(kafka, 20))
    early = bench.produce({}, 5).offset
    run(bench, early)
    bench.sent.clear()
    run(bench, early)
    assert [row[0] for row in bench.rows()] == list(range(5, 20))


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_channels_share_the_partitions_and_a_new_width_moves_their_offsets(kafka: Broker, tmp_path: Path, width: int):
    topic = filled(kafka, 60, 5)

    def channels(count: int) -> list[Bench]:
        benches = [source(kafka, tmp_path / str(count), topic) for _ in range(count)]
        for number, bench in enumerate(benches):
            bench.context.channel, bench.context.max_channels = number, count
        return benches

    before = channels(2)
    offsets = [bench.produce({}, 9).offset for bench in before]
    after = channels(width)
    moved = after[0].operator.rescale(offsets, type("Route", (), {"width": width})())  # type: ignore[arg-type]
    for bench, offset in zip(after, moved, strict=True):
        run(bench, dict(offset))
    assert sorted(row[0] for bench in (*before, *after) for row in bench.rows()) == list(range(60))


def test_latest_begins_with_what_comes_after_the_first_look_also_after_a_reset(kafka: Broker, tmp_path: Path):
    topic = filled(kafka, 5)
    bench = source(kafka, tmp_path, topic, until=None, startAt="latest")
    assert bench.produce({}, 10).offset["next"] == {topic: {"0": 5}}
    kafka.send(topic, [message(5)])
    again = source(kafka, tmp_path, topic, until=None, startAt="latest")
    until(again, {}, 1)
    assert again.rows() == [(5, "row 5")]


def test_a_time_begins_with_the_first_message_as_young(kafka: Broker, tmp_path: Path):
    topic = kafka.topic()
    second = int(time.time()) - 100
    kafka.send(topic, [message(number) for number in range(4)], timestamp=[(second + n) * 1000 for n in range(4)])
    start = datetime.fromtimestamp(second + 1, UTC).isoformat()
    bench = source(kafka, tmp_path, topic, "n bigint, t timestamp", metadata={"t": "timestamp"}, startAt=start)
    run(bench)
    assert [(row[0], row[1].timestamp()) for row in bench.rows()] == [(n, second + n) for n in (1, 2, 3)]


def until(bench: Bench, offset: dict[str, Any], count: int) -> dict[str, Any]:
    for _ in range(100):
        offset = bench.produce(offset, 100).offset
        if len(bench.rows()) >= count:
            return offset
    raise AssertionError(bench.rows())


def test_partitions_and_topics_that_come_later_are_read_from_their_beginning(kafka: Broker, tmp_path: Path):
    topic = filled(kafka, 2)
    bench = source(kafka, tmp_path, None, until=None, pattern=f"{topic}.*", discovery=0.001)
    offset = until(bench, {}, 2)
    kafka.widen(topic, 2)
    kafka.topic(name=f"{topic}-more")
    kafka.send(topic, [message(2)], partition=1)
    kafka.send(f"{topic}-more", [message(3)])
    until(bench, offset, 4)
    assert sorted(row[0] for row in bench.rows()) == [0, 1, 2, 3]


def test_metadata_are_attributes(kafka: Broker, tmp_path: Path):
    topic = kafka.topic()
    headers = [("trace", b"abc"), ("other", None)]
    moment = int(time.time()) * 1000 - 500
    kafka.send(topic, [b"value"], key=b"key", headers=[headers], timestamp=moment)
    kinds = {"k": "key", "t": "topic", "h": "header.trace", "missing": "header.none", "ms": "timestamp"}
    bench = source(
        kafka,
        tmp_path,
        topic,
        "v string, k string, t string, h binary, missing string, ms bigint",
        format="raw",
        metadata=kinds,
    )
    run(bench)
    assert bench.rows() == [("value", "key", topic, b"abc", None, moment)]


def test_the_watermark_of_a_topic_is_the_least_of_its_partitions(kafka: Broker, tmp_path: Path):
    topic = kafka.topic(3)
    rows = [(partition, 10 * at + partition) for partition in range(3) for at in range(20)]
    kafka.send(topic, [json.dumps({"n": at}).encode() for _, at in rows], partition=[each for each, _ in rows])
    bench = OperatorHarness(
        KafkaSource, outputs=["n bigint, p int"], results=tmp_path, event_time="n",
        parameters={"brokers": kafka.address, "topic": topic, "until": "latest", "metadata": {"p": "partition"}},
    )  # fmt: skip
    offset, exhausted = {}, False
    while not exhausted:
        offset, exhausted = bench.produce(offset, 7)
    watermark, greatest = -1, {0: -1, 1: -1, 2: -1}
    for item in bench.items():
        if isinstance(item, Watermark):
            watermark = item.value
            assert watermark == min(greatest.values())
        else:
            assert isinstance(item, tuple)
            assert item[0] >= watermark, "nothing is late that is in order in its partition"
            greatest[item[1]] = max(greatest[item[1]], item[0])
    assert watermark == 190


def test_only_committed_transactions_are_read_and_their_marks_do_not_hold_up_the_end(kafka: Broker, tmp_path: Path):
    from confluent_kafka import Producer

    topic = kafka.topic()
    for number, ends in enumerate((True, False, True)):
        settings = {"bootstrap.servers": kafka.address, "transactional.id": f"{topic}-{number}"}
        producer = Producer(settings)
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, message(number))
        producer.flush(60)
        producer.commit_transaction(60) if ends else producer.abort_transaction(60)
        Producer(settings).init_transactions(60)  # waits for the mark, which the broker writes after its answer
    bench = source(kafka, tmp_path, topic)
    run(bench)
    assert [row[0] for row in bench.rows()] == [0, 2]


def test_a_bad_message_fails_with_its_place(kafka: Broker, tmp_path: Path):
    topic = filled(kafka, 3)
    kafka.send(topic, [b"no", message(4)])
    with pytest.raises(DataError, match=rf"topic {topic}, partition 0, offset 3: the message cannot become a tuple: "):
        run(source(kafka, tmp_path, topic), limit=100)
    dropping = source(kafka, tmp_path, topic, onBadTuple="drop")
    run(dropping)
    assert ([row[0] for row in dropping.rows()], dropping.metrics["dropped"]) == ([0, 1, 2, 4], 1)


def test_a_message_without_a_required_value_is_bad(kafka: Broker, tmp_path: Path):
    topic = filled(kafka, 1)
    kafka.send(topic, [b'{"s": "x"}', message(2)])
    dropping = source(kafka, tmp_path, topic, "n bigint NOT NULL, s string", onBadTuple="drop")
    run(dropping)
    assert ([row[0] for row in dropping.rows()], dropping.metrics["dropped"]) == ([0, 2], 1)
    schema = "n bigint, s string, k string NOT NULL"
    keyed = source(kafka, tmp_path, topic, schema, onBadTuple="drop", metadata={"k": "key"})
    run(keyed)
    assert keyed.metrics["dropped"] == 3


def test_bad_messages_go_to_the_second_port(kafka: Broker, tmp_path: Path):
    topic = filled(kafka, 1)
    kafka.send(topic, [b"no", None])
    bench = Bench(
        KafkaSource, outputs=[SCHEMA, "offset bigint, partition int, message string, topic string"], results=tmp_path,
        brokers=kafka.address, topic=topic, until="latest", onBadTuple="stream",
    )  # fmt: skip
    run(bench)
    assert (bench.rows(), bench.rows(1)) == ([(0, "row 0")], [(1, 0, "no", topic), (2, 0, "", topic)])


def emptied(kafka: Broker) -> str:
    """Return a topic whose first ten messages are gone."""
    from confluent_kafka import TopicPartition

    topic = filled(kafka, 20)
    admin = kafka.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, 10)]).values():
        future.result(30)
    return topic


def test_lost_data_fails_with_partition_and_offsets_or_is_skipped(kafka: Broker, tmp_path: Path):
    topic = emptied(kafka)
    offset = {"next": {topic: {"0": 4}}, "end": {topic: {"0": 20}}}
    with pytest.raises(DataError, match=rf"topic {topic}, partition 0: offset 4 is next.*10 to 19"):
        run(source(kafka, tmp_path, topic), offset)
    skipping = source(kafka, tmp_path, topic, onLostData="skip")
    run(skipping, offset)
    assert ([row[0] for row in skipping.rows()], skipping.metrics["lost"]) == (list(range(10, 20)), 6)


@pytest.mark.covering
@pytest.mark.parametrize("again", [5, 30])
@pytest.mark.parametrize("is_open", [True, False], ids=["while it is read", "between two runs"])
def test_a_topic_that_is_recreated_fails_by_name_or_is_read_from_its_beginning(
    kafka: Broker, tmp_path: Path, again: int, is_open: bool
):
    """The new topic may hold fewer messages than were read of the former one, or more."""
    topic = filled(kafka, 20)
    given: dict[str, Any] = {"until": None, "discovery": 0.001}
    failing, skipping = (source(kafka, tmp_path / policy, topic, onLostData=policy, **given) for policy in POLICIES)
    offsets = {bench: upto(bench, 20) for bench in (failing, skipping)}
    kafka.delete(topic)
    kafka.topic(1, topic)
    kafka.send(topic, [message(100 + number) for number in range(again)])
    if not is_open:
        failing, skipping = (source(kafka, tmp_path / policy, topic, onLostData=policy, **given) for policy in POLICIES)
        offsets = dict(zip((failing, skipping), offsets.values(), strict=True))
    wanted = (
        rf"topic {topic} at \S+ was deleted and created again since it was read up to offset 20 of partition 0.*skip"
    )
    with pytest.raises(DataError, match=wanted):
        upto(failing, 21, offsets[failing])
    already = len(skipping.rows())
    upto(skipping, already + again, offsets[skipping])
    assert [row[0] for row in skipping.rows()[already:]] == list(range(100, 100 + again))


@pytest.mark.parametrize("parameter", ["topic", "pattern"])
def test_a_topic_that_is_not_there_stops_by_name(kafka: Broker, tmp_path: Path, parameter: str):
    with pytest.raises(DataError, match="missing"):
        source(kafka, tmp_path, None, **{parameter: "missing"}).produce()


@pytest.mark.parametrize("end", [{}, {"end": 40}])
def test_a_topic_that_is_deleted_in_the_middle_stops_by_name(kafka: Broker, tmp_path: Path, end: dict[str, int]):
    """Also a finite run, of which messages are missing then."""
    topic = filled(kafka, 20)
    offset = {name: {topic: {"0": number}} for name, number in ({"next": 5} | end).items()}
    bench = source(kafka, tmp_path, topic, until="latest" if end else None, discovery=0.001)
    offset = bench.produce(offset, 5).offset
    admin, until = kafka.admin(), time.monotonic() + 60
    admin.delete_topics([topic])[topic].result(60)
    with pytest.raises(DataError, match=rf"topic {topic}: this topic does not exist at {kafka.address}"):
        while time.monotonic() < until:
            offset = bench.produce(offset, 5).offset


def test_a_topic_that_is_deleted_before_its_id_is_read_is_named(kafka: Broker):
    parameters = KafkaParameters(brokers=kafka.address, client=PROMPT)
    with (
        closing(reader.KafkaReader(parameters, committed=False)) as client,
        pytest.raises(reader.KafkaRefusedError, match=rf"topic gone: this topic does not exist at {kafka.address}"),
    ):
        client.topic_ids(["gone"])


def test_credentials_are_checked_and_secrets_shown_nowhere(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    topic = filled(kafka, 2)
    monkeypatch.setenv("TEST_KAFKA", PASSWORD)
    bench = source(kafka, tmp_path, topic, brokers=kafka.sasl_address, client=kafka.login | PROMPT)
    run(bench)
    assert len(bench.rows()) == 2
    monkeypatch.setenv("TEST_KAFKA", "another-planted-secret")
    wrong = source(kafka, tmp_path / "other", topic, brokers=kafka.sasl_address, client=kafka.login)
    with pytest.raises(DataError, match=r"127.0.0.1.*refused.*[Aa]uthentication") as error:
        for _ in range(5):
            wrong.produce()
    assert "planted" not in str(error.value)


@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("DESCRIBE", r"topic {0}, partition 0 at 127.0.0.1:\d+: refused: .*[Aa]uthoriz.*; check the topic, the rights"),
        (
            "ALTER_CONFIGS",
            r"topic {0}.* at 127.0.0.1:\d+.*(refused: .*[Aa]uthoriz.*check the topic|no right to see it)",
        ),
    ],
)
def test_a_topic_that_may_not_be_read_stops_by_name(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, message: str
):
    topic = filled(kafka, 2)
    kafka.allow_only(topic, right)
    monkeypatch.setenv("TEST_KAFKA", PASSWORD)
    bench = source(kafka, tmp_path, topic, brokers=kafka.sasl_address, client=kafka.login)
    with pytest.raises(DataError, match=message.format(topic)):
        run(bench)


def test_a_broker_that_is_away_at_the_start_or_in_the_middle_loses_nothing(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(reader, "FIRST_SECONDS", 0.2)
    topic = filled(kafka, 2000)
    client = PROMPT | {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50}
    with closing(kafka.proxy()) as proxy:
        proxy.cut()
        bench = source(kafka, tmp_path, topic, brokers=kafka.proxied_address, client=client)
        assert bench.produce({}, 10) == ({}, False)
        assert bench.operator.pause() == 0.5  # type: ignore[attr-defined]
        offset: dict[str, Any] = {}
        for after in (0, 300, 5_000, 20_000, 60_000):
            proxy.open()
            if after:
                proxy.cut(after)
            for _ in range(3):
                offset = bench.produce(offset, 97).offset
        proxy.cut()
        for _ in range(3):
            offset = bench.produce(offset, 5000).offset
        proxy.open()
        run(bench, offset, 97)
    assert [row[0] for row in bench.rows()] == list(range(2000))
