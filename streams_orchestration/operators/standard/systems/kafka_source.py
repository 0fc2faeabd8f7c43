"""KafkaSource: reads the messages of topics as tuples, replayable from an offset of every partition."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.background.read_ahead import ReadAhead
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.offset import offset_without
from streams_orchestration.operators.contract.operator import Offset, OperatorContext, ProducedTo, SourceOperator
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.formats.bad_tuples import BadTuples, check_bad_port
from streams_orchestration.operators.kafka.client import KafkaRefusedError
from streams_orchestration.operators.kafka.metadata import check_metadata, metadata_column, metadata_faults
from streams_orchestration.operators.kafka.offsets import Partition, Positions, divided, mine
from streams_orchestration.operators.kafka.read_result import (
    MessagePiece,
    ReadResult,
    joined,
    partition_name,
    partitions_of_messages,
)
from streams_orchestration.operators.kafka.reader import KafkaReader, OutOfRangeError, recreated_topics, shown
from streams_orchestration.operators.kafka.source_parameters import BAD, KafkaSourceParameters
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages.decoders import Decoded, decode, decoded_schema, without_nulls
from streams_orchestration.operators.messages.registered import (
    RegisteredDecoder,
    check_readable,
    is_registered,
    require_format,
)
from streams_orchestration.operators.messages.registry import Registry
from streams_orchestration.operators.sinks.epoch_sink import waiting_directory
from streams_orchestration.operators.states.rescaling import Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.operators.tuples.batch import TupleBatch

NEVER = float("-inf")


class KafkaSource(SourceOperator):
    """Reads topics. The offset is the next offset of every partition. A channel reads `partition % width`.

    The messages of one partition keep their order; messages of several partitions are read as they arrive. The starting
    offsets, and the end of a finite run, are determined once and stored in the state directory, so a reset to the
    beginning starts there, too. New partitions are read from their first message on. The offset holds the ids of the
    topics, to detect a topic that was deleted and created again.
    """

    Parameters = KafkaSourceParameters
    loaded_modules = ("confluent_kafka", "confluent_kafka.admin")
    naming_parameters = NamingParameters(outputs=("metadata",))
    free_parameters = frozenset(
        (
            *("brokers", "client", "discovery", "format", "isolation", "metadata", "on_bad_tuple", "on_lost_data"),
            *("null_texts", "registry", "separator", "start_at"),
        )
    )

    @classmethod
    def check(cls, context: OperatorContext, parameters: KafkaSourceParameters) -> None:
        """Raise ValueError if attributes, format and ports do not fit, or a package is missing. Connects to nothing."""
        schema = context.output_schema()
        for attribute in parameters.metadata:
            check_attributes("metadata", [attribute], schema.names, "the output stream")
            check_metadata(attribute, schema.field(attribute).type, parameters.metadata[attribute])
        check_readable(decoded_schema(schema, parameters.metadata), parameters.format)
        check_bad_port(context, parameters.on_bad_tuple, BAD, "malformed messages")
        require_package("KafkaSource", "confluent_kafka", "kafka", "confluent-kafka")
        require_format(parameters.format, "KafkaSource")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: KafkaSourceParameters) -> str:
        """Return the topics and cluster."""
        return f"{parameters.pattern or ', '.join(parameters.topics)} at {parameters.brokers}"

    def setup(self) -> None:
        """Prepare. The first call of `produce` connects."""
        self.schema = self.context.output_schema()
        self.decoded = decoded_schema(self.schema, self.parameters.metadata)
        self.backoff = Backoff(self.context)
        self.reader: KafkaReader | None = None
        self.registered: RegisteredDecoder | None = None
        self.checked = NEVER
        """The monotonic time of the last check for new partitions."""
        self.bad_tuples = BadTuples(self, self.parameters.on_bad_tuple, "messages")
        self.ahead: tuple[Offset, ReadAhead[ReadResult]] | None = None
        """The offset at which the background read of the next messages began, and the reader; None without one."""
        self.ended: frozenset[Partition] = frozenset()
        """The partitions that had no further message in the last call."""
        self.read: dict[Partition, tuple[int, int]] = {}
        """For the last call: the first offset that was read of each partition, and the offset after the last one."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next messages, or none while the cluster or the schema registry cannot be reached.

        Raises:
            OSError: the file with the starting positions cannot be read or written.
        """
        taken = self.backoff.reached(lambda: self._taken(offset, limit, self._waiting(offset)))
        if taken is None:
            self._close()
            return ProducedTo(offset, exhausted=False)
        self.read, self.ended = taken.read, taken.ended
        self.assign([partition_name(each) for each in taken.positions.next])
        lag = self._measure(taken.newest)
        if taken.bad:
            self._set_aside(taken.bad)
        if taken.tuples is not None and len(taken.tuples):
            self.submit(taken.tuples, partitions=taken.partitions)
        offset = taken.positions.offset()
        produced = ProducedTo(offset if self.until is None else self.continued(offset), taken.positions.exhausted())
        if lag > limit // 2 and not produced.exhausted:
            self._read_ahead(produced.offset, limit, self._waiting(produced.offset))
        return produced

    def available(self, offset: Offset) -> Offset | None:
        """Return the offset after all messages; None if the cluster is out of reach. Raise DataError if it refuses."""

        def ends() -> Offset:
            reader = self._opened()
            return Positions({}, {each: reader.range_of(each)[1] for each in self._mine(reader)}).offset()

        offset_after = self.backoff.reached(ends)
        if offset_after is None:
            self._close()
        return offset_after

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset without the end of the earlier run."""
        return offset_without(offset, "end")

    def pause(self) -> float | None:
        """Return the seconds until the next attempt if the cluster or the registry cannot be reached, else None."""
        return self.backoff.pause or None

    def at_end(self) -> Collection[str]:
        """Return the partitions that had no further message in the last call."""
        return [partition_name(each) for each in self.ended]

    def place(self) -> str:
        """Return the offsets of the last read, by partition."""
        return "; ".join(
            f"{shown(each)}, offsets {first} to {behind - 1}" for each, (first, behind) in self.read.items()
        )

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the partitions among the new channels. Raises RescaleError if only some channels have begun."""
        return divided([dict(state) for state in states], route.width)

    def _waiting(self, offset: Offset) -> frozenset[Partition]:
        """Return the partitions too far ahead to be read now (EV65), without partitions at the end of a run."""
        if self.context.event_time is None or self.context.event_time.max_drift is None or not offset:
            return frozenset()
        following, end = Positions.of(offset).next, Positions.of(offset if self.until is None else self.until).end
        going_on = [each for each in following if end is None or following[each] < end.get(each, following[each])]
        found = self.context.too_far_ahead([partition_name(each) for each in going_on])
        return frozenset(each for each in going_on if partition_name(each) in found)

    def _taken(self, offset: Offset, limit: int, waiting: frozenset[Partition]) -> ReadResult:
        """Return the next messages, from the background read if it began at this offset, else after its end."""
        if self.ahead is not None:
            (begin, reading), self.ahead = self.ahead, None
            if begin == offset:
                return next(reading)
            with contextlib.suppress(Exception):  # the reader is free only when this reading has ended
                next(reading)
        return self._take(offset, limit, waiting)

    def _read_ahead(self, offset: Offset, limit: int, waiting: frozenset[Partition]) -> None:
        """Start to read the next batch in the background."""
        read = partial(self._take, offset, limit, waiting, patient=True)
        self.ahead = (offset, ReadAhead(self.background, iter([read]), lambda read: read(), ReadResult.nbytes))

    def _take(self, offset: Offset, limit: int, waiting: frozenset[Partition], *, patient: bool = False) -> ReadResult:
        reader = self._opened()
        positions = Positions.of(offset or self._beginning(reader))
        if self.until is not None:
            positions.end_at(Positions.of(self.until).end or {}, lambda each: reader.range_of(each)[0])
        elif self.parameters.until and positions.end is None:
            positions.end = {
                each: max(reader.range_of(each)[1], following) for each, following in positions.next.items()
            }
        if world.monotonic() - self.checked >= self.parameters.discovery:
            self._discover(reader, positions)
        if positions.exhausted():
            return ReadResult(positions, {})
        before = dict(positions.next)
        pieces: list[MessagePiece] = []
        try:
            with contextlib.closing(reader.read(positions.next, limit, patient=patient, waiting=waiting)) as read:
                pieces += (
                    self._piece(messages, positions) for each in read if (messages := positions.before_end(each))
                )
        except OutOfRangeError as error:
            pieces.clear()
            positions.next.update(before)
            self._lost(reader, positions, error.partition)
        positions.stop_at_end()
        behind = positions.next
        places = {each: (first, behind[each]) for each, first in before.items() if first < behind[each]}
        ended = frozenset(reader.ended)
        if not pieces:
            return ReadResult(positions, places, ended=ended)
        tuples = TupleBatch.concat((piece.tuples for piece in pieces), self.schema)
        bad = [each for piece in pieces for each in piece.bad]
        return ReadResult(positions, places, tuples, bad, pieces[-1].newest, ended, joined(pieces))

    def _opened(self) -> KafkaReader:
        if self.reader is None:
            committed = self.parameters.isolation == "read_committed"
            self.reader = KafkaReader(self.parameters, committed=committed)
        return self.reader

    def _piece(self, messages: Sequence[Any], positions: Positions) -> MessagePiece:
        """Decode messages with their metadata, and keep apart the messages that cannot become tuples."""
        required = [name for name in self.context.required_at() if name in self.decoded.names]
        result = without_nulls(self._decode([message.value() for message in messages]), len(messages), required)
        newest = messages[-1].timestamp()[1] / 1000
        refused = {each.position: each.reason for each in result.bad}
        faults = metadata_faults(messages, self.parameters.metadata, self.schema, self.context.required_at())
        batch = result.batch
        if faults:
            batch = batch.filter(pa.array([n not in faults for n in range(len(messages)) if n not in refused]))
            refused = faults | refused
        bad = [(messages[number], reason) for number, reason in sorted(refused.items())]
        if bad:
            messages = [message for number, message in enumerate(messages) if number not in refused]
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for attribute, kind in self.parameters.metadata.items():
            columns[attribute] = metadata_column(messages, kind, self.schema.field(attribute).type)
        timed = self.context.event_time is not None
        partitions = partitions_of_messages(messages, positions.next) if timed else None
        return MessagePiece(TupleBatch.from_columns(columns, self.schema), bad, newest, partitions)

    def _mine(self, reader: KafkaReader) -> list[Partition]:
        every = reader.partitions(self.parameters.topics, self.parameters.pattern)
        return mine(every, self.context.channel, self.context.max_channels)

    def _discover(self, reader: KafkaReader, positions: Positions) -> None:
        """Check that the topics are the ones read before, or handle new ones by `onLostData`; add new partitions.

        A finite run does not read new partitions. Raises KafkaAwayError and KafkaRefusedError; see also `_identify`.
        """
        partitions = self._mine(reader)
        self.checked = world.monotonic()
        self._identify(reader, positions, partitions)
        for partition in partitions:
            if positions.end is None and partition not in positions.next:
                positions.next[partition] = reader.range_of(partition)[0]
                self.context.logger.info("%s is new", shown(partition))

    def _identify(self, reader: KafkaReader, positions: Positions, partitions: Sequence[Partition]) -> None:
        """Handle topics that were created again since the positions were taken: read them from the start, or fail."""
        for topic in recreated_topics(reader, positions, {topic for topic, _ in partitions}):
            text = (
                f"topic {topic} at {self.parameters.brokers} was deleted and created again since it was read up to "
                f"{positions.shown(topic)}"
            )
            if self.parameters.on_lost_data == "fail":
                message = (
                    f"{text}: unread messages of the deleted topic are lost; with onLostData: skip the new one "
                    "is read from its first message on, --fresh starts over"
                )
                raise KafkaRefusedError(message)
            self.context.logger.warning("%s: it is read from its first message on", text)
            about = "topics that were deleted and created again while they were read"
            self.context.metrics.counter("recreated", about).add(1)
            positions.begin(topic, {each: reader.range_of(each) for each in partitions if each[0] == topic})

    def _beginning(self, reader: KafkaReader) -> Offset:
        """Return the starting positions. They are stored in a file, so that every call returns the same."""
        name = f"begin-{self.context.channel}-{self.context.max_channels}.json"
        place = waiting_directory(self.context) / name
        if place.exists():
            return json.loads(place.read_text(encoding="utf-8"))
        partitions, start = self._mine(reader), self.parameters.start_at
        self.checked = world.monotonic()
        ranges = {partition: reader.range_of(partition) for partition in partitions}
        if start in ("earliest", "latest"):
            following = {partition: ends[start == "latest"] for partition, ends in ranges.items()}
        else:
            following = reader.at_time(partitions, self.parameters.start_time())
        end = (
            {each: max(last, following[each]) for each, (_, last) in ranges.items()} if self.parameters.until else None
        )
        positions = Positions(following, end)
        self._identify(reader, positions, partitions)
        offset = positions.offset()
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(offset))
        return offset

    def _lost(self, reader: KafkaReader, positions: Positions, partition: Partition) -> None:
        """Handle deleted messages at the position of a partition by `onLostData`: fail, or count and skip them.

        Nothing more is done if the topic was created again; see `_discover`. With `fail`, raise KafkaRefusedError.
        """
        following = positions.next[partition]
        self._discover(reader, positions)
        if positions.next.get(partition) != following:  # the topic was created again
            return
        first, last = reader.range_of(partition)
        text = f"{shown(partition)}: offset {following} is next, but only the offsets {first} to {last - 1} are left"
        if self.parameters.on_lost_data == "fail":
            message = (
                f"{text}: the messages in between are lost: the topic's retention removed them, or the topic was "
                "created again; with onLostData: skip, reading continues with the existing messages"
            )
            raise KafkaRefusedError(message)
        self.context.logger.warning("%s: skipped", text)
        lost = self.context.metrics.counter("lost", "offsets whose messages were deleted before they were read")
        lost.add(max(first - following, 0))
        positions.next[partition] = first

    def _measure(self, newest: float | None) -> int:
        """Return the number of unread messages, and set the lag gauges."""
        assert self.reader is not None
        lag = self.reader.lag()
        metrics = self.context.metrics
        metrics.gauge("lag", "messages of its partitions that are not read yet").set(lag)
        if newest is not None or not lag:
            behind = world.now() - newest if lag and newest is not None else 0.0
            about = "age of the message that was read last; 0 if all are read"
            metrics.gauge("lag_seconds", about).set(max(behind, 0.0))
        return lag

    def _decode(self, values: Sequence[bytes | None]) -> Decoded:
        parameters = self.parameters
        if not is_registered(parameters.format):
            return decode(values, self.decoded, parameters.format, parameters.dialect())
        if self.registered is None:
            assert parameters.registry is not None
            self.registered = RegisteredDecoder(Registry(parameters.registry), parameters.format, self.decoded)
        return self.registered.decode(values)

    def _set_aside(self, rows: Sequence[tuple[Any, str]]) -> None:
        """Handle bad messages by `onBadTuple`."""
        faults = [
            f"{shown((message.topic(), message.partition()))}, offset {message.offset()}: the message cannot become a "
            f"tuple: {why}"
            for message, why in rows
        ]
        columns = {
            "topic": [message.topic() for message, _ in rows],
            "partition": np.array([message.partition() for message, _ in rows], np.int32),
            "offset": [message.offset() for message, _ in rows],
            "reason": [why for _, why in rows],
            "message": [(message.value() or b"").decode(errors="replace") for message, _ in rows],
        }
        self.bad_tuples.set_aside(faults, columns)

    def _close(self) -> None:
        self.checked = NEVER
        if self.reader is not None:
            self.reader.close()
            self.reader = None
