"""KafkaSink: writes each tuple exactly once as a message of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from pydantic import Field

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import RefusedError, check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.kafka.client import (
    KafkaAwayError,
    KafkaParameters,
    KafkaRefusedError,
    MessagesRefusedError,
)
from streams_orchestration.operators.kafka.producer import KafkaMessage, TransactionalProducer
from streams_orchestration.operators.keys.comparison import normalised
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import import_modules, pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages.encoders import check_encodable, encode, message_texts
from streams_orchestration.operators.messages.registered import (
    RegisteredEncoder,
    TopicFormat,
    check_registry,
    derived,
    is_registered,
    require_format,
)
from streams_orchestration.operators.messages.registry import Registry, RegistryParameters
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.sinks.undeliverable import REMEDY, OnUndeliverable, Undeliverable
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch


class KafkaSinkParameters(KafkaParameters, CsvParameters):
    """The parameters of `KafkaSink`."""

    topic: str = Field(min_length=1, description="Topic that messages are written to.")
    format: TopicFormat = Field(default="json", description="Format of a message.")
    registry: RegistryParameters | None = Field(
        default=None, repr=False, description="Schema registry for avro and protobuf: {url: http://host:port}."
    )
    subject: str | None = Field(
        default=None, min_length=1, description="Subject in the schema registry. Default: the topic followed by -value."
    )
    register_schema: bool = Field(
        default=True,
        alias="registerSchema",
        description="Register the schema. If false, use the latest schema of the subject unchanged.",
    )
    key: str | None = Field(default=None, description="Attribute that holds the message key.")
    partition: str | None = Field(
        default=None, description="Attribute that holds the partition number. Default: the key decides."
    )
    timestamp: str | None = Field(
        default=None, description="Attribute that holds the time of the message. Default: the time of sending."
    )
    headers: dict[str, str] = Field(default_factory=dict, description="Maps a header to an attribute.")
    suppress: list[str] = Field(default_factory=list, description="Attributes that are not in the value.")
    on_undeliverable: OnUndeliverable = "fail"
    visibility: Visibility = Field(
        default="read_committed",
        description="read_uncommitted: send messages with their batch; a reset does not take them back.",
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        check_registry(self.format, self.registry)
        if self.registry is None and (self.subject is not None or not self.register_schema):
            yield "subject and registerSchema need a registry"

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield each parameter with the attribute that it names."""
        for parameter in ("key", "partition", "timestamp"):
            if (attribute := getattr(self, parameter)) is not None:
                yield parameter, attribute
        yield from (("headers", attribute) for attribute in self.headers.values())
        yield from (("suppress", attribute) for attribute in self.suppress)


@dataclass(frozen=True)
class Refused:
    """The messages of a delivery that are known to be refused for their content."""

    key: str = ""
    """The key of the delivery."""
    rows: dict[int, Any] = field(default_factory=dict)
    """Maps each row to the error of the client library."""
    alone: bool = False
    """True if each message is sent in a batch of its own, so that no other one is refused with it."""


class KafkaSink(EpochSink):
    """Writes every epoch in one transaction, together with a mark.

    A retry after a crash finds the mark and sends nothing. A process that resumes late is fenced. Readers with
    `read_committed` see an epoch whole or not at all. With `visibility: read_uncommitted` the waiting batches form one
    transaction. A reset cannot take messages back, so its replay sends them again.
    """

    Parameters = KafkaSinkParameters
    joins_batches = True
    producer: TransactionalProducer | None = None
    """The producer, named by the key of the first delivery; None before that."""
    encoder: RegisteredEncoder | None = None
    """The encoder, created for the first delivery and then kept; None before, and without a registry."""
    refused = Refused()

    @classmethod
    def mentions(cls, parameters: KafkaSinkParameters) -> Mentions:
        """Return the attributes that any parameter names."""
        return Mentions(inputs=[attribute for _, attribute in parameters.named()])

    @classmethod
    def check(cls, context: OperatorContext, parameters: KafkaSinkParameters) -> None:
        """Raise ValueError if attributes, parameters and format do not fit, or a package is missing. Do not connect."""
        schema = context.inputs[0]
        for parameter, name in parameters.named():
            check_attributes(parameter, [name], schema.names)
        types = pa.types
        partition, timestamp = parameters.partition, parameters.timestamp
        if partition is not None and not types.is_integer(schema.field(partition).type):
            message = (
                f"partition: {partition} is {type_name(schema.field(partition).type)}, but an int or bigint is expected"
            )
            raise ValueError(message)
        if timestamp is not None and not types.is_timestamp(schema.field(timestamp).type):
            message = (
                f"timestamp: {timestamp} is {type_name(schema.field(timestamp).type)}, but a timestamp is expected"
            )
            raise ValueError(message)
        written = _written(schema, parameters)
        if not is_registered(parameters.format):
            check_encodable(written, parameters.format)
        elif parameters.register_schema:
            derived(written, parameters.format, parameters.topic)
        require_package("KafkaSink", "confluent_kafka", "kafka", "confluent-kafka")
        require_format(parameters.format, "KafkaSink")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: KafkaSinkParameters) -> str:
        """Return the topic and cluster."""
        return f"{parameters.topic} at {parameters.brokers}"

    def load(self) -> None:
        """Import the client and the encoders."""
        import_modules("confluent_kafka", "confluent_kafka.admin")
        if is_registered(self.parameters.format):
            import_modules("requests", "fastavro", "google.protobuf.message_factory")
        if not is_registered(self.parameters.format):
            written = _written(self.context.inputs[0], self.parameters)
            encode(pa.RecordBatch.from_pylist([], schema=written), self.parameters.format, self.parameters.dialect())

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Send the tuples of an epoch, unless that was done before; set refused tuples aside if that is allowed."""
        if self.refused.key != str(key):
            self.refused = Refused(str(key))
        producer = self._producer(key)
        if producer.is_made(key):
            return
        self._connect_registry()
        left: list[Undeliverable] = []
        self.unencodable: dict[int, RefusedError] = {}
        settle = partial(self.set_aside, key, left) if self.sets_aside else lambda: None
        try:
            producer.write(key, self._parts(batches, producer, left, key.epoch), settle)
        except (KafkaAwayError, KafkaRefusedError) as error:
            raise self._explained(error, key, producer.refused) from None

    def deliver_files(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Send the tuples of an epoch. Repeat without refused messages until no more are found.

        Raises:
            KafkaAwayError, RegistryAwayError: the cluster, or the registry of schemas, cannot be reached.
            RefusedError: the cluster or the registry refuses permanently.
            DataError: the format, or the text of a key or header, cannot represent a value.
        """
        while True:
            try:
                return super().deliver_files(key, files)
            except MessagesRefusedError:
                self.close()

    def _parts(
        self, batches: Iterator[TupleBatch], producer: TransactionalProducer, left: list[Undeliverable], epoch: int
    ) -> Iterator[Iterator[KafkaMessage]]:
        """Yield the messages of each batch except refused ones; add their tuples to `left` if they are set aside."""
        begin = 1
        for batch in batches:
            known = self.refused.rows
            messages = self._messages(batch.arrow, begin)
            if self.unencodable and not self.sets_aside:
                row, error = min(self.unencodable.items())
                message = f"{error}; it is row {row} of epoch {epoch}; {REMEDY}"
                raise KafkaRefusedError(message)
            out = known.keys() | self.unencodable.keys()
            yield (message for message in messages if message.row not in out) if out else messages
            errors = {row: error for row, error in (known | producer.refused).items() if self.sets_aside}
            reasons = {row: (self._attribute(error), str(error.str())) for row, error in errors.items()}
            reasons |= {row: ("", str(error)) for row, error in self.unencodable.items()}
            end = begin + batch.arrow.num_rows
            for row in sorted(row for row in reasons if begin <= row < end):
                values = batch.arrow.slice(row - begin, 1).to_pylist()[0]
                left.append(Undeliverable(row, *reasons[row], values))
            begin = end

    def _explained(self, error: Exception, key: DeliveryKey, refused: Mapping[int, Any]) -> Exception:
        """Note refused rows; return the error with the row at fault, or MessagesRefusedError if a retry can succeed."""
        if not refused:
            return error
        if not self.sets_aside:
            rows = f"row {min(refused)}" if len(refused) == 1 else f"one of the rows {min(refused)} to {max(refused)}"
            column = self._attribute(next(iter(refused.values())))
            place = f"{rows} of epoch {key.epoch}" + (f", attribute {column}" if column else "")
            return KafkaRefusedError(f"{error}; it is {place}; {REMEDY}")
        new = {row: each for row, each in refused.items() if row not in self.refused.rows}
        if self.refused.alone and not new:
            return error
        # the broker reports all messages of a batch, so each is sent alone to identify the one at fault
        self.refused = Refused(str(key), self.refused.rows | (new if self.refused.alone else {}), alone=True)
        return MessagesRefusedError(str(error))

    def _attribute(self, error: Any) -> str:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._UNKNOWN_PARTITION:
            return self.parameters.partition or ""
        return (self.parameters.timestamp or "") if error.code() == KafkaError.INVALID_TIMESTAMP else ""

    def is_made(self, key: DeliveryKey) -> bool:
        """Return True if the mark shows that the delivery was made.

        If another process delivers at the same time, it fences this process, whose next transaction then fails.

        Raises:
            KafkaAwayError, KafkaRefusedError: the cluster cannot be reached, or refuses.
        """
        return self._producer(key).is_made(key)

    def _producer(self, key: DeliveryKey) -> TransactionalProducer:
        """Return the producer. The first call connects, with a name from the delivery's key."""
        if self.producer is None:
            self.producer = TransactionalProducer(
                self.parameters, self.parameters.topic, key, alone=self.refused.alone, routes=self.sets_aside
            )
        return self.producer

    def close(self) -> None:
        """Disconnect."""
        producer, self.producer, self.encoder = self.producer, None, None
        if producer is not None:
            producer.close()

    def _messages(self, batch: pa.RecordBatch, begin: int) -> Iterator[KafkaMessage]:
        """Return a message for each tuple. `begin` is the number of the first one in the delivery.

        Tuples that a registered schema cannot encode are added to `unencodable`, and have messages without a value.
        """
        settings, count = self.parameters, batch.num_rows
        rows = range(begin, begin + count)
        names = _written(batch.schema, settings).names
        values = self._values(batch.select(names), begin)
        keys = [None] * count if settings.key is None else message_texts(normalised(batch.column(settings.key)))
        partitions = [-1] * count if settings.partition is None else _partitions(batch.column(settings.partition))
        times = [0] * count if settings.timestamp is None else _times(batch.column(settings.timestamp))
        if not settings.headers:
            return map(KafkaMessage, values, keys, partitions, times, repeat(None), rows)
        columns = [message_texts(batch.column(attribute)) for attribute in settings.headers.values()]
        headers = [list(zip(settings.headers, row, strict=True)) for row in zip(*columns, strict=True)]
        return map(KafkaMessage, values, keys, partitions, times, headers, rows)

    def _values(self, batch: pa.RecordBatch, begin: int) -> Sequence[bytes | None]:
        settings = self.parameters
        if not is_registered(settings.format):
            return encode(batch, settings.format, settings.dialect())
        assert self.encoder is not None
        values = self.encoder.encode(batch)
        self.unencodable |= {row: each for row, each in enumerate(values, begin) if isinstance(each, RefusedError)}
        return [None if isinstance(each, RefusedError) else each for each in values]

    def _connect_registry(self) -> None:
        """Create the encoder before a transaction begins, with the schema that the registry has or registers now.

        Do nothing if the encoder exists, or if the format has no registry.
        """
        settings = self.parameters
        if not is_registered(settings.format) or self.encoder is not None:
            return
        assert settings.registry is not None
        with closing(Registry(settings.registry)) as registry:
            self.encoder = RegisteredEncoder(
                registry,
                settings.format,
                _written(self.context.inputs[0], settings),
                settings.subject or f"{settings.topic}-value",
                settings.topic,
                register=settings.register_schema,
            )


def _written(schema: pa.Schema, parameters: KafkaSinkParameters) -> pa.Schema:
    """Return the schema of the message values. With format raw it is only the attribute that no parameter names."""
    left_out = set(parameters.suppress)
    if parameters.format == "raw":
        left_out |= {attribute for _, attribute in parameters.named()}
    return pa.schema([each for each in schema if each.name not in left_out])


def _partitions(column: pa.Array) -> Sequence[int]:
    return pc.fill_null(pc.cast(column, pa.int64()), -1).to_pylist()


def _times(column: pa.Array) -> Sequence[int]:
    milliseconds = pc.cast(pc.cast(column, pa.timestamp("ms"), safe=False), pa.int64())
    return pc.fill_null(milliseconds, 0).to_pylist()
