"""The producer of a KafkaSink where the client library itself does not come back; no broker is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from streams_orchestration.operators.kafka import producer as module
from streams_orchestration.operators.kafka.client import KafkaAwayError, KafkaParameters
from streams_orchestration.operators.kafka.producer import KafkaMessage, TransactionalProducer, producer_name
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey


class HangingClient:
    """In the place of the library's producer and consumer: loses the answer to the mark."""

    def __init__(self, _settings: Any, called: list[str], let_go: threading.Event) -> None:
        self.called, self.let_go = called, let_go

    def list_topics(self, topic: str, **_: Any) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None)})

    def committed(self, wanted: list[Any], **_: Any) -> list[Any]:
        return wanted

    def describe_topics(self, topics: Any, **_: Any) -> Any:
        described: Future[Any] = Future()
        described.set_result(SimpleNamespace(topic_id="1"))
        return {"target": described}

    def send_offsets_to_transaction(self, *_: Any) -> None:
        self.let_go.wait(20)

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.called.append(name)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of calls of the library's clients."""
    calls: list[str] = []
    let_go = threading.Event()
    for kind in ("confluent_kafka.Producer", "confluent_kafka.Consumer", "confluent_kafka.admin.AdminClient"):
        monkeypatch.setattr(kind, lambda settings: HangingClient(settings, calls, let_go))
    monkeypatch.setattr(module, "COMMIT_SECONDS", 0.01)
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.01)
    monkeypatch.setattr(module, "TOPIC_CHECK_SECONDS", 0.01)
    yield calls
    let_go.set()


KEY = DeliveryKey("life", "Out", 0, epoch=1, generation=0, number=1, application="app", installation="here")


def test_producers_of_other_installations_sinks_channels_and_topics_have_other_names_and_those_of_other_lives_do_not():
    others = [
        KEY._replace(installation="there"), KEY._replace(application="b"), KEY._replace(operator="In"),
        KEY._replace(channel=1),
    ]  # fmt: skip
    names = {producer_name(key, "target") for key in (KEY, *others)} | {producer_name(KEY, "other")}
    assert len(names) == 6
    assert producer_name(KEY._replace(life="next", epoch=7, number=7), "target") == "streams.here.app.Out.0.target"


def test_a_client_that_does_not_come_back_is_given_up(called: list[str]):
    key = DeliveryKey("life", "Out", 0, epoch=1, generation=0, number=1, application="app")
    producer = TransactionalProducer(KafkaParameters(brokers="localhost:1"), "target", key)
    with pytest.raises(KafkaAwayError, match=r"topic target at localhost:1: cannot be reached: the client does not"):
        producer.write(key, [[KafkaMessage(b"x")]])
    producer.close()
    assert "commit_transaction" not in called
    assert "purge" not in called
    assert called[-1] == "close"
