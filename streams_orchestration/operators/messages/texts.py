"""The place of a text that is not UTF-8 in a message; libraries refuse such a message without naming the place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.formats.checks import utf8_fault


def protobuf_text_fault(descriptor: Any, content: bytes, path: str = "") -> str:
    """Return the field of a message of Protobuf that is no UTF-8 text, and why; empty when all are.

    Args:
        descriptor: the descriptor of the type of the message.
        content: the content of the message.
        path: the path of the field that has the message, with a point behind it.
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
    """Yield number and bytes of the fields that have a length, as far as the content is a message.

    The lowest three bits of a tag say how long the value is: a varint, 64 bits, with a length in front, 32 bits.
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
    """Return a number, and where it ends."""
    value = shift = 0
    while at < len(content):
        value |= (content[at] & 0x7F) << shift
        at += 1
        if content[at - 1] < 0x80:
            break
        shift += 7
    return value, at


def text_fault(value: Any, path: str) -> str:
    """Return the part of a value whose text is no UTF-8, and why; empty when all texts are.

    Args:
        value: as read with `surrogateescape`, with dicts for records and maps.
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
