"""Message metadata as attributes: key, topic, partition, offset, timestamp, headers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from streams_orchestration.operators.formats.checks import NULL, utf8_fault
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name

_OWN = ("topic", "partition", "offset", "timestamp")
"""Metadata that every message has and that are not bytes."""


def check_metadata(attribute: str, type: pa.DataType, kind: str) -> None:
    """Raise ValueError if an attribute's type cannot hold its metadata."""
    types = pa.types
    known: dict[str, tuple[str, Sequence[Callable[[Any], bool]]]] = {
        "topic": ("a string", (types.is_string,)),
        "partition": ("an int or bigint", (types.is_int32, types.is_int64)),
        "offset": ("a bigint", (types.is_int64,)),
        "timestamp": ("a timestamp, or a bigint of milliseconds", (types.is_timestamp, types.is_int64)),
    }
    wanted, checks = known.get(kind, ("a string or binary", (types.is_string, types.is_binary)))
    if not any(check(type) for check in checks):
        message = f"metadata: {attribute} is {type_name(type)}; {kind} is {wanted}"
        raise ValueError(message)


def metadata_column(messages: Sequence[Any], kind: str, type: pa.DataType) -> pa.Array:
    """Return one metadata attribute of all messages, null where a message has none.

    `metadata_faults` has already checked the texts.
    """
    match kind:
        case "topic":
            return pa.array([message.topic() for message in messages], type)
        case "partition":
            return pa.array([message.partition() for message in messages], type)
        case "offset":
            return pa.array([message.offset() for message in messages], type)
        case "timestamp":
            stamps = pa.array([_timestamp(message) for message in messages], pa.int64())
            return stamps if pa.types.is_int64(type) else pc.cast(pc.cast(stamps, pa.timestamp("ms")), type)
        case _:
            return _bytes([_value(message, kind) for message in messages], type)


def metadata_faults(
    messages: Sequence[Any], attributes: Mapping[str, str], schema: pa.Schema, required: Collection[str] = ()
) -> dict[int, str]:
    """Map the position of each message that does not fit its metadata attributes to the reason.

    The reason is that a key or header is not UTF-8, or is missing although the attribute is NOT NULL.
    """
    faults: dict[int, str] = {}
    for attribute, kind in attributes.items():
        if kind in _OWN:
            continue
        if attribute in required:
            missing = (position for position, message in enumerate(messages) if _value(message, kind) is None)
            faults |= dict.fromkeys(missing, f"{kind}: {NULL}")
        if not pa.types.is_string(schema.field(attribute).type):
            continue
        for position, message in enumerate(messages):
            if reason := utf8_fault(_value(message, kind) or b""):
                faults[position] = f"{kind}: {reason}; declare {attribute} as binary to get it unchanged"
    return faults


def _value(message: Any, kind: str) -> bytes | None:
    """Return the key of a message, or its last header of a name; None if the message lacks it."""
    return message.key() if kind == "key" else dict(message.headers() or ()).get(kind.partition(".")[2])


def _timestamp(message: Any) -> int | None:
    kind, milliseconds = message.timestamp()
    return milliseconds if kind else None


def _bytes(values: Sequence[bytes | None], type: pa.DataType) -> pa.Array:
    if pa.types.is_binary(type):
        return pa.array(values, type)
    return pa.array([None if value is None else value.decode() for value in values], type)
