"""Reads Kafka partitions from given offsets on."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any

from streams_orchestration import world
from streams_orchestration.model.collector import uncollected
from streams_orchestration.operators.kafka.client import (
    CONNECT_SECONDS,
    Cluster,
    KafkaAwayError,
    KafkaParameters,
    KafkaRefusedError,
)
from streams_orchestration.operators.kafka.offsets import Partition, Positions

MOST_AT_ONCE = 5_000
"""The largest number of messages per library call, so that messages are decoded while in the processor's caches."""
POLL_TIMEOUT_SECONDS = 0.05
"""Seconds to wait for messages when there are none."""
FIRST_SECONDS = 2.0
"""Seconds to wait for messages after reading has begun at another position."""
IDENTITY_SECONDS = 5.0
"""Timeout in seconds for topic ids from the cluster."""
AHEAD_KIB = 64 << 10
"""KiB that the library reads ahead at most, over all partitions."""
AHEAD_MESSAGES = 1_000_000
"""Messages that the library reads ahead at most in each partition, so that small messages fill a batch, too."""
REFILL_MILLISECONDS = 10
"""Milliseconds after which the library checks whether it can read ahead again, instead of its default of a second."""


class OutOfRangeError(Exception):
    """The next offset to read was deleted or does not exist yet."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.partition = partition


class KafkaReader:
    """A client that reads assigned partitions without a consumer group, so only its owner knows the positions.

    All methods but `close` raise `KafkaAwayError` and `KafkaRefusedError`.
    """

    def __init__(self, parameters: KafkaParameters, *, committed: bool) -> None:
        from confluent_kafka import Consumer, KafkaException

        self._cluster = Cluster(parameters)
        self._at: dict[Partition, int] = {}
        """The offset up to which the library has read each partition."""
        self._others: dict[Partition, int] = {}
        """The positions of partitions that are not read now."""
        self._waits: set[Partition] = set()
        """Partitions that have returned no message since reading began at their current position."""
        self.ended: set[Partition] = set()
        """Partitions that have no further message now."""
        settings = self._cluster.settings(
            **{
                "group.id": "streams-orchestration",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "queued.max.messages.kbytes": AHEAD_KIB,
                "queued.min.messages": AHEAD_MESSAGES,
                "fetch.queue.backoff.ms": REFILL_MILLISECONDS,
                "allow.auto.create.topics": False,
            }
        )
        try:
            self.client: Any = Consumer(settings)
        except KafkaException as error:
            raise KafkaRefusedError(str(self._cluster.translated(error, "client"))) from None

    def close(self) -> None:
        """Disconnect."""
        self.client.close()

    def partitions(self, topics: Sequence[str], pattern: str | None) -> list[Partition]:
        """Return all partitions of the topics, or of all topics whose whole names match the pattern.

        Raises:
            KafkaAwayError, KafkaRefusedError: the cluster cannot be asked, a topic does not exist or may not be seen,
                or no topic matches the pattern.
        """
        from confluent_kafka import KafkaException

        try:
            known = self.client.list_topics(timeout=CONNECT_SECONDS).topics
        except KafkaException as error:
            with contextlib.suppress(KafkaException):
                self.client.poll(0)  # lets the client tell why
            raise self._cluster.translated(error) from None
        self._cluster.reached()
        names = list(topics) if pattern is None else sorted(name for name in known if re.fullmatch(pattern, name))
        if pattern is not None and not names:
            message = f"no topic at {self._cluster.brokers} matches {pattern}; create one, or correct the pattern"
            raise KafkaRefusedError(message)
        for name in names:
            if name not in known:
                raise self._missing(name)
            if known[name].error is not None:
                raise self._cluster.translated(known[name].error, f"topic {name}")
        return [(name, number) for name in names for number in known[name].partitions]

    def _missing(self, topic: str) -> KafkaRefusedError:
        message = f"topic {topic}: this topic does not exist at {self._cluster.brokers}, or no right to see it"
        return KafkaRefusedError(message)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics. A topic that is created again has another id. Topics of old clusters are left out.

        Raises:
            KafkaAwayError, KafkaRefusedError: the cluster does not answer the request, or a topic does not exist.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicCollection
        from confluent_kafka.admin import AdminClient

        ids: dict[str, str] = {}
        try:
            admin: Any = AdminClient(self._cluster.settings())
            answers = admin.describe_topics(TopicCollection(list(topics)), request_timeout=IDENTITY_SECONDS)
        except KafkaException as error:
            raise self._cluster.translated(error, "ids of topics") from None
        for topic, answer in answers.items():
            try:
                id = answer.result().topic_id
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._missing(topic) from None
                raise self._cluster.translated(error, f"topic {topic}") from None
            if id.get_most_significant_bits() or id.get_least_significant_bits():
                ids[topic] = str(id)
        return ids

    def range_of(self, partition: Partition) -> tuple[int, int]:
        """Return the first offset of a partition, and the offset after its last message."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            return self.client.get_watermark_offsets(TopicPartition(*partition), timeout=CONNECT_SECONDS)
        except KafkaException as error:
            raise self._cluster.translated(error, shown(partition)) from None

    def at_time(self, partitions: Iterable[Partition], milliseconds: int) -> dict[Partition, int]:
        """Map partitions to the offset of the first message at or after a time in ms since 1970, or to their end."""
        from confluent_kafka import KafkaException, TopicPartition

        wanted = [TopicPartition(*partition, milliseconds) for partition in partitions]
        try:
            answers = self.client.offsets_for_times(wanted, timeout=CONNECT_SECONDS)
        except KafkaException as error:
            raise self._cluster.translated(error) from None
        there = {(each.topic, each.partition): each.offset for each in answers}
        return {each: offset if offset >= 0 else self.range_of(each)[1] for each, offset in there.items()}

    def lag(self) -> int:
        """Return how many messages of the partitions are unread, as far as the library knows."""
        from confluent_kafka import TopicPartition

        behind = 0
        for partition, following in (*self._at.items(), *self._others.items()):
            _, end = self.client.get_watermark_offsets(TopicPartition(*partition), cached=True)
            behind += max(end - following, 0)
        return behind

    def read(
        self,
        positions: dict[Partition, int],
        limit: int,
        *,
        patient: bool = False,
        waiting: Collection[Partition] = (),
    ) -> Generator[list[Any]]:
        """Yield the next messages in pieces, and advance `positions` past each piece.

        Nothing is yielded without messages. Unless `patient`, they are waited for, at most `FIRST_SECONDS`, only in
        partitions that have returned none since reading began at their current position.

        Args:
            positions: the next offset of each partition; changed in place.
            limit: the largest number of messages.
            patient: wait a little for each further piece, because more is known to exist.
            waiting: partitions that are not read now.

        Raises:
            OutOfRangeError: a position does not exist. Other positions may have advanced.
        """
        if not positions:
            return
        wanted = {each: following for each, following in positions.items() if each not in waiting}
        wait = POLL_TIMEOUT_SECONDS
        if self._at != wanted:
            self._assign(wanted)
            wait = FIRST_SECONDS
        self._others = {each: following for each, following in positions.items() if each in waiting}
        if not wanted:
            return
        count, until = 0, world.monotonic() + wait
        with uncollected():  # a scan of new messages would take longer than making them
            while count < limit:
                messages, is_empty = self._taken(limit - count, patient=patient)
                positions.update(self._at)
                if messages:
                    count += len(messages)
                    yield messages
                if is_empty and (count or not self._waits or world.monotonic() > until):
                    break
        if count:
            self._cluster.reached()
            self._waits.clear()
        else:
            self._cluster.check()

    def _assign(self, positions: dict[Partition, int]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        known = self._at
        goes_on = known.keys() & positions.keys()
        self._at = {}
        try:
            # keep the messages that were read ahead of these positions
            if goes_on and all(known[each] == positions[each] for each in goes_on):
                begun = positions.keys() - goes_on
                if gone := known.keys() - goes_on:
                    self.client.incremental_unassign([TopicPartition(*each) for each in gone])
                if begun:
                    self.client.incremental_assign([TopicPartition(*each, positions[each]) for each in begun])
            else:
                goes_on, begun = frozenset[Partition](), positions.keys()
                self.client.assign([TopicPartition(*each, offset) for each, offset in positions.items()])
        except KafkaException as error:
            raise self._cluster.translated(error) from None
        self._at, self._waits, self.ended = dict(positions), self._waits & goes_on | begun, self.ended & goes_on

    def _taken(self, limit: int, *, patient: bool) -> tuple[list[Any], bool]:
        """Take up to `limit` messages, at most `MOST_AT_ONCE`, from the library; advance past them, and handle events.

        Return the messages, and True if the library had neither messages nor events.
        """
        from confluent_kafka import KafkaException

        left = POLL_TIMEOUT_SECONDS if patient or self._waits else 0.0
        try:
            taken = self.client.consume(min(limit, MOST_AT_ONCE), left)
        except KafkaException as error:
            raise self._cluster.translated(error) from None
        events = [message for message in taken if message.error() is not None]
        messages = [message for message in taken if message.error() is None] if events else taken
        self._advance_past(messages)
        for message in events:
            self._handle_event(message)
        return messages, not taken

    def _advance_past(self, messages: Sequence[Any]) -> None:
        """Advance the positions past the last message of each partition, and remove the partition from `ended`.

        The search goes backwards, since there are many messages.
        """
        seen: set[Partition] = set()
        for message in reversed(messages):
            partition = message.topic(), message.partition()
            if partition not in seen:
                seen.add(partition)
                self._at[partition] = message.offset() + 1
                self.ended.discard(partition)
                if len(seen) == len(self._at):
                    return

    def _handle_event(self, message: Any) -> None:
        """Record the end of a partition, or raise the error, that the library returns instead of a message."""
        from confluent_kafka import KafkaError

        partition = (message.topic(), message.partition())
        match message.error().code():
            case KafkaError._PARTITION_EOF:  # the offset is after marks of transactions, which are not messages
                self._cluster.reached()
                self._waits.discard(partition)
                self.ended.add(partition)
                self._at[partition] = max(self._at.get(partition, 0), message.offset())
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                self._at = {}
                raise OutOfRangeError(partition)
            case _:
                self._at = {}
                raise self._cluster.translated(message.error(), shown(partition))


def shown(partition: Partition) -> str:
    """Return the partition as text for errors."""
    return f"topic {partition[0]}, partition {partition[1]}"


def recreated_topics(reader: KafkaReader, positions: Positions, topics: Iterable[str]) -> Iterator[str]:
    """Yield the topics that were deleted and created again since the positions were taken.

    The ids of all topics are recorded in `positions` as the result is iterated.

    There are none if the cluster gives no ids, and gave none earlier.

    Raises:
        KafkaAwayError, KafkaRefusedError: the cluster does not return ids, though it did earlier.
    """
    names = sorted(topics)
    try:
        ids = reader.topic_ids(names) if names else {}
    except (KafkaAwayError, KafkaRefusedError):
        if positions.topics:
            raise
        return  # the cluster may have no ids
    for topic, id in ids.items():
        known = positions.topics.get(topic, id)
        if known != id:
            yield topic
        positions.topics[topic] = id
