"""Finds the text in a message that is not UTF-8. Libraries refuse the message without naming the place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.formats.checks import utf8_fault


def protobuf_text_fault(descriptor: Any, content: bytes, path: str = "") -> str:
    """Return the field of a Protobuf message that is not UTF-8, with the reason; empty if all texts are valid.

    Args:
        descriptor: the descriptor of the message type.
        content: the bytes of the message.
        path: the path of the field that contains the message, with a point at the end.
    """
    for number, piece in _fields(content):
        field = descriptor.fields_by_number.get(number)
        if field is None:
            continue
        name = path + field.name
        if field.type == field.TYPE_STRING and (reason := utf8_fault(piece)):
            return f"{name}: {reason}"
        if field.type == field.TYPE_MESSAGE and (reason := protobuf_text_fault(field.message_type, piece, f"{name}.")):
            return reason
    return ""


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and bytes of each length-delimited field, up to the first invalid one.

    The lowest three bits of a tag give the wire type: varint, 64 bits, length-delimited, or 32 bits.
    """
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        match tag & 7:
            case 0:
                _, at = _varint(content, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(content, at)
                yield tag >> 3, content[at : at + size]
                at += size
            case 5:
                at += 4
            case _:
                return


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Decode a varint; return the number and the position after it. A truncated one gives its existing bytes."""
    value = shift = 0
    while at < len(content):
        value |= (content[at] & 0x7F) << shift
        at += 1
        if content[at - 1] < 0x80:
            break
        shift += 7
    return value, at


def text_fault(value: Any, path: str) -> str:
    """Return the part of a value that is not UTF-8 text, with the reason; empty if all texts are valid.

    Args:
        value: the value as decoded with `surrogateescape`, with dictionaries for records and maps.
        path: the path of the value.
    """
    if isinstance(value, str):
        reason = utf8_fault(value.encode(errors="surrogateescape"))
        return f"{path}: {reason}" if reason else ""
    if isinstance(value, dict):
        keys = (text_fault(key, f"{path}, a key") for key in value)
        parts = (text_fault(part, f"{path}.{name}") for name, part in value.items())
        return next(filter(None, (*keys, *parts)), "")
    return next(filter(None, (text_fault(part, path) for part in value)), "") if isinstance(value, list) else ""
