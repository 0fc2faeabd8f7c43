"""Writes to Kafka in transactions, each with a mark of the delivery that it contains."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from streams_orchestration import world
from streams_orchestration.operators.kafka.client import (
    CONNECT_SECONDS,
    Cluster,
    KafkaAwayError,
    KafkaParameters,
    KafkaRefusedError,
    refusals_of_messages,
)
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey

TOPIC_CHECK_SECONDS = 5.0
"""Seconds without progress after which the producer checks whether the topic still exists."""
POLL_SECONDS = 0.002
"""Seconds between polls for errors while the broker accepts messages."""
COMMIT_SECONDS = 60.0
"""Timeout in seconds of one attempt to end a transaction."""
TRANSACTION_MILLISECONDS = 300_000
"""Milliseconds after which the cluster aborts a dead process's transaction, so that readers continue."""


class KafkaMessage(NamedTuple):
    """One message to write."""

    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    """The partition number; -1 lets the key decide."""
    timestamp: int = 0
    """Timestamp in milliseconds; 0 means now."""
    headers: list[tuple[str, bytes | None]] | None = None
    row: int = 0
    """Number of the message's tuple in the delivery, from 1."""


class TransactionalProducer:
    """The producer of one channel of a sink. A second producer with the same name fences the first.

    Creating it and `write` raise `KafkaAwayError` and `KafkaRefusedError`. After that, it must be closed and replaced.
    """

    def __init__(
        self, parameters: KafkaParameters, topic: str, key: DeliveryKey, *, alone: bool = False, routes: bool = False
    ) -> None:
        """Connect, and fence the previous producer of the same name.

        Args:
            parameters: the connection parameters of the cluster.
            topic: the topic that messages are written to.
            key: the key of the first delivery.
            alone: send each message as a batch of its own, so that the broker cannot refuse others together with it.
            routes: leave out messages that the client refuses instead of failing.
        """
        from confluent_kafka import Consumer, KafkaException, Producer
        from confluent_kafka.admin import AdminClient

        self.name = producer_name(key, topic)
        self._topic = topic
        self._cluster = Cluster(parameters)
        self._failed: Any = None
        """The first error that was reported for a message."""
        self.refused: dict[int, Any] = {}
        """Maps the row of each message that was refused for its content to the error. Other messages of the same batch
        may be included."""
        self._routes = routes
        self._hangs = False
        """True if a call of the library has not returned, so that the producer must no longer be used."""
        try:
            self.client: Any = Producer(
                self._cluster.settings(
                    **{
                        "transactional.id": self.name,
                        "transaction.timeout.ms": TRANSACTION_MILLISECONDS,
                        "delivery.report.only.error": True,
                        "linger.ms": 5,
                        "compression.type": "lz4",
                        "queue.buffering.max.messages": 1_000_000,
                        "message.timeout.ms": 60_000,
                        "allow.auto.create.topics": False,
                        **({"batch.num.messages": 1} if alone else {}),
                    }
                )
            )
            # the mark is an offset of a group without members, so that one transaction writes it with the messages
            self._group: Any = Consumer(
                self._cluster.settings(
                    **{"group.id": self.name, "enable.auto.commit": False, "isolation.level": "read_committed"}
                )
            )
            self._admin: Any = AdminClient(self._cluster.settings())
        except KafkaException as error:
            raise KafkaRefusedError(str(self._cluster.translated(error, "client"))) from None
        self._check_topic()
        self._made = self._topic_id()
        self._do(lambda: self.client.init_transactions(2 * CONNECT_SECONDS))
        self.mark = self._read_mark()
        """The (life, generation, number) of the last completed delivery; None if there is none."""

    def write(
        self, key: DeliveryKey, messages: Iterable[Iterable[KafkaMessage]], settle: Callable[[], None] = lambda: None
    ) -> None:
        """Write messages in order and the mark in one transaction, calling `settle` before the commit.

        The messages of earlier calls in `refused` are forgotten. After the commit, `mark` is this delivery. An
        error of an argument passes unchanged. After any error the producer must be closed; a transaction that was not
        committed never becomes visible.

        Raises:
            KafkaAwayError: the cluster does not respond, or the topic was created again meanwhile. The transaction may
                have been committed if no response to the commit came.
            KafkaRefusedError: the cluster or the client refuses the transaction or a message, or the topic is missing.
        """
        self.refused.clear()
        try:
            self._write(key, messages, settle)
        except (KafkaAwayError, KafkaRefusedError):
            self._check_topic_if_reached()
            raise
        self.mark = (key.life, key.generation, key.number)

    def _write(self, key: DeliveryKey, messages: Iterable[Iterable[KafkaMessage]], settle: Callable[[], None]) -> None:
        from confluent_kafka import TopicPartition

        self._do(self.client.begin_transaction)
        for part in messages:
            self._do(lambda part=part: self._send(part))
        self._do(self._drain)
        mark = json.dumps([key.life, key.generation, key.number, key.watermark])
        position = TopicPartition(self._topic, 0, key.number, metadata=mark)
        group = self._group.consumer_group_metadata()
        self._do(
            lambda: self._answered(lambda: self.client.send_offsets_to_transaction([position], group, COMMIT_SECONDS))
        )
        self._check_same_topic()
        settle()
        self._do(lambda: self._answered(lambda: self.client.commit_transaction(COMMIT_SECONDS)))

    def close(self) -> None:
        """Close the clients, except a producer whose call hangs, and drop messages that are not sent.

        A transaction that was begun and not committed never becomes visible.
        """
        from confluent_kafka import KafkaException

        self._group.close()
        if self._hangs:
            return
        with contextlib.suppress(KafkaException):  # a producer that has failed raises an error
            self.client.purge()
            self.client.flush(0)

    def is_made(self, key: DeliveryKey) -> bool:
        """Return True if this delivery or a later one was completed."""
        return self.mark is not None and self.mark[0] == key.life and (key.generation, key.number) <= self.mark[1:]

    def _check_topic(self) -> None:
        known = self._do(lambda: self._group.list_topics(self._topic, timeout=CONNECT_SECONDS)).topics
        error = known[self._topic].error if self._topic in known else None
        if error is not None:
            raise self._cluster.translated(error, f"topic {self._topic}")
        self._cluster.reached()

    def _check_topic_if_reached(self) -> None:
        """Check that the topic exists; ignore a cluster that is away.

        Call it after other errors, since the missing topic may be their cause.
        """
        with contextlib.suppress(KafkaAwayError):
            self._check_topic()

    def _topic_id(self) -> str:
        """Return the topic's id. A topic that is created again has another id."""
        from confluent_kafka import TopicCollection

        about = TopicCollection([self._topic])
        described = self._admin.describe_topics(about, request_timeout=CONNECT_SECONDS)[self._topic]
        return str(self._do(described.result).topic_id)

    def _check_same_topic(self) -> None:
        """Check that the topic was not recreated during the transaction, since earlier messages would be lost."""
        if self._topic_id() != self._made:
            message = (
                f"topic {self._topic} at {self._cluster.brokers}: was created again while messages were being sent"
            )
            raise KafkaAwayError(message)

    def _read_mark(self) -> tuple[str, int, int] | None:
        from confluent_kafka import TopicPartition

        wanted = [TopicPartition(self._topic, 0)]
        committed = self._do(lambda: self._group.committed(wanted, timeout=CONNECT_SECONDS))[0]
        if committed.offset < 0 or not committed.metadata:
            return None
        life, generation, number, _ = json.loads(committed.metadata)
        return life, generation, number

    def _send(self, messages: Iterable[KafkaMessage]) -> None:
        for message in messages:
            if not self._is_queued(message):  # the queue is full of earlier messages
                self._poll_until(lambda message=message: self._is_queued(message))
        self.client.poll(0)
        self._check()

    def _drain(self) -> None:
        """Wait until the broker has accepted all sent messages."""
        self._poll_until(lambda: not len(self.client))

    def _poll_until(self, done: Callable[[], bool]) -> None:
        checked = world.monotonic()
        while not done():
            self.client.poll(POLL_SECONDS)
            self._check()
            if world.monotonic() > checked + TOPIC_CHECK_SECONDS:
                self._check_topic_if_reached()
                checked = world.monotonic()

    def _is_queued(self, message: KafkaMessage) -> bool:
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {} if message.headers is None else {"headers": message.headers}
        try:
            self.client.produce(
                self._topic,
                message.value,
                message.key,
                partition=message.partition,
                timestamp=message.timestamp,
                on_delivery=partial(self._reported, message.row),
                **options,
            )
        except BufferError:
            return False
        except KafkaException as error:
            self._note(message.row, error.args[0])
            if not self._routes or message.row not in self.refused:
                raise
        return True

    def _reported(self, row: int, error: Any, _message: Any) -> None:
        if error is None:
            return
        self._note(row, error)
        if self._failed is None:
            self._failed = error

    def _note(self, row: int, error: Any) -> None:
        if error.code() in refusals_of_messages():
            self.refused.setdefault(row, error)

    def _check(self) -> None:
        if self._failed is not None:
            raise self._cluster.translated(self._cause(self._failed), f"topic {self._topic}")

    def _answered(self, action: Callable[[], Any]) -> Any:
        """Run a call that may hang forever when connections are lost, in spite of its timeout.

        If the call hangs, the producer is abandoned. The next producer of the same name fences it, so the call has no
        further effect, and then reads the mark.
        """
        # https://github.com/confluentinc/librdkafka/issues/5456
        result: Future[Any] = Future()
        answered = world.Event()
        world.Thread(target=_settle, args=(result, answered, action), name=self.name, daemon=True).start()
        until = world.monotonic() + COMMIT_SECONDS + CONNECT_SECONDS
        while not answered.wait(TOPIC_CHECK_SECONDS):
            self._hangs = True
            self._check_topic_if_reached()
            if world.monotonic() > until:
                place = f"topic {self._topic} at {self._cluster.brokers}"
                message = f"{place}: cannot be reached: the client does not answer"
                raise KafkaAwayError(message)
        self._hangs = False
        return result.result()

    def _do(self, action: Callable[[], Any]) -> Any:
        """Call the library. If an error of a message is known, raise that instead, since it is the cause."""
        from confluent_kafka import KafkaException

        try:
            return action()
        except KafkaException as error:
            for client in (self.client, self._group):
                with contextlib.suppress(KafkaException):
                    client.poll(0)  # lets the clients tell why
            self._check()
            raise self._cluster.translated(self._cause(error.args[0]), f"topic {self._topic}") from None

    def _cause(self, error: Any) -> Any:
        """Return the error that made the transaction fail, if the given one follows from it; else the given error.

        To learn it, another transaction is begun, which the library refuses with the reason.
        """
        from confluent_kafka import KafkaError, KafkaException

        follows = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._STATE, KafkaError._FATAL)
        if not isinstance(error, KafkaError) or error.code() not in follows:
            return error
        try:
            self.client.begin_transaction()  # a transaction that failed refuses it with the reason
        except KafkaException as failure:
            cause = failure.args[0]
            return cause if cause.txn_requires_abort() or cause.fatal() else error
        return error


def producer_name(key: DeliveryKey, topic: str) -> str:
    """Return the transactional id of a sink's channel for one topic.

    It is also the consumer group whose committed offset records the last delivery. It contains the installation, since
    two installations may have an application of the same name on one cluster and would fence each other.
    """
    return f"streams.{key.installation}.{key.application}.{key.operator}.{key.channel}.{topic}"


def _settle(result: Future[Any], answered: world.Event, action: Callable[[], Any]) -> None:
    """Store an action's result, or its exception, in the future, and set the event."""
    try:
        result.set_result(action())
    except BaseException as error:  # noqa: BLE001  raised where the result is read
        result.set_exception(error)
    answered.set()
