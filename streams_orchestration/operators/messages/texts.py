"""Finds the text in a message that is not UTF-8. Libraries refuse the message without naming the place."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.formats.checks import utf8_fault


def protobuf_text_fault(descriptor: Any, content: bytes, path: str = "") -> str:
    """Return the field of a Protobuf message that is not UTF-8, with the reason; empty if all texts are valid.

    It is also empty for damaged bytes.

    Args:
        descriptor: the descriptor of the message type.
        content: the bytes of the message.
        path: the path of the field that contains the message, with a point at the end.
    """
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    fields = Empty()
    try:
        fields.ParseFromString(content)
    except DecodeError:
        return ""
    for each in UnknownFieldSet(fields):
        field, piece = descriptor.fields_by_number.get(each.field_number), each.data
        if field is None or not isinstance(piece, bytes):
            continue
        name = path + field.name
        if field.type == field.TYPE_STRING and (reason := utf8_fault(piece)):
            return f"{name}: {reason}"
        if field.type == field.TYPE_MESSAGE and (reason := protobuf_text_fault(field.message_type, piece, f"{name}.")):
            return reason
    return ""


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
