"""Messages of PostgreSQL's output plugin `pgoutput`, protocol version 1, as its manual describes them.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, NamedTuple


class Unchanged:
    """A placeholder for a large value that an update left unchanged and that the server does not send."""

    def __repr__(self) -> str:
        return "a value that the update did not change"


UNCHANGED: Final = Unchanged()
Values = tuple[bytes | Unchanged | None, ...]
"""The values of a row, by column, as texts."""


class Begin(NamedTuple):
    """The beginning of a transaction."""

    commit: int
    """The log position (LSN) of the commit."""
    committed: int
    """Commit time in microseconds since 2000-01-01 UTC."""
    transaction: int
    """The lower 32 bits of the transaction's number."""


class Commit(NamedTuple):
    """The end of a committed transaction."""

    end: int
    """The log position (LSN) after the commit."""


class Relation(NamedTuple):
    """A table's layout, sent before the first change of the table and again after each ALTER."""

    number: int
    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[int, ...]
    """The type OIDs of the columns."""


class Change(NamedTuple):
    """A row that was inserted, updated or deleted."""

    kind: str
    """The kind of change: `insert`, `update` or `delete`."""
    relation: int
    new: Values | None
    old: Values | None
    """The known values of the old row; None if the server sent none."""
    old_key: bool
    """True if only the key of the old row is known: an update changed the key, or the row was deleted."""


class Truncate(NamedTuple):
    """A TRUNCATE of tables."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Change | Truncate


def message_of(data: bytes) -> Message | None:
    """Parse one message; return None for messages that are not about rows.

    Raises:
        ValueError: the protocol has no such message.
    """
    read = _Reader(data, 1)
    match data[:1]:
        case b"B":
            return Begin(*read.take("!qqI"))
        case b"C":
            return Commit(read.take("!bqqq")[2])
        case b"R":
            return _relation(read)
        case b"I":
            relation, _ = read.take("!Ic")
            return Change("insert", relation, read.values(), None, old_key=False)
        case b"U":
            return _update(read)
        case b"D":
            relation, kind = read.take("!Ic")
            return Change("delete", relation, None, read.values(), old_key=kind == b"K")
        case b"T":
            number, _ = read.take("!Ib")
            return Truncate(read.take(f"!{number}I"))
        case b"O" | b"Y" | b"M":
            return None
        case kind:
            message = f"pgoutput sent a message {kind!r}, which its protocol does not define"
            raise ValueError(message)


def _relation(read: _Reader) -> Relation:
    (number,) = read.take("!I")
    schema, name = read.text(), read.text()
    _, count = read.take("!bh")
    columns: list[tuple[str, int]] = []
    for _ in range(count):
        read.take("!b")
        column = read.text()
        columns.append((column, read.take("!Ii")[0]))
    return Relation(number, schema, name, tuple(name for name, _ in columns), tuple(kind for _, kind in columns))


def _update(read: _Reader) -> Change:
    relation, kind = read.take("!Ic")
    old = None
    if kind != b"N":
        old = read.values()
        read.take("!c")
    return Change("update", relation, read.values(), old, old_key=kind == b"K")


@dataclass
class _Reader:
    """Reads a message from beginning to end."""

    data: bytes
    at: int

    def take(self, form: str) -> tuple[Any, ...]:
        """Read the next bytes as numbers in a format of `struct`."""
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self) -> str:
        """Read the next text, which ends with a zero byte."""
        end = self.data.index(0, self.at)
        text = self.data[self.at : end].decode()
        self.at = end + 1
        return text

    def values(self) -> Values:
        """Read the values of the next row."""
        (count,) = self.take("!h")
        values: list[bytes | Unchanged | None] = []
        for _ in range(count):
            kind = self.data[self.at]
            self.at += 1
            if kind == ord("t"):
                (length,) = self.take("!i")
                values.append(self.data[self.at : self.at + length])
                self.at += length
            else:
                values.append(UNCHANGED if kind == ord("u") else None)
        return tuple(values)
