"""The changes of one table as a PostgreSQL replication slot keeps them, readable from any position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.databases.errors import DatabaseError
from streams_orchestration.operators.databases.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Message,
    Relation,
    Truncate,
    Unchanged,
    message_of,
)
from streams_orchestration.operators.databases.replication import (
    Peeked,
    ReplicationSlot,
    is_visible,
    shown_lsn,
    text_values,
)

PEEKED = 50_000
"""Messages to peek at per read. The number doubles while a full read contains nothing new."""


class LogPosition(NamedTuple):
    """A position in the change log up to which changes were read."""

    lsn: int
    """All transactions that committed before this log position (LSN) were read."""
    rows: int = 0
    """The number of changes of the next transaction that were already read."""
    visible: str | None = None
    """The snapshot of the initial read, whose transactions are skipped; None once `lsn` is past all of them."""
    until: int = 0
    """The log position (LSN) from which on no transaction is visible in the snapshot."""


class ChangedRow(NamedTuple):
    """A change of the table: an inserted, updated or deleted row, or a truncation, which has no values."""

    kind: str
    """`insert`, `update`, `delete` or `truncate`."""
    transaction: Begin
    values: tuple[Any, ...]
    """Values by column; None in a deleted row where only the key is known."""
    unchanged: str | None
    """A column whose value the server has not sent because the update left it unchanged; None if all were sent."""


class ChangeReader:
    """Reads the changes in a replication slot. Creating it asks the server for the table's primary key.

    A call continues after the last call, or starts again if its position differs.
    """

    def __init__(self, slot: ReplicationSlot, columns: Sequence[str]) -> None:
        self._slot = slot
        self._columns = tuple(columns)
        self._keys = slot.keys()
        self._peeked: Peeked | None = None
        self._messages: Iterator[bytes] = iter(())
        self._relations: dict[int, _Table] = {}
        self._transaction: Begin | None = None
        self._index = 0
        """The number of changes seen in the current transaction."""
        self._is_known = False
        """True if the current transaction was read before."""
        self._newest = 0
        self._position: LogPosition | None = None
        self._most = PEEKED
        self._read = 0
        self.more = False
        """True if the last call may have left changes unread."""

    def read(self, position: LogPosition, limit: int, end: int | None = None) -> tuple[LogPosition, list[ChangedRow]]:
        """Return about `limit` further changes, and the position after them; `more` tells if some may be left.

        There may be no change although `more` is True. After an error, the next call reads the same changes again.

        Args:
            position: the position to continue from.
            limit: the approximate largest number of changes. A transaction may be split.
            end: a log position (LSN). Transactions that committed at or after it are left for later, and `more` is
                False; None reads all that the server has.

        Raises:
            DatabaseError: the server refuses or cannot be reached, or the table lacks a column that it had.
            ValueError: the server sends a message that its protocol does not define.
        """
        try:
            return self._next(position, limit, end)
        except BaseException:
            self.close()  # the session has passed changes that were not returned
            raise

    def _next(self, position: LogPosition, limit: int, end: int | None) -> tuple[LogPosition, list[ChangedRow]]:
        if self._peeked is None or position != self._position:
            self._open()
        newest = self._newest
        rows: list[ChangedRow] = []
        for data in self._messages:
            self._read += 1
            message = message_of(data)
            if end is not None and isinstance(message, Begin) and message.commit >= end:
                self.close()
                return _without_snapshot(position._replace(lsn=max(position.lsn, end))), rows
            position = self._take(message, position, rows)
            if len(rows) >= limit:
                self.more, self._position = True, position
                return position, rows
        full = self._read >= self._most
        if full and not rows:
            self._most *= 2
        self.close()
        self.more = full
        if not full and newest > position.lsn and not position.rows:
            position = position._replace(lsn=newest)
        return _without_snapshot(position), rows

    def close(self) -> None:
        """Close the session that peeks at the slot, if there is one, and set `more` to False."""
        self.more = False
        if self._peeked is not None:
            self._peeked.close()
            self._peeked = None

    def _open(self) -> None:
        self.close()
        self._newest = self._slot.newest()
        self._peeked = self._slot.peek(self._most)
        self._messages = iter(self._peeked)
        self._relations = {}
        self._transaction = None
        self._read = 0

    def _take(self, message: Message | None, position: LogPosition, rows: list[ChangedRow]) -> LogPosition:
        """Append the changed rows of a message, unless they were read before, and return the position after it."""
        match message:
            case Begin():
                self._transaction, self._index = message, 0
                self._is_known = message.commit < position.lsn or (
                    position.visible is not None and is_visible(message.transaction, position.visible)
                )
            case Relation():
                self._relations[message.number] = self._table(message)
            case Change() | Truncate():
                self._index += 1
                if not self._is_known and self._index > position.rows:
                    rows += self._rows(message)
                    position = position._replace(rows=self._index)
            case Commit():
                if message.end > position.lsn:
                    position = _without_snapshot(position._replace(lsn=message.end, rows=0))
            case None:
                pass
        return position

    def _rows(self, message: Change | Truncate) -> list[ChangedRow]:
        assert self._transaction is not None
        if isinstance(message, Truncate):
            ours = any(self._relations[number].ours for number in message.relations if number in self._relations)
            nothing = (None,) * len(self._columns)
            return [ChangedRow("truncate", self._transaction, nothing, None)] if ours else []
        table = self._relations[message.relation]
        if not table.ours:
            return []
        old = None if message.old is None else table.values(message.old)
        if message.new is None:
            assert old is not None
            return [self._row("delete", old)]
        new = table.values(message.new)
        if message.kind == "update" and old is not None:
            for column, value in new.items():
                if isinstance(value, Unchanged) and not message.old_key:
                    new[column] = old[column]
            if message.old_key or any(old.get(key) != new.get(key) for key in self._keys):
                return [self._row("delete", old), self._row("insert", new)]
        return [self._row(message.kind, new)]

    def _row(self, kind: str, values: Mapping[str, Any]) -> ChangedRow:
        assert self._transaction is not None
        unchanged = next((column for column in self._columns if values[column] is UNCHANGED), None)
        wanted = tuple(None if values[column] is UNCHANGED else values[column] for column in self._columns)
        return ChangedRow(kind, self._transaction, wanted, unchanged)

    def _table(self, relation: Relation) -> _Table:
        ours = (relation.schema, relation.name) == self._slot.schema_and_name
        missing = [column for column in self._columns if column not in relation.columns] if ours else []
        if missing:
            assert self._transaction is not None
            message = (
                f"{self._slot.table}, transaction {self._transaction.transaction} at "
                f"{shown_lsn(self._transaction.commit)}: it no longer has the column {missing[0]}; its columns are "
                f"{', '.join(relation.columns)}; leave the attribute out, or name another column with columns, and "
                "redeploy"
            )
            raise DatabaseError(message)
        assert self._peeked is not None
        return _Table(relation, self._peeked.driver_connection, ours=ours)


class _Table:
    """The layout of a table at one point of the change log."""

    def __init__(self, relation: Relation, connection: Any, *, ours: bool) -> None:
        self.ours = ours
        self._columns = relation.columns
        self._loads = text_values(connection, relation.types) if ours else []

    def values(self, texts: Sequence[bytes | Unchanged | None]) -> dict[str, Any]:
        """Convert the texts of a row to values, by column; None and `UNCHANGED` stay."""
        return {
            column: load(text) if isinstance(text, bytes) else text
            for column, load, text in zip(self._columns, self._loads, texts, strict=True)
        }


def _without_snapshot(position: LogPosition) -> LogPosition:
    """Return the position without its snapshot if all transactions of the snapshot are before the position."""
    past = position.visible is not None and position.lsn >= position.until
    return position._replace(visible=None, until=0) if past else position
