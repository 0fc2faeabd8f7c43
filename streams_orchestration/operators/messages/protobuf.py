"""Protobuf: converts messages of registered schemas to tuples, and tuples to messages."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.framing import taken_path
from streams_orchestration.operators.messages.protobuf_schema import message_types
from streams_orchestration.operators.messages.registry import RegisteredSchema
from streams_orchestration.operators.messages.texts import protobuf_text_fault
from streams_orchestration.operators.messages.values import Convert, UnfitError, converted, of_list, utf8
from streams_orchestration.operators.tuples.arrow_types import type_name

TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Wrapper messages with a single field `value`, which make a scalar nullable."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_NULL_INSIDE = "a list, or a map, has a null, which Protobuf cannot hold"


class ProtobufReader:
    """Reads messages of one schema as attributes.

    A field becomes the attribute of its name. An attribute is null if there is no such field, or if the message leaves
    out an optional field. A field without an attribute is ignored. Numbers may widen; an enum becomes its name or its
    number.

    Raises:
        ValueError: the schema is invalid, or the types of a field and its attribute are incompatible.
    """

    def __init__(self, registered: RegisteredSchema, schema: pa.Schema) -> None:
        self._registered = registered
        self._schema = schema
        self._types = message_types(registered)
        self._readers: dict[tuple[int, ...], tuple[Any, Convert]] = {}
        self._reader((0,))

    def _reader(self, path: tuple[int, ...]) -> tuple[Any, Convert]:
        """Return the class of a message type, and the function that converts messages of this class."""
        if path not in self._readers:
            if path not in self._types:
                message = f"schema {self._registered.number} has no message type {list(path)}"
                raise ValueError(message)
            kind = self._types[path]
            try:
                self._readers[path] = kind, _reading_fields(kind.DESCRIPTOR, list(self._schema))
            except UnfitError as error:
                message = f"schema {self._registered.number}, {error}"
                raise ValueError(message) from None
        return self._readers[path]

    def read(self, payload: bytes) -> dict[str, Any]:
        """Return the values of a message by attribute.

        Raises:
            ValueError: the message was not written with the schema, or its type has a field that does not fit.
        """
        from google.protobuf.message import DecodeError

        path, content = taken_path(payload)
        kind, convert = self._reader(path)
        read = kind()
        try:
            read.ParseFromString(content)
            return converted(read, convert)
        except (DecodeError, ValueError, OverflowError) as error:
            if reason := protobuf_text_fault(kind.DESCRIPTOR, content):
                raise ValueError(reason) from None
            message = f"it was not written with this schema: {error}"
            raise ValueError(message) from None


def _reading_fields(descriptor: Any, attributes: Sequence[pa.Field]) -> Convert:
    """Return the function that converts a message to a dictionary of attributes."""
    fields = descriptor.fields_by_name
    converts: list[tuple[str, bool, Convert]] = []
    for attribute in attributes:
        if (field := fields.get(attribute.name)) is not None:
            try:
                converts.append((field.name, field.has_presence, _reading(field, attribute.type)))
            except UnfitError as error:
                message = f"field {field.name}: {error}, but the attribute is {type_name(attribute.type)}"
                raise UnfitError(message) from None

    def read(message: Any) -> dict[str, Any]:
        return {
            name: None if may_lack and not message.HasField(name) else converted(getattr(message, name), convert)
            for name, may_lack, convert in converts
        }

    return read


def _reading(field: Any, kind: pa.DataType) -> Convert:
    entry = field.message_type
    if _is_map(field):
        if not pa.types.is_map(kind):
            message = "it is a map"
            raise UnfitError(message)
        keys, values = entry.fields_by_name["key"], entry.fields_by_name["value"]
        key = _reading_one(keys, kind.key_type)
        value = _reading_one(values, kind.item_type)
        return lambda pairs: [(converted(each, key), converted(pairs[each], value)) for each in pairs]
    if field.is_repeated:
        if not pa.types.is_list(kind):
            message = "it is repeated"
            raise UnfitError(message)
        return of_list(_reading_one(field, kind.value_type)) or list
    return _reading_one(field, kind)


def _reading_one(field: Any, kind: pa.DataType) -> Convert:
    types = pa.types
    message = f"it is {shown(field)}"
    if field.message_type is not None:
        return _reading_message(field.message_type, kind, message)
    if field.enum_type is not None and (types.is_string(kind) or types.is_integer(kind)):
        names = field.enum_type.values_by_number
        return (
            (lambda number: names[number].name if number in names else str(number)) if types.is_string(kind) else None
        )
    match field.cpp_type:
        case field.CPPTYPE_INT32 | field.CPPTYPE_INT64 | field.CPPTYPE_UINT32 | field.CPPTYPE_UINT64:
            if types.is_integer(kind):
                return None
            if types.is_floating(kind):
                return float
        case field.CPPTYPE_DOUBLE | field.CPPTYPE_FLOAT if types.is_floating(kind):
            return None
        case field.CPPTYPE_BOOL if types.is_boolean(kind):
            return None
        case field.CPPTYPE_STRING:
            if types.is_binary(kind):
                return None if field.type == field.TYPE_BYTES else str.encode
            if types.is_string(kind):
                return utf8 if field.type == field.TYPE_BYTES else None
        case _:
            pass
    raise UnfitError(message)


def _reading_message(descriptor: Any, kind: pa.DataType, message: str) -> Convert:
    if descriptor.full_name == TIMESTAMP and pa.types.is_timestamp(kind):
        return functools.partial(_moment, zoned=bool(kind.tz))
    if descriptor.full_name in _WRAPPERS:
        convert = _reading_one(descriptor.fields_by_name["value"], kind)
        return lambda wrapper: converted(wrapper.value, convert)
    if pa.types.is_struct(kind):
        return _reading_fields(descriptor, [kind.field(i) for i in range(kind.num_fields)])
    raise UnfitError(message)


def _moment(stamp: Any, *, zoned: bool) -> datetime:
    moment = _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)
    return moment if zoned else moment.replace(tzinfo=None)


class ProtobufWriter:
    """Writes attributes as messages of the first message type of a schema.

    Raises:
        ValueError: the schema is invalid, or an attribute has no field or one of another type.
    """

    path: Sequence[int] | None = (0,)

    def __init__(self, registered: RegisteredSchema, schema: pa.Schema) -> None:
        self._kind = message_types(registered)[(0,)]
        try:
            _check_fields(self._kind.DESCRIPTOR, list(schema))
        except UnfitError as error:
            message = f"schema {registered.number}: {error}"
            raise ValueError(message) from None

    def write(self, row: Mapping[str, Any]) -> bytes:
        """Return the payload of a message.

        Raises:
            ValueError: a value does not fit, such as null within a list.
        """
        message = self._kind()
        try:
            _fill(message, row)
            return message.SerializeToString()
        except (ValueError, TypeError) as error:
            text = f"a tuple does not fit into the schema: {error}"
            raise ValueError(text) from None


def takes(registered: RegisteredSchema, schema: pa.Schema) -> bool:
    """Return True if the registered schema has a suitable field, which can represent null, for every attribute."""
    try:
        ProtobufWriter(registered, schema)
    except ValueError:
        return False
    fields: Any = message_types(registered)[(0,)].DESCRIPTOR.fields_by_name
    return all(fields[name].has_presence or fields[name].is_repeated for name in schema.names)


def _check_fields(descriptor: Any, attributes: Sequence[pa.Field]) -> None:
    for attribute in attributes:
        field = descriptor.fields_by_name.get(attribute.name)
        if field is None:
            message = f"it has no field {attribute.name}; suppress the attribute, or have another schema registered"
            raise UnfitError(message)
        try:
            _check_field(field, attribute.type)
        except UnfitError as error:
            message = f"field {field.name}: {error}, but the attribute is {type_name(attribute.type)}"
            raise UnfitError(message) from None


def _check_field(field: Any, kind: pa.DataType) -> None:
    """Check that a field can hold the attribute without loss of range."""
    types, inner = pa.types, field.message_type
    if _is_map(field) and types.is_map(kind):
        entries: Any = inner.fields_by_name
        _check_field(entries["key"], kind.key_type)
        _check_field(entries["value"], kind.item_type)
        return
    if field.is_repeated != types.is_list(kind):
        message = "it is repeated" if field.is_repeated else f"it is {shown(field)}"
        raise UnfitError(message)
    kind = kind.value_type if field.is_repeated else kind
    if types.is_struct(kind) and inner is not None:
        _check_fields(inner, [kind.field(i) for i in range(kind.num_fields)])
        return
    if types.is_integer(kind) and field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return
    convert = _reading_one(field, kind)
    narrow = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32, field.CPPTYPE_FLOAT)
    if (narrow and kind.bit_width > 32) or (convert is not None and convert in (str.encode, utf8, float)):
        message = f"it is {shown(field)}"
        raise UnfitError(message)


def _fill(message: Any, row: Mapping[str, Any]) -> None:
    for name, value in row.items():
        if value is None:
            continue
        field = message.DESCRIPTOR.fields_by_name[name]
        if _is_map(field):
            values = field.message_type.fields_by_name["value"]
            for key, each in value:
                if each is None:
                    raise ValueError(_NULL_INSIDE)
                if values.message_type is not None:
                    _fill_message(getattr(message, name)[key], each)
                else:
                    getattr(message, name)[key] = each
        elif field.is_repeated and field.message_type is not None:
            for each in value:
                _fill_message(getattr(message, name).add(), each)
        elif field.is_repeated:
            if None in value:
                raise ValueError(_NULL_INSIDE)
            getattr(message, name).extend(value)
        elif field.message_type is not None:
            part = getattr(message, name)
            part.SetInParent()
            _fill_message(part, value)
        else:
            setattr(message, name, value)


def _fill_message(message: Any, value: Any) -> None:
    if isinstance(value, Mapping):
        _fill(message, value)
    elif isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        seconds, rest = divmod(moment - _EPOCH, timedelta(seconds=1))
        message.seconds, message.nanos = seconds, rest.microseconds * 1000
    elif value is None:
        text = _NULL_INSIDE
        raise ValueError(text)
    else:
        message.value = value


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def shown(field: Any) -> str:
    """Return the type of a field in words for a message, such as `int64` or `an enum pkg.Color`."""
    if field.message_type is not None:
        return f"a message {field.message_type.full_name}"
    if field.enum_type is not None:
        return f"an enum {field.enum_type.full_name}"
    names = {getattr(field, name): name for name in dir(field) if name.startswith("TYPE_")}
    return names.get(field.type, "of another type").removeprefix("TYPE_").lower()
