"""The frame by which clients of a schema registry mark a message with the schema that it was written with.

The frame consists of a zero byte, the schema's number in four bytes, and for Protobuf the path to the message type in
its file. Source: Confluent, "Wire format", which other registries follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MAGIC = b"\0"
_LONGEST_PATH = 64


class FrameError(ValueError):
    """The bytes have no valid frame."""


class Framed(NamedTuple):
    """A message without its frame."""

    schema: int
    """The number that the registry gave the schema."""
    payload: bytes


def unframed(value: bytes) -> Framed:
    """Split a message into the schema number of its frame and its payload.

    Raises:
        FrameError: there is no valid frame.
    """
    if len(value) < 5 or value[:1] != _MAGIC:
        message = "it does not begin with a zero byte and the four bytes of a schema's number"
        raise FrameError(message)
    return Framed(int.from_bytes(value[1:5]), value[5:])


def frame(schema: int, path: Sequence[int] | None = None) -> bytes:
    """Return the frame that precedes a payload.

    Args:
        schema: the number that the registry gave the schema.
        path: for Protobuf, the position of the message type in its file, then within that type; None for Avro.
    """
    head = _MAGIC + schema.to_bytes(4)
    if path is None:
        return head
    if list(path) == [0]:
        return head + b"\0"
    return head + b"".join(map(_zigzag, (len(path), *path)))


def taken_path(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Split a Protobuf payload into the path to its message type and the bytes of the message.

    Raises:
        FrameError: there is no valid path of at most `_LONGEST_PATH` steps.
    """
    count, at = _number(payload, 0)
    if count == 0:
        return (0,), payload[at:]
    if not 0 < count <= _LONGEST_PATH:
        message = f"its path to the message type has {count} steps"
        raise FrameError(message)
    path: list[int] = []
    for _ in range(count):
        step, at = _number(payload, at)
        path.append(step)
    return tuple(path), payload[at:]


def _zigzag(number: int) -> bytes:
    """Encode a number that is not negative as a zigzag varint."""
    rest, text = number << 1, bytearray()
    while rest > 0x7F:
        text.append(rest & 0x7F | 0x80)
        rest >>= 7
    text.append(rest)
    return bytes(text)


def _number(payload: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag varint; return the number and the position after it."""
    value = shift = 0
    while at < len(payload) and shift <= 63:
        value |= (payload[at] & 0x7F) << shift
        at += 1
        if payload[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    message = "it ends within the path to its message type"
    raise FrameError(message)
