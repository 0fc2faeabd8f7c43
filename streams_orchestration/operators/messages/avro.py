"""Avro: converts messages of any schema to tuples, and tuples to messages."""

from __future__ import annotations

import functools
import io
import json
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.registry import RegisteredSchema
from streams_orchestration.operators.messages.texts import text_fault
from streams_orchestration.operators.messages.values import (
    Convert,
    UnfitError,
    converted,
    of_list,
    of_map,
    of_pairs,
    of_record,
    utf8,
    without_zone,
)
from streams_orchestration.operators.tuples.arrow_types import type_name

Avro = Any
"""A schema, or a part of one, as JSON."""
_BROKEN = (ValueError, EOFError, LookupError, TypeError, ArithmeticError, MemoryError, RecursionError, struct.error)
"""Exceptions that the library raises for bytes that were not written with the schema."""
_ZONED = ("timestamp-millis", "timestamp-micros")
_ZONELESS = ("local-timestamp-millis", "local-timestamp-micros")
_INTEGERS = {"int": 32, "long": 64}
"""Maps integer types to their size in bits."""


class AvroSchema:
    """A parsed schema of a record, with the named types that it uses.

    Raises:
        ValueError: the text is not a schema, or not one of a record.
    """

    def __init__(self, registered: RegisteredSchema) -> None:
        import fastavro
        from fastavro.schema import SchemaParseException

        self.named: dict[str, Avro] = {}
        try:
            for text in registered.references.values():
                fastavro.parse_schema(json.loads(text), named_schemas=self.named)
            self.parsed: Avro = fastavro.parse_schema(json.loads(registered.text), named_schemas=self.named)
        except (*_BROKEN, SchemaParseException) as error:
            message = f"schema {registered.number} is not a schema of Avro: {error!r}"
            raise ValueError(message) from None
        if not isinstance(self.parsed, dict) or self.parsed.get("type") != "record":
            message = f"schema {registered.number} is not a record, whose fields could be the attributes"
            raise ValueError(message)

    def type_of(self, part: Avro) -> tuple[Avro, bool]:
        """Return the type of a part of the schema with names resolved and null removed, and whether it allows null.

        The type is a list for a union of none or several other types.
        """
        nullable = False
        if isinstance(part, list):
            others = [each for each in part if each not in ("null", {"type": "null"})]
            nullable = len(others) < len(part)
            part = others[0] if len(others) == 1 else others
        if isinstance(part, str):
            part = self.named.get(part, {"type": part})
        if isinstance(part, dict) and isinstance(part["type"], dict | list):
            return self.type_of(part["type"])
        return part, nullable


class AvroReader:
    """Reads messages of one schema as attributes.

    A field becomes the attribute of its name. An attribute without a field is null; a field without an attribute is
    ignored. Numbers may widen, texts and bytes convert into each other, and `enum` and `uuid` become texts.

    Raises:
        ValueError: the schema is not of a record, or the types of a field and its attribute are incompatible.
    """

    def __init__(self, registered: RegisteredSchema, schema: pa.Schema) -> None:
        self._schema = AvroSchema(registered)
        fields = {field["name"]: field["type"] for field in self._schema.parsed["fields"]}
        self._converts: dict[str, Convert] = {}
        for field in schema:
            if field.name in fields:
                try:
                    self._converts[field.name] = _reading(fields[field.name], field.type, self._schema)
                except UnfitError as error:
                    message = (
                        f"schema {registered.number}, field {field.name}: {error}, "
                        f"but the attribute is {type_name(field.type)}"
                    )
                    raise ValueError(message) from None

    def read(self, payload: bytes) -> dict[str, Any]:
        """Return the values of a message by attribute.

        Raises:
            ValueError: the message was not written with the schema, or the text of an attribute is not UTF-8.
        """
        file = io.BytesIO(payload)
        try:
            row = self._row(file)
            values = {name: converted(row[name], convert) for name, convert in self._converts.items()}
        except _NotUtf8Error:
            raise
        except _BROKEN as error:
            message = f"it was not written with this schema: {type(error).__name__}: {error}"
            raise ValueError(message) from None
        if file.tell() != len(payload):
            message = f"it was not written with this schema: {len(payload) - file.tell()} bytes are left"
            raise ValueError(message)
        return values

    def _row(self, file: io.BytesIO) -> dict[str, Any]:
        """Return all fields of a message. Texts of fields without an attribute need not be UTF-8."""
        import fastavro

        try:
            row: Any = fastavro.schemaless_reader(file, self._schema.parsed, None)
        except UnicodeDecodeError:
            file.seek(0)
            row = fastavro.schemaless_reader(file, self._schema.parsed, None, handle_unicode_errors="surrogateescape")
            if reason := next(filter(None, (text_fault(row[name], name) for name in self._converts)), ""):
                raise _NotUtf8Error(reason) from None
        return row


class _NotUtf8Error(ValueError):
    """A text is not UTF-8."""


def _reading(part: Avro, kind: pa.DataType, schema: AvroSchema) -> Convert:
    """Return the function that converts values of a part of the schema to the type of an attribute.

    Each type of a union of several types must fit without a conversion.
    """
    part, _ = schema.type_of(part)
    if isinstance(part, list):
        converts = [_reading(each, kind, schema) for each in part]
        if any(convert is not None for convert in converts):
            message = f"it is a union of {', '.join(map(_shown, part))}"
            raise UnfitError(message)
        return None
    types = pa.types
    match part["type"], part.get("logicalType"):
        case "record" | "error", _ if types.is_struct(kind):
            fields = {field["name"]: field["type"] for field in part["fields"]}
            return of_record(
                {
                    kind.field(i).name: _reading(fields[kind.field(i).name], kind.field(i).type, schema)
                    for i in range(kind.num_fields)
                    if kind.field(i).name in fields
                }
            )
        case "array", _ if types.is_list(kind):
            return of_list(_reading(part["items"], kind.value_type, schema))
        case "map", _ if types.is_map(kind) and types.is_string(kind.key_type):
            return of_map(_reading(part["values"], kind.item_type, schema))
        case name, logical:
            return _reading_simple(name, logical, kind, _shown(part))


class _Rule(NamedTuple):
    """A rule for converting a simple Avro type."""

    types: tuple[str, ...]
    logical: tuple[str | None, ...]
    """The accepted logical types; None accepts a value without one, or with one that the library does not decode."""
    check: Callable[[pa.DataType], bool]
    """Returns True for accepted types of the attribute."""
    convert: Convert = None


@functools.cache
def _rules() -> tuple[_Rule, ...]:
    types = pa.types
    whole = ("int", "long")
    real = ("float", "double")
    text = ("string",)
    binary = ("bytes", "fixed")
    return (
        _Rule(whole, _ZONED, _is_zoned),
        _Rule(whole, _ZONED, _is_zoneless, without_zone),
        _Rule(whole, _ZONELESS, _is_zoneless),
        _Rule(whole, ("date",), types.is_date),
        _Rule(binary, ("decimal",), types.is_decimal),
        _Rule(binary, ("decimal",), types.is_floating, float),
        _Rule(whole, (None,), types.is_integer),
        _Rule(whole, (None,), types.is_floating, float),
        _Rule(whole, (None,), types.is_decimal, Decimal),
        _Rule(real, (None,), types.is_floating),
        _Rule(("boolean",), (None,), types.is_boolean),
        _Rule(text, ("uuid",), types.is_string, str),
        _Rule((*text, "enum"), (None,), types.is_string),
        _Rule(text, (None,), types.is_binary, str.encode),
        _Rule(binary, (None,), types.is_binary),
        _Rule(binary, (None,), types.is_string, utf8),
    )


_LOGICAL = frozenset((*_ZONED, *_ZONELESS, "date", "decimal", "uuid", "time-millis", "time-micros"))
"""The logical types that the library decodes to Python values. It ignores all others."""


def _reading_simple(name: str, logical: str | None, kind: pa.DataType, shown: str) -> Convert:
    logical = logical if logical in _LOGICAL else None
    for rule in _rules():
        if name in rule.types and logical in rule.logical and rule.check(kind):
            return rule.convert
    message = f"it is {shown}"
    raise UnfitError(message)


def _is_zoned(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _is_zoneless(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None


class AvroWriter:
    """Writes attributes as messages of one schema.

    Raises:
        ValueError: the schema is not of a record, an attribute has no field or one of another type, or a field has
            neither attribute nor default.
    """

    path = None

    def __init__(self, registered: RegisteredSchema, schema: pa.Schema) -> None:
        self._schema = AvroSchema(registered)
        try:
            self._convert = _writing_record(self._schema.parsed, list(schema), self._schema)
        except UnfitError as error:
            message = f"schema {registered.number}: {error}"
            raise ValueError(message) from None

    def write(self, row: Mapping[str, Any]) -> bytes:
        """Return the payload of a message.

        Raises:
            ValueError: the schema does not allow a value, such as null.
        """
        import fastavro

        file = io.BytesIO()
        try:
            assert self._convert is not None
            fastavro.schemaless_writer(file, self._schema.parsed, self._convert(row), disable_tuple_notation=True)
        except (*_BROKEN, AttributeError) as error:
            message = f"a tuple does not fit into the schema: {error}"
            raise ValueError(message) from None
        return file.getvalue()


def _writing_record(part: Avro, attributes: list[pa.Field], schema: AvroSchema) -> Convert:
    fields = {field["name"]: field for field in part["fields"]}
    converts: dict[str, Convert] = {}
    for attribute in attributes:
        if attribute.name not in fields:
            message = f"it has no field {attribute.name}; suppress the attribute, or have another schema registered"
            raise UnfitError(message)
        try:
            converts[attribute.name] = _writing(fields[attribute.name]["type"], attribute.type, schema)
        except UnfitError as error:
            message = f"field {attribute.name}: {error}"
            raise UnfitError(message) from None
    for name, field in fields.items():
        if name not in converts and "default" not in field:
            message = f"its field {name} has no default, and there is no attribute of its name"
            raise UnfitError(message)
    return of_record(converts)


def _writing(part: Avro, kind: pa.DataType, schema: AvroSchema) -> Convert:
    part, _ = schema.type_of(part)
    types = pa.types
    message = f"it is {_shown(part)}, but the attribute is {type_name(kind)}"
    if isinstance(part, list):
        message = f"it is a union of {', '.join(map(_shown, part))}"
        raise UnfitError(message)
    name, logical = part["type"], part.get("logicalType")
    if name in ("record", "error") and types.is_struct(kind):
        return _writing_record(part, [kind.field(i) for i in range(kind.num_fields)], schema)
    if name == "array" and types.is_list(kind):
        return of_list(_writing(part["items"], kind.value_type, schema))
    if name == "map" and types.is_map(kind) and types.is_string(kind.key_type):
        return of_pairs(_writing(part["values"], kind.item_type, schema))
    if name in _INTEGERS and types.is_integer(kind) and logical is None and _INTEGERS[name] >= kind.bit_width:
        return None
    if name in ("float", "double") and (types.is_floating(kind) or types.is_integer(kind)):
        if types.is_integer(kind) or kind.bit_width <= (64 if name == "double" else 32):
            return float
    elif (
        (name == "boolean" and types.is_boolean(kind))
        or (name in ("string", "enum") and types.is_string(kind))
        or (name in ("bytes", "fixed") and types.is_binary(kind) and logical is None)
        or (logical == "decimal" and types.is_decimal(kind))
        or (logical == "date" and types.is_date(kind))
        or (logical in _ZONED and _is_zoned(kind))
        or (logical in _ZONELESS and _is_zoneless(kind))
    ):
        return None
    raise UnfitError(message)


def _shown(part: Avro) -> str:
    if not isinstance(part, dict):
        return str(part)
    name = part.get("name")
    logical = part.get("logicalType") or part["type"]
    return f"{logical} {name}" if name else str(logical)
