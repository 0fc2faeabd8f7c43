"""The topics of a simulation: a cluster of Kafka behind the classes of the client library that the product uses.

The cluster has transactions, fences, and offsets of groups that a transaction writes, as KIP-98 says. It belongs to no
process: what a killed producer has sent stays in an open transaction until the next producer of its name fences it.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition, admin

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.shapes import Shape, Tuples
from streams_orchestration_tests.simulation.choices import Choices
from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal
from streams_orchestration_tests.simulation.targets import TargetServer

SINK = "KafkaSink"
PARTITIONS = 3
"""Partitions of a topic whose messages have keys; other topics have one."""
OPEN_SECONDS = 300.0
"""Seconds after which the cluster aborts a transaction."""
MESSAGE_SECONDS = 60.0
"""Seconds after which a client gives a message up that it could not send."""
WAIT_SECONDS = 0.5
"""Seconds between two tries of a client to reach the cluster."""
_BROKERS: dict[Path, Broker] = {}
"""State directory -> the cluster that its sinks have written to."""


def topics_of(shape: Shape) -> dict[str, str]:
    """Return the topics of a shape, each with the sink that writes to it."""
    return {node["parameters"]["topic"]: node["name"] for node in shape.graph if node["operator"] == SINK}


def read_topics(home: Home, topics: Collection[str]) -> dict[str, Tuples]:
    """Return the tuples that readers of committed messages see, one partition after the other."""
    return {topic: _BROKERS[home.root].visible(topic) if home.root in _BROKERS else [] for topic in topics}


@contextlib.contextmanager
def calm(home: Home) -> Iterator[None]:
    """Let sinks within a block write to a cluster of a state directory, without faults."""
    with Broker(Scheduler(Choices(None)), home.root).installed():
        yield


class Message(NamedTuple):
    """A message that a producer has queued."""

    topic: str
    partition: int
    value: bytes
    reported: Callable[[Any, Any], None]
    since: float
    """Simulated time."""


@dataclass(eq=False)
class Transaction:
    """The messages and offsets that become visible together."""

    producer: str
    epoch: int
    began: float
    state: str = "open"
    """`open`, `committed` or `aborted`."""
    messages: int = 0
    offsets: dict[str, TopicPartition] = field(default_factory=dict[str, TopicPartition])
    """Group -> the offset that is written."""


def _failure(code: int, text: str, *, fatal: bool = False) -> KafkaException:
    return KafkaException(KafkaError(code, text, fatal))


class Broker(TargetServer):
    """The cluster, which all processes see alike.

    Args:
        scheduler: of the simulation.
        place: the state directory whose sinks write here.
    """

    def __init__(self, scheduler: Scheduler, place: Path) -> None:
        super().__init__(scheduler)
        self.offsets: dict[str, TopicPartition] = {}
        """Group -> its offset, with the mark of a delivery."""
        self.on_transaction: Callable[[Transaction], None] = lambda _: None
        """Called with each transaction that was committed."""
        self._logs: defaultdict[tuple[str, int], list[tuple[Transaction, bytes]]] = defaultdict(list)
        self._epochs: defaultdict[str, int] = defaultdict(int)
        """Transactional id -> the number of producers that were made with it."""
        self._open: dict[str, Transaction] = {}
        """Transactional id -> its open transaction."""
        self.under_way: dict[str, Transaction] = {}
        """Transactional id -> a transaction whose end its producer has asked for, and which has not arrived."""
        _BROKERS[place] = self

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let the clients of all processes within a block be those of this cluster."""
        with (
            patch.object(confluent_kafka, "Producer", lambda settings: Producer(self, settings)),
            patch.object(confluent_kafka, "Consumer", lambda settings: Consumer(self, settings)),
            patch.object(admin, "AdminClient", lambda _settings: Admin(self)),
        ):
            yield

    def visible(self, topic: str) -> Tuples:
        """Return the tuples that readers of committed messages see, one partition after the other."""
        tuples: Tuples = []
        for (name, _), log in sorted(self._logs.items()):
            stable = takewhile(lambda entry: entry[0].state != "open", log) if name == topic else ()
            tuples += [tuple(json.loads(value).values()) for sent, value in stable if sent.state == "committed"]
        return tuples

    def request(self, step: str, timeout: float) -> None:
        """Step, and wait until the cluster is reached; raise KafkaException when the client gives that up."""
        self.scheduler.step(step)
        until = self.scheduler.now + timeout
        while not self.is_reached():
            if self.scheduler.now >= until:
                raise _failure(KafkaError._TIMED_OUT, "Local: Timed out")
            self.scheduler.sleep(min(WAIT_SECONDS, until - self.scheduler.now))
        for transaction in tuple(self._open.values()):
            if self.scheduler.now > transaction.began + OPEN_SECONDS:
                self._epochs[transaction.producer] += 1
                self._end(transaction, "aborted")

    def fence(self, name: str) -> int:
        """Abort what an earlier producer of a name has left open, and return the epoch of the next one.

        The end of a transaction that was under way may arrive before that.
        """
        late = self.under_way.pop(name, None)
        if late is not None and late.state == "open" and self.scheduler.choices.pick("arrives", (1, 1)):
            self.commit(late)
        if (left := self._open.get(name)) is not None:
            self._end(left, "aborted")
        self._epochs[name] += 1
        return self._epochs[name]

    def write(self, transaction: Transaction, messages: Sequence[Message]) -> None:
        """Append messages to their partitions; raise KafkaException if their producer is fenced."""
        self._begin(transaction)
        transaction.messages += len(messages)
        for each in messages:
            self._logs[each.topic, each.partition].append((transaction, each.value))

    def mark(self, transaction: Transaction, group: str, offset: TopicPartition) -> None:
        """Add the offset of a group to a transaction; raise KafkaException if its producer is fenced."""
        self._begin(transaction)
        transaction.offsets[group] = offset

    def _begin(self, transaction: Transaction) -> None:
        if transaction.epoch != self._epochs[transaction.producer]:
            raise _failure(KafkaError._FENCED, "Local: Producer fenced by a newer instance", fatal=True)
        self._open.setdefault(transaction.producer, transaction)

    def commit(self, transaction: Transaction) -> None:
        """Commit a transaction; raise KafkaException if its producer is fenced."""
        self._begin(transaction)
        self._end(transaction, "committed")

    def _end(self, transaction: Transaction, state: str) -> None:
        del self._open[transaction.producer]
        transaction.state = state
        self.offsets |= transaction.offsets if state == "committed" else {}
        if state == "committed":
            self.commits += 1
            self.on_transaction(transaction)
        self.on_commit()


class Producer:
    """Stands for the library's transactional producer."""

    def __init__(self, broker: Broker, settings: dict[str, Any]) -> None:
        self._broker, self._name, self._epoch = broker, str(settings["transactional.id"]), -1
        self._queue: list[Message] = []
        self._failed: KafkaException | None = None
        self._transaction: Transaction | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def init_transactions(self, timeout: float) -> None:
        """Fence earlier producers of the name."""
        self._broker.request("target fence", timeout)
        self._epoch = self._broker.fence(self._name)

    def begin_transaction(self) -> None:
        """Begin a transaction, of which the cluster learns with its first message."""
        if self._failed is not None:
            raise self._failed
        self._broker.scheduler.step("target begin")
        self._transaction = Transaction(self._name, self._epoch, self._broker.scheduler.now)

    def produce(self, topic: str, value: bytes, key: bytes | None = None, **given: Any) -> None:
        """Queue a message."""
        partition = zlib.crc32(key) % PARTITIONS if key is not None else 0
        now = self._broker.scheduler.now
        self._queue.append(Message(topic, partition, value, given["on_delivery"], now))

    def poll(self, timeout: float) -> int:
        """Send what is queued, or a part; report what was refused, or could not be sent."""
        broker, now = self._broker, self._broker.scheduler.now
        if not self._queue or self._transaction is None:
            return 0
        broker.scheduler.step("target statement")
        if not broker.is_reached():
            if timeout:
                broker.scheduler.sleep(WAIT_SECONDS)
            late = [each for each in self._queue if now > each.since + MESSAGE_SECONDS]
            self._report(late, _failure(KafkaError._MSG_TIMED_OUT, "Local: Message timed out"))
            return len(late)
        count = len(self._queue) // (1 + broker.scheduler.choices.pick("sent", (3, 1))) or 1
        sent = self._queue[:count]
        try:
            broker.write(self._transaction, sent)
        except KafkaException as error:
            self._report(self._queue, error)
        else:
            del self._queue[:count]
        return count

    def _report(self, messages: Sequence[Message], failure: KafkaException) -> None:
        if messages:
            self._failed = failure
        for each in tuple(messages):
            self._queue.remove(each)
            each.reported(failure.args[0], None)

    def send_offsets_to_transaction(self, offsets: Sequence[TopicPartition], group: str, timeout: float) -> None:
        """Add the offset of a group to the transaction."""
        assert self._transaction is not None
        self._broker.request("target statement", timeout)
        self._broker.mark(self._transaction, group, offsets[0])

    def commit_transaction(self, timeout: float) -> None:
        """Commit the transaction; its request or the answer may be lost, and an answer may never come."""
        broker, transaction = self._broker, self._transaction
        assert transaction is not None
        broker.request("target commit", timeout)
        lost, broker.lose_next = broker.lose_next, None
        if lost == "before":
            broker.under_way[self._name] = transaction
        else:
            broker.commit(transaction)
            broker.scheduler.step("target committed")
        if lost is not None:
            if broker.scheduler.choices.pick("answer", (3, 1)):
                broker.scheduler.wait(Signal())
            raise _failure(KafkaError._TIMED_OUT, "Local: Timed out")

    def purge(self) -> None:
        """Forget what is queued."""
        self._queue.clear()

    def flush(self, _timeout: float) -> int:
        """Return the number of messages that are queued."""
        return len(self._queue)


class Consumer:
    """Stands for the library's consumer, of which the product uses the offset of its group only."""

    def __init__(self, broker: Broker, settings: dict[str, Any]) -> None:
        self._broker, self._group = broker, str(settings["group.id"])

    def list_topics(self, topic: str, timeout: float) -> Any:
        """Return the topic, which there is."""
        self._broker.request("target connect", timeout)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None)})

    def committed(self, wanted: Sequence[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Return the offset of the group."""
        self._broker.request("target connect", timeout)
        (at,) = wanted
        return [self._broker.offsets.get(self._group, TopicPartition(at.topic, at.partition, -1001))]

    def commit(self, offsets: Sequence[TopicPartition], **_: Any) -> None:
        """Write the offset of the group without a transaction."""
        (self._broker.offsets[self._group],) = offsets

    def consumer_group_metadata(self) -> str:
        """Return the name of the group."""
        return self._group

    def poll(self, _timeout: float) -> None:
        """Return no message."""

    def close(self) -> None:
        """Do nothing."""


class Admin:
    """Stands for the library's client for administration."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        """Return the topic's id, which stays."""
        described: Future[Any] = Future()
        try:
            self._broker.request("target connect", request_timeout)
            described.set_result(SimpleNamespace(topic_id="1"))
        except KafkaException as error:
            described.set_exception(error)
        return dict.fromkeys(topics.topic_names, described)
