"""Values in SPL's binary encoding: numbers in network byte order, and sizes in front of texts and collections.

>>> from streams_orchestration.spl.types.written import type_of_text
>>> type_ = type_of_text("tuple<int16 n, rstring s, list<boolean> l>")
>>> data = encoded({"n": -2, "s": "ab", "l": [True]}, type_)
>>> data.hex()
'fffe0261620101'
>>> decoder(type_)(data, 0)
({'n': -2, 's': 'ab', 'l': [True]}, 7)
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any

from streams_orchestration.operators.formats.spl_texts import spl_tuple
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.spl.programs.values import first_entries, freezing, thawing
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    DECIMALS,
    FLOATS,
    INTEGERS,
    SIGNED,
    TIMESTAMP,
    USTRING,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
    is_string,
    parts_of_type,
)
from streams_orchestration.spl.types.written import type_of_text

Encoder = Callable[[Any, bytearray], None]
Decoder = Callable[[bytes, int], tuple[Any, int]]
"""A function from bytes and a position to a value and the position behind it.

It raises `IncompleteError` if the bytes end within the value, and ValueError if they are not a value of the type.
"""
_LETTERS = {8: "b", 16: "h", 32: "i", 64: "q"}
_SECOND = 10**9
_LARGE = 128


class IncompleteError(ValueError):
    """The bytes end within a value."""


def check_binary(type_: Type) -> None:
    """Raise ValueError if values of a type have no binary encoding here."""
    for each in parts_of_type(type_):
        if each in DECIMALS or not (
            each in INTEGERS
            or each in FLOATS
            or each in (BOOLEAN, BLOB, TIMESTAMP)
            or is_string(each)
            or isinstance(each, Collection | Tuple | Optional | Enumeration)
        ):
            message = f"format bin: values of type {each} are not written; convert them to texts or float64"
            raise ValueError(message)


def encoded(value: Any, type_: Type) -> bytes:
    """Return the bytes of an SPL value of a type that `check_binary` accepts."""
    into = bytearray()
    encoder(type_)(value, into)
    return bytes(into)


@functools.lru_cache(maxsize=256)
def encoder(type_: Type) -> Encoder:
    """Return the function that appends the bytes of a value of a type, which `check_binary` has accepted.

    `check_bounds` has accepted the value.
    """
    match type_:
        case Optional(content=content):
            return _optional_encoder(encoder(content))
        case Tuple(attributes=attributes):
            parts = [(each.name, encoder(each.type)) for each in attributes]

            def encode_tuple(value: Any, into: bytearray) -> None:
                for name, part in parts:
                    part(value[name], into)

            return encode_tuple
        case Collection(kind="map", elements=(key_type, content)):
            key, item, thaw = encoder(key_type), encoder(content), thawing(key_type)

            def encode_map(value: Any, into: bytearray) -> None:
                into += _size(len(value))
                for one, other in value.items():
                    key(thaw(one), into)
                    item(other, into)

            return encode_map
        case Collection(kind=kind, elements=(element,)):
            part, thaw = encoder(element), thawing(element)

            def encode_elements(value: Any, into: bytearray) -> None:
                into += _size(len(value))
                for each in value:
                    part(each if kind == "list" else thaw(each), into)

            return encode_elements
        case _:
            return _simple_encoder(type_)


def _optional_encoder(inner: Encoder) -> Encoder:
    def encode(value: Any, into: bytearray) -> None:
        into.append(value is not None)
        if value is not None:
            inner(value, into)

    return encode


def _word_encoder(type_: Enumeration) -> Encoder:
    places = {word: struct.pack(">I", place) for place, word in enumerate(type_.words)}

    def encode(value: Any, into: bytearray) -> None:
        into += places[value]

    return encode


def _simple_encoder(type_: Type) -> Encoder:
    if isinstance(type_, Enumeration):
        return _word_encoder(type_)
    if type_ == USTRING:
        return lambda value, into: into.extend(_counted(value.encode("utf-16-be"), 2))
    if is_string(type_):
        return lambda value, into: into.extend(_counted(value.encode(), 1))
    if type_ == BLOB:
        return lambda value, into: into.extend(struct.pack(">Q", len(value)) + value)
    if type_ == TIMESTAMP:
        return lambda value, into: into.extend(struct.pack(">qIi", *divmod(value, _SECOND), 0))
    pack = _form(type_).pack
    return lambda value, into: into.extend(pack(value))


def _form(type_: Type) -> struct.Struct:
    """Return the big-endian `struct` format of a number or boolean."""
    if type_ == BOOLEAN:
        return struct.Struct(">?")
    assert isinstance(type_, Primitive)
    if type_ in FLOATS:
        return struct.Struct(">f" if FLOATS[type_] == 32 else ">d")
    letter = _LETTERS[INTEGERS[type_]]
    return struct.Struct(f">{letter if type_ in SIGNED else letter.upper()}")


def _counted(data: bytes, width: int) -> bytes:
    return _size(len(data) // width) + data


def _size(count: int) -> bytes:
    return bytes((count,)) if count < _LARGE else struct.pack(">BI", _LARGE, count)


@functools.lru_cache(maxsize=256)
def decoder(type_: Type) -> Decoder:
    """Return the function that reads a value of a type, which `check_binary` has accepted."""
    match type_:
        case Optional(content=content):
            inner = decoder(content)

            def decode_optional(data: bytes, at: int) -> tuple[Any, int]:
                (there,), at = _unpacked(_FLAG, data, at)
                return inner(data, at) if there else (None, at)

            return decode_optional
        case Tuple(attributes=attributes):
            parts = [(each.name, decoder(each.type)) for each in attributes]

            def decode_tuple(data: bytes, at: int) -> tuple[Any, int]:
                value: dict[str, Any] = {}
                for name, part in parts:
                    value[name], at = part(data, at)
                return value, at

            return decode_tuple
        case Collection():
            return _collection_decoder(type_)
        case _:
            return _simple_decoder(type_)


_FLAG = struct.Struct(">?")
_COUNT = struct.Struct(">I")
_BLOB_SIZE = struct.Struct(">Q")
_STAMP = struct.Struct(">qIi")


def _unpacked(form: struct.Struct, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    end = at + form.size
    if end > len(data):
        raise IncompleteError
    return form.unpack_from(data, at), end


def _taken(data: bytes, at: int, count: int) -> tuple[bytes, int]:
    if at + count > len(data):
        raise IncompleteError
    return data[at : at + count], at + count


def _read_size(data: bytes, at: int) -> tuple[int, int]:
    (first,), at = _unpacked(struct.Struct("B"), data, at)
    if first < _LARGE:
        return first, at
    if first > _LARGE:
        message = f"{first} begins no size of a text or collection"
        raise ValueError(message)
    (count,), at = _unpacked(_COUNT, data, at)
    return count, at


def _collection_decoder(type_: Collection) -> Decoder:
    parts = [decoder(each) for each in type_.elements]
    freeze = freezing(type_.elements[0])

    def decode(data: bytes, at: int) -> tuple[Any, int]:
        count, at = _read_size(data, at)
        if type_.bound is not None and count > type_.bound:
            message = f"{count} elements are too many for {type_}"
            raise ValueError(message)
        if count > len(data) - at and type_.elements[0] != Tuple(()):
            raise IncompleteError
        rows: list[list[Any]] = []
        for _ in range(count):
            row: list[Any] = []
            for part in parts:
                value, at = part(data, at)
                row.append(value)
            rows.append(row)
        if type_.kind == "map":
            return first_entries((freeze(key), value) for key, value in rows), at
        values = [value for (value,) in rows]
        return (values if type_.kind == "list" else dict.fromkeys(map(freeze, values))), at

    return decode


def _simple_decoder(type_: Type) -> Decoder:
    if isinstance(type_, Enumeration):
        return _word_decoder(type_)
    if is_string(type_):
        return _string_decoder(type_)
    if type_ == BLOB:

        def decode_blob(data: bytes, at: int) -> tuple[Any, int]:
            (count,), at = _unpacked(_BLOB_SIZE, data, at)
            return _taken(data, at, count)

        return decode_blob
    if type_ == TIMESTAMP:

        def decode_stamp(data: bytes, at: int) -> tuple[Any, int]:
            (seconds, nanoseconds, _), at = _unpacked(_STAMP, data, at)
            return seconds * _SECOND + nanoseconds, at

        return decode_stamp
    form = _form(type_)

    def decode_number(data: bytes, at: int) -> tuple[Any, int]:
        (value,), at = _unpacked(form, data, at)
        return value, at

    return decode_number


def _word_decoder(type_: Enumeration) -> Decoder:
    def decode(data: bytes, at: int) -> tuple[Any, int]:
        (place,), at = _unpacked(_COUNT, data, at)
        if place >= len(type_.words):
            message = f"{place} is not a place in {type_}"
            raise ValueError(message)
        return type_.words[place], at

    return decode


def _string_decoder(type_: Type) -> Decoder:
    width, encoding = (2, "utf-16-be") if type_ == USTRING else (1, "utf-8")

    def decode(data: bytes, at: int) -> tuple[Any, int]:
        count, at = _read_size(data, at)
        raw, at = _taken(data, at, count * width)
        if isinstance(type_, BoundedString) and count > type_.bound:
            message = f"{count} bytes are too many for {type_}"
            raise ValueError(message)
        return raw.decode(encoding), at

    return decode


def binary_tuple(schema: pa.Schema, types: Mapping[str, str]) -> Tuple:
    """Return the SPL tuple type of a schema. Only attributes that `types` declares optional may be null.

    Raises:
        ValueError: an attribute has a type that SPL does not have, or one of `types` is not a type of its column.
    """
    plain = spl_tuple(schema, schema.names, "bin", types)
    given = {name: type_of_text(written) for name, written in types.items()}
    return Tuple(
        tuple(
            TupleAttribute(each.name, own if isinstance(own := given.get(each.name), Optional) else each.type)
            for each in plain.attributes
        )
    )
