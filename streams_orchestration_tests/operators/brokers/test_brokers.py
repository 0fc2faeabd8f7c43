"""MQTTSource, RedisSource, NATSSource: what a broker was told is in the journal is there, and comes again from it."""

from __future__ import annotations

import importlib.util
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.standard.systems import mqtt_source, nats_source, redis_source
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.hosts import receivers
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.brokers import BROKERS, PASSWORD, Broker, Mosquitto
from streams_orchestration_tests.servers.receiving import files_of, receiving, reported, wait_for_messages
from streams_orchestration_tests.waiting import until

ROW = "n bigint"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses before a retry."""
    monkeypatch.setattr(receivers, "PAUSES", Pauses(0.05, 0.05))


@pytest.fixture(params=sorted(BROKERS))
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    kind = BROKERS[request.param]
    if (reason := kind.why_not()) is not None:
        pytest.skip(reason)
    made = kind(tmp_path / "broker")
    made.start()
    made.prepare()
    try:
        yield made
    finally:
        made.stop()


def bench(broker: Broker, directory: Path, schema: str = ROW, **parameters: Any) -> tuple[Bench, JournalSource]:
    settings: Any = {"url": broker.url} | broker.parameters | parameters
    made = Bench(broker.source, [], [schema], results=directory, **settings)
    assert isinstance(made.operator, JournalSource)
    return made, made.operator


def test_an_mqtt_client_that_fails_is_reported_and_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from paho.mqtt.client import Client

    def loop_forever(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(Client, "loop_forever", loop_forever)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"mqtt://127.0.0.1:{server.getsockname()[1]}"
        source = Bench(mqtt_source.MQTTSource, [], [ROW], results=tmp_path, url=url, topics=["a"]).operator
        assert isinstance(source, JournalSource)
        with receiving(source):
            assert "the client failed: KeyError" in reported(source, "error")


def values(*numbers: int) -> list[bytes]:
    return [b'{"n": %d}' % number for number in numbers]


def numbers(made: Bench) -> Counter[int]:
    made.sent.clear()
    made.restart().produce()
    return Counter(row[0] for row in made.rows())


@pytest.mark.slow
def test_messages_are_journalled_once_over_hosts_and_a_crash_of_the_broker(broker: Broker, tmp_path: Path):
    made, source = bench(broker, tmp_path)
    with receiving(source):
        reported(source, "place")
        broker.send(values(*range(5)))
        wait_for_messages(source, 5)
    broker.send(values(5, 6))  # sent while no host runs
    files_of(source).report({})
    with receiving(source):
        wait_for_messages(source, 7)
        if broker.once:  # Mosquitto writes its database only now and then
            broker.stop(signal.SIGKILL)
            reported(source, "error")
            broker.start()
        broker.send(values(7, 8))
        # not their number: Mosquitto may send one again
        until(lambda: numbers(made).keys() == set(range(9)), lambda: f"only {numbers(made)} are in the journal")
    actual = numbers(made)
    assert actual == Counter(range(9)) or not broker.once


@pytest.mark.slow
def test_a_message_that_was_not_acknowledged_is_recognised_when_it_is_sent_again(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made, source = bench(broker, tmp_path)
    modules = {"mosquitto": mqtt_source, "redis-server": redis_source, "nats-server": nats_source}
    module = modules[broker.command]
    take, dies = module.take, [True]

    async def dying(*arguments: Any) -> None:
        """Let the host die after it has written the journal, before it acknowledges."""
        await take(*arguments)
        if arguments[1] and dies and dies.pop():
            message = "dies"
            raise ConnectionError(message)

    monkeypatch.setattr(module, "take", dying)
    monkeypatch.setattr(nats_source, "ACKNOWLEDGE_SECONDS", 0.3)
    with receiving(source):
        reported(source, "place")
        broker.send(values(1))
        wait_for_messages(source, 1)
        broker.send(values(2, 3))
        wait_for_messages(source, 3 if broker.once else 4)
    actual = numbers(made)
    assert actual.keys() == {1, 2, 3}
    assert actual == Counter([1, 2, 3]) or not broker.once


@pytest.mark.slow
def test_the_origin_is_an_attribute_and_a_long_message_is_left_out(broker: Broker, tmp_path: Path):
    origin = broker.source.origin
    parameters = {"format": "raw", "metadata": {"whence": origin}, "maxMessageBytes": 10}
    made, source = bench(broker, tmp_path, "text string, whence string", **parameters)
    with receiving(source):
        reported(source, "place")
        broker.send([b"x" * 11, b"short"])
        wait_for_messages(source, 1)
        assert reported(source, "counts") == {"too long": 1}
    made.produce()
    assert made.rows() == [("short", broker.origin)]


@pytest.mark.slow
def test_a_broker_that_is_away_is_waited_for(broker: Broker, tmp_path: Path):
    made, source = bench(broker, tmp_path)
    broker.stop()
    with receiving(source):
        assert reported(source, "error").startswith(f"{broker.url}: cannot be reached")
        made.produce()
        assert made.operator.pause() >= 0.5  # type: ignore[attr-defined]
        broker.start()
        reported(source, "place")


@pytest.fixture
def keeping(broker: Broker) -> Broker:
    """A broker that keeps the position of who reads."""
    if not broker.once:
        pytest.skip("it has no position in a log")
    return broker


@pytest.mark.slow
def test_a_log_that_was_deleted_and_recreated_is_named_or_read_from_its_beginning(keeping: Broker, tmp_path: Path):
    made, source = bench(keeping, tmp_path)
    with receiving(source):
        reported(source, "place")
        keeping.send(values(1, 2))
        wait_for_messages(source, 2)
    keeping.make_anew()
    keeping.send(values(2, 3))
    files_of(source).report({})
    with receiving(source):
        reported(source, "refused")
    offset = made.produce().offset
    with pytest.raises(
        DataError, match=r"it was deleted since it was read, or created again; .*onLostData: skip reads"
    ):
        made.produce(offset)
    files_of(source).report({})
    made, source = bench(keeping, tmp_path, onLostData="skip")
    with receiving(source):
        reported(source, "place")
        wait_for_messages(source, 4)
        assert reported(source, "counts") == {"recreated": 1}
    assert numbers(made) == Counter([1, 2, 2, 3])


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    if (reason := Mosquitto.why_not()) is not None:
        pytest.skip(reason)
    made = Mosquitto(tmp_path / "broker")
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.mark.slow
def test_a_session_that_the_broker_has_lost_is_named_until_onlostdata_skips_it(mosquitto: Mosquitto, tmp_path: Path):
    made, source = bench(mosquitto, tmp_path)
    with receiving(source):
        reported(source, "place")
        mosquitto.send(values(1))
        wait_for_messages(source, 1)
    mosquitto.stop()
    mosquitto.make_anew()
    mosquitto.start()
    for _ in range(2):  # the second time the broker has the session that was made at the first
        files_of(source).report({})
        with receiving(source):
            reported(source, "refused")
    offset = made.produce().offset
    with pytest.raises(DataError, match=rf"{mosquitto.url}, session tests: the broker has lost the session.*skip"):
        made.produce(offset)
    made, source = bench(mosquitto, tmp_path, onLostData="skip")
    with receiving(source):
        reported(source, "place")
        mosquitto.send(values(2))
        wait_for_messages(source, 2)
        assert reported(source, "counts") == {"session lost": 1}
    assert numbers(made) == Counter([1, 2])


@pytest.mark.slow
def test_without_acknowledgements_no_session_is_missed(mosquitto: Mosquitto, tmp_path: Path):
    _, source = bench(mosquitto, tmp_path, qos=0)
    with receiving(source):
        reported(source, "place")
        mosquitto.stop()
        mosquitto.make_anew()
        reported(source, "error")
        mosquitto.start()
        reported(source, "place")
        assert not files_of(source).reported()["counts"]


@pytest.mark.slow
def test_two_applications_each_get_all_messages_by_default(keeping: Broker, tmp_path: Path):
    places: list[str] = []
    for owner in ("catalog/one", "catalog/two", "other/one"):
        made, source = bench(keeping, tmp_path / owner)
        with receiving(source, owner=owner):
            places.append(reported(source, "place"))
            if not places[1:]:
                keeping.send(values(1, 2))
            wait_for_messages(source, 2)
        assert numbers(made) == Counter([1, 2])
    assert len(set(places)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BROKERS))
def test_credentials_that_are_refused_stop_and_are_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    if (reason := BROKERS[name].why_not()) is not None:
        pytest.skip(reason)
    monkeypatch.setenv("PLANTED", PASSWORD)
    broker = BROKERS[name](tmp_path / "broker", guarded=True)
    broker.start()
    try:
        made, source = bench(broker, tmp_path / "home", user="keeper", password="${env:PLANTED}")
        with receiving(source):
            reported(source, "refused")
            with pytest.raises(DataError, match=f"{broker.url}.*check user, password") as raised:
                made.produce()
    finally:
        broker.stop()
    assert PASSWORD not in str(raised.value)
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


WRONG = [
    ({"url": "http://host"}, "is not an address of the form"),
    ({"url": "{scheme}://me:secret@host"}, "the address contains a user or password"),
    ({"url": "{scheme}://host:99999"}, "is not an address"),
    ({"password": "secret"}, "it contains a secret"),
]


@pytest.mark.parametrize("name", sorted(BROKERS))
@pytest.mark.parametrize(("parameters", "wanted"), WRONG)
def test_wrong_parameters_of_a_broker_s_source_are_refused_before_it_runs(
    tmp_path: Path, name: str, parameters: dict[str, str], wanted: str
):
    kind = BROKERS[name]
    filled = {key: value.replace("{scheme}", kind.scheme) for key, value in parameters.items()}
    settings: Any = {"url": f"{kind.scheme}://host"} | kind.parameters | filled
    with pytest.raises(ValueError, match=wanted):
        Bench(kind.source, [], [ROW], results=tmp_path, **settings)


@pytest.mark.parametrize(("name", "module", "extra"), [
    ("mosquitto", "paho", "mqtt"), ("redis-server", "redis", "redis"), ("nats-server", "nats", "nats"),
])  # fmt: skip
def test_without_the_extra_its_name_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda wanted, *rest: None if wanted == module else find(wanted))
    kind = BROKERS[name]
    settings: Any = {"url": f"{kind.scheme}://host"} | kind.parameters
    with pytest.raises(ValueError, match=rf"pip install 'streams-orchestration\[{extra}\]'"):
        Bench(kind.source, [], [ROW], results=tmp_path, **settings)
