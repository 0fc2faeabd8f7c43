"""The byte format of journal records: the messages of one arrival, with a checksum."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_HEAD = struct.Struct("<IIQIIQ")
"""Header: length of the rest, checksum of all that follows it, first number, message count, length of facts, time."""
_UNCHECKED = 8
"""The number of leading header bytes that the checksum does not cover."""
MAX_RECORD_BYTES = 1 << 30
"""The largest record in bytes; a greater length means that the bytes are not a record."""
HEAD_SIZE = _HEAD.size


class JournalMessage(NamedTuple):
    """One received message."""

    number: int
    """The message's number in the journal: consecutive, from 1."""
    value: bytes
    origin: str
    """The sender or the topic."""
    received: float
    """Time of arrival in Unix seconds."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Messages that arrived together. The journal takes all of them or none."""

    values: Sequence[bytes]
    origin: str = ""
    received: float = 0.0
    """Time of arrival in Unix seconds."""
    key: str = ""
    """The sender's idempotency key, if there is one."""
    digest: str = ""
    """The digest of the content under the key; empty if content under a known key is never compared."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """An arrival with its message numbers."""

    first: int
    """The number of the first message, or of the next one if there is none."""
    arrival: Arrival
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The remembered keys with their digests. A segment begins with a record that has such keys, but no messages."""

    @property
    def next(self) -> int:
        """The number after the last message."""
        return self.first + len(self.arrival.values)

    def messages(self, begin: int, limit: int) -> list[JournalMessage]:
        """Return up to `limit` messages of this record, from the message with the number `begin`, or from the first."""
        at, arrival = max(begin - self.first, 0), self.arrival
        return [
            JournalMessage(number, value, arrival.origin, arrival.received)
            for number, value in enumerate(arrival.values[at : at + limit], self.first + at)
        ]

    def dump(self) -> bytes:
        """Return the record as bytes, with its time cut off to milliseconds."""
        arrival = self.arrival
        facts = {
            "origin": arrival.origin,
            "key": arrival.key,
            "digest": arrival.digest,
            "keys": list(self.keys),
            "digests": list(self.keys.values()) if any(self.keys.values()) else (),
        }
        text = json.dumps({name: value for name, value in facts.items() if value}).encode()
        lengths = struct.pack(f"<{len(arrival.values)}I", *map(len, arrival.values))
        rest = b"".join((text, lengths, *arrival.values))
        head = _HEAD.pack(len(rest), 0, self.first, len(arrival.values), len(text), int(arrival.received * 1000))[
            _UNCHECKED:
        ]
        checksum = zlib.crc32(rest, zlib.crc32(head))
        return struct.pack("<II", len(rest), checksum) + head + rest


def size_of(head: bytes) -> int | None:
    """Return the length of a record in bytes; None if its header is incomplete or says over `MAX_RECORD_BYTES`."""
    if len(head) < _HEAD.size:
        return None
    length = int.from_bytes(head[:4], "little")
    return None if length > MAX_RECORD_BYTES else _HEAD.size + length


def load(content: bytes) -> JournalRecord | None:
    """Parse a record; return None if the bytes are not exactly one valid record."""
    if (size := size_of(content)) is None or size != len(content):
        return None
    _, checksum, first, count, facts_size, received = _HEAD.unpack_from(content)
    view = memoryview(content)
    if zlib.crc32(view[_UNCHECKED:]) != checksum:
        return None
    begin = _HEAD.size + facts_size
    facts = json.loads(content[_HEAD.size : begin])
    lengths = struct.unpack_from(f"<{count}I", content, begin)
    at = begin + 4 * count
    values: list[bytes] = []
    for length in lengths:
        values.append(content[at : at + length])
        at += length
    arrival = Arrival(values, facts.get("origin", ""), received / 1000, facts.get("key", ""), facts.get("digest", ""))
    keys = facts.get("keys", ())
    return JournalRecord(first, arrival, dict(zip(keys, facts.get("digests") or [""] * len(keys), strict=True)))
