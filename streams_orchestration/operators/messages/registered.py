"""Messages whose schemas are in a registry: decoding to tuples, and encoding from tuples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages import avro, avro_derived, protobuf, protobuf_schema
from streams_orchestration.operators.messages.decoders import Bad, Decoded, MessageFormat, check_decodable
from streams_orchestration.operators.messages.framing import frame, unframed
from streams_orchestration.operators.messages.registry import (
    RegisteredSchema,
    Registry,
    RegistryParameters,
    SchemaKind,
    UnknownSchemaError,
)
from streams_orchestration.operators.tuples.arrow_types import (
    batch_without_unsigned,
    schema_without_unsigned,
    type_name,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

TopicFormat = Literal[MessageFormat, SchemaKind]
"""The formats of Kafka messages, with and without a registry."""


class _Reader(Protocol):
    def read(self, payload: bytes) -> dict[str, Any]: ...


def is_registered(format: TopicFormat) -> TypeIs[SchemaKind]:
    """Return True if the format takes its schemas from a registry."""
    return format in get_args(SchemaKind)


def check_readable(schema: pa.Schema, format: TopicFormat) -> None:
    """Raise ValueError if a format without a registry cannot represent these attributes; other formats pass."""
    if not is_registered(format):
        check_decodable(schema, format)


def check_registry(format: TopicFormat, registry: RegistryParameters | None) -> None:
    """Raise ValueError if the format needs a registry that is missing, or has one that it cannot use."""
    if is_registered(format) != (registry is not None):
        message = (
            f"format {format} needs a registry of schemas: {{url: http://host:port}}"
            if registry is None
            else "registry is for format avro and protobuf only"
        )
        raise ValueError(message)


def require_format(format: TopicFormat, operator: str) -> None:
    """Raise ValueError if a library of the format is not installed. The message names the extra to install."""
    if is_registered(format):
        require_package(f"{operator} with format {format}", "fastavro" if format == "avro" else "grpc_tools", format)
        require_package(f"{operator} with format {format}", "requests", format)


def derived(schema: pa.Schema, format: SchemaKind, name: str, before: RegisteredSchema | None = None) -> str:
    """Return the text of a schema for these attributes.

    Args:
        schema: the schema of the attributes.
        format: the format of the schema.
        name: the name of the record or message type; invalid characters become `_`, and `M` is put before a name that
            does not begin with a letter.
        before: the schema that this one replaces, if any.

    Raises:
        ValueError: the format cannot represent an attribute, or `before` is not a valid schema of the format.
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    plain = plain if plain[:1].isalpha() else f"M{plain}"
    return (avro_derived if format == "avro" else protobuf_schema).derived(schema, plain, before)


class RegisteredDecoder:
    """Decodes messages that name their schema by number. Each schema is requested once and cached."""

    def __init__(self, registry: Registry, format: SchemaKind, schema: pa.Schema) -> None:
        self._registry = registry
        self._format = format
        self._schema = schema
        self._readers: dict[int, _Reader | str] = {}
        """Maps each schema number to its reader, or to the reason why the schema cannot be used."""

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        """Decode messages to tuples, in order, and return those that cannot be decoded with the reason.

        Raises:
            RegistryAwayError: the registry cannot be reached for a schema. Nothing was decoded.
            RefusedError: the registry refuses permanently.
        """
        rows: list[dict[str, Any]] = []
        positions: list[int] = []
        bad: list[Bad] = []
        for number, value in enumerate(values):
            try:
                rows.append(self._row(value))
                positions.append(number)
            except RefusedError:
                raise
            except ValueError as error:
                bad.append(Bad(number, str(error)))
        good = self._batch(rows)
        if good is None:
            good, out_of_range = self._one_by_one(rows, positions)
            bad = sorted((*bad, *out_of_range))
        return Decoded(good, tuple(bad))

    def _row(self, value: bytes | None) -> dict[str, Any]:
        if not value:
            message = "the message has no value"
            raise ValueError(message)
        number, payload = unframed(value)
        if number not in self._readers:
            self._readers[number] = self._reader(number)
        reader = self._readers[number]
        if isinstance(reader, str):
            raise ValueError(reader)
        return reader.read(payload)

    def _reader(self, number: int) -> _Reader | str:
        try:
            registered = self._registry.schema(number)
            if registered.kind != self._format:
                return f"schema {number} is of the kind {registered.kind}, but the format is {self._format}"
            kind = avro.AvroReader if self._format == "avro" else protobuf.ProtobufReader
            return kind(registered, self._schema)
        except RefusedError:
            raise
        except (UnknownSchemaError, ValueError) as error:
            return str(error)

    def _batch(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch | None:
        """Return the messages as a batch, or None if a value is out of its attribute's range."""
        try:
            columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in self._schema]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
            return None
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _one_by_one(self, rows: Sequence[dict[str, Any]], positions: Sequence[int]) -> tuple[pa.RecordBatch, list[Bad]]:
        good: list[dict[str, Any]] = []
        bad: list[Bad] = []
        for row, position in zip(rows, positions, strict=True):
            if self._batch([row]) is None:
                wrong = next(field for field in self._schema if not _holds(field.type, row.get(field.name)))
                bad.append(Bad(position, f"{wrong.name}: the value is out of the range of {type_name(wrong.type)}"))
            else:
                good.append(row)
        batch = self._batch(good)
        assert batch is not None
        return batch, bad


def _holds(kind: pa.DataType, value: Any) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
        return False
    return True


class RegisteredEncoder:
    """Encodes tuples with the schema of one subject.

    Args:
        registry: the schema registry.
        format: the format of the messages.
        schema: the schema of the attributes.
        subject: the subject of the registry whose schema is used.
        name: the name of the record or message type in a schema that is registered.
        register: register a schema derived from the attributes; otherwise use the subject's latest schema.

    Raises:
        RegistryAwayError: the registry cannot be reached.
        RefusedError: there is no schema, it is of another format or does not fit the attributes, or the registry
            refuses a new one.
    """

    def __init__(
        self, registry: Registry, format: SchemaKind, schema: pa.Schema, subject: str, name: str, *, register: bool
    ) -> None:
        registered = _latest(registry, subject)
        if register:
            registered = _registered(registry, format, schema, subject, name, registered)
        elif registered is None:
            message = (
                f"subject {subject}: the registry at {registry.place} does not have it; register a schema there, or "
                "have it registered with registerSchema: true"
            )
            raise RefusedError(message)
        if registered.kind != format:
            message = f"subject {subject}: its schema is of the kind {registered.kind}, but the format is {format}"
            raise RefusedError(message)
        self._subject = subject
        try:
            self._narrows = format == "avro"  # Avro has no unsigned types
            kind = avro.AvroWriter if format == "avro" else protobuf.ProtobufWriter
            self._writer = kind(registered, schema_without_unsigned(schema) if self._narrows else schema)
        except ValueError as error:
            message = f"subject {subject}: {error}"
            raise RefusedError(message) from None
        self._frame = frame(registered.number, self._writer.path)

    def encode(self, batch: pa.RecordBatch) -> list[bytes | RefusedError]:
        """Return one message value for each tuple, or the error of a tuple that the schema cannot represent."""
        batch = batch_without_unsigned(batch) if self._narrows else batch
        return [self._encoded(row) for row in batch.to_pylist()]

    def _encoded(self, row: dict[str, Any]) -> bytes | RefusedError:
        try:
            return self._frame + self._writer.write(row)
        except ValueError as error:
            return RefusedError(f"subject {self._subject}: {error}")


def _latest(registry: Registry, subject: str) -> RegisteredSchema | None:
    try:
        return registry.latest(subject)
    except UnknownSchemaError:
        return None


def _registered(
    registry: Registry,
    format: SchemaKind,
    schema: pa.Schema,
    subject: str,
    name: str,
    before: RegisteredSchema | None,
) -> RegisteredSchema:
    """Register a schema derived from the attributes and return it. A fitting Protobuf schema is kept."""
    before = before if before is not None and before.kind == format else None
    try:
        if before is not None and format == "protobuf" and protobuf.takes(before, schema):
            return before
        text = derived(schema, format, name, before)
    except ValueError as error:
        message = f"subject {subject}: {error}"
        raise RefusedError(message) from None
    return RegisteredSchema(registry.register(subject, format, text), format, text, {})
