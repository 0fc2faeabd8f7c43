"""A PostgreSQL replication slot, read by SQL statements. Peeked messages remain until the slot is advanced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.databases.address import resolve_url
from streams_orchestration.operators.databases.connecting import engine_of
from streams_orchestration.operators.databases.errors import DatabaseAwayError, DatabaseError, explained

CHUNK = 10_000
"""Rows or messages per chunk from the server."""
PLUGIN = "pgoutput"
_IN_USE = "55006"
_NO_RIGHT = "42501"
_NO_SLOT_LEFT = "53400"


class SlotInUseError(DatabaseAwayError):
    """Another session is reading the slot."""


class SlotState(NamedTuple):
    """The state of a replication slot."""

    confirmed: int
    """The log position (LSN) before which the server may discard changes."""
    lost: bool
    """True if the server has discarded log that the slot needs."""


class SlotSnapshot(NamedTuple):
    """The database snapshot that a read of the whole table has used."""

    visible: str
    """PostgreSQL's text form of a snapshot, `oldest:next:running,...`, with transaction numbers."""
    until: int
    """A log position (LSN) after the commits of all transactions visible in the snapshot."""


def lsn(text: str) -> int:
    """Return a log position such as `16/B374D848` as a number.

    Example:
        >>> lsn("1/10")
        4294967312
    """
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def shown_lsn(position: int) -> str:
    """Return a log position in PostgreSQL's notation."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def is_visible(transaction: int, snapshot: str) -> bool:
    """Return True if a snapshot contains a transaction: it had ended when the snapshot was taken.

    Args:
        transaction: the lower 32 bits of the transaction's number.
        snapshot: the snapshot in PostgreSQL's notation.
    """
    oldest, following, running = snapshot.split(":")
    distance = (transaction - int(following) + (1 << 31)) % (1 << 32) - (1 << 31)
    number = int(following) + distance
    if number >= int(following):
        return False
    return number < int(oldest) or str(number) not in running.split(",")


class ReplicationSlot:
    """The slot, publication and table of one source. Every call may raise a `DatabaseError`."""

    def __init__(self, url: str, slot: str, publication: str, table: str) -> None:
        """Check the address. A connection is made on first use.

        Raises:
            DatabaseUrlError: the address cannot be used.
        """
        self.name = f"slot {slot}"
        self.table = f"table {table}"
        self._slot, self._publication, self._wanted = slot, publication, table
        self._url: URL = resolve_url(url)
        self._engine = engine_of(self._url)
        self._server = ""
        self.schema_and_name: tuple[str, str] = ("", "")

    def prepare(self, columns: Sequence[str]) -> None:
        """Check the server, the publication and the table, and create the slot if it is missing.

        Raises:
            DatabaseError: a check fails, or `state` refuses the slot; the message gives the remedy.
        """
        with self._connected() as connection:
            level = connection.exec_driver_sql("SHOW wal_level").scalar_one()
            if level != "logical":
                message = (
                    f"{self.name}: the server's wal_level is {level}, which does not record changes of rows; run "
                    "ALTER SYSTEM SET wal_level = logical, and restart the server"
                )
                raise DatabaseError(message)
            self._resolve_table(connection)
            self._check_published(connection, columns)
        if self.state() is None:
            self.create()

    def create(self) -> None:
        """Create the slot, which must not exist. The server keeps changes from now on."""
        with self._connected() as connection:
            connection.exec_driver_sql(
                f"SELECT pg_create_logical_replication_slot(%s, '{PLUGIN}')", (self._slot,)
            ).all()

    def drop(self) -> None:
        """Drop the slot."""
        with self._connected() as connection:
            connection.exec_driver_sql("SELECT pg_drop_replication_slot(%s)", (self._slot,)).all()

    def state(self) -> SlotState | None:
        """Return the state of the slot, or None if it does not exist.

        Raises:
            DatabaseError: a slot of this name has another plugin or belongs to another database.
        """
        statement = (
            "SELECT plugin, database = current_database(), confirmed_flush_lsn::text, wal_status "
            "FROM pg_replication_slots WHERE slot_name = %s"
        )
        with self._connected() as connection:
            row = connection.exec_driver_sql(statement, (self._slot,)).one_or_none()
        if row is None:
            return None
        plugin, here, confirmed, status = row
        if plugin != PLUGIN or not here:
            what = f"with the plugin {plugin}" if plugin != PLUGIN else "in another database"
            message = f"{self.name}: a slot of this name exists {what}; name another slot"
            raise DatabaseError(message)
        return SlotState(lsn(confirmed) if confirmed else 0, status == "lost")

    def server(self) -> str:
        """Return the server's system identifier, which its standbys and copies share."""
        if not self._server:
            self._server = str(self._scalar("SELECT system_identifier FROM pg_control_system()"))
        return self._server

    def newest(self) -> int:
        """Return the log position (LSN) up to which the log is flushed."""
        return lsn(self._scalar("SELECT pg_current_wal_flush_lsn()::text"))

    def next_transaction(self) -> int:
        """Return the next transaction number to be assigned."""
        return int(self._scalar("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))

    def oldest_transaction(self) -> int:
        """Return the number of the oldest transaction still running."""
        return int(self._scalar("SELECT pg_snapshot_xmin(pg_current_snapshot())::text"))

    @contextmanager
    def rows(self, columns: Sequence[str]) -> Iterator[tuple[SlotSnapshot, Iterator[Sequence[Sequence[Any]]]]]:
        """Yield the current snapshot and an iterator over all rows of the table in it, in chunks of `CHUNK`.

        The iterator can be used within the block. Call `prepare` or `keys` before, which look up the table's schema.
        """
        with self._connected("REPEATABLE READ") as connection:
            visible = connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar_one()
            until = connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn()::text").scalar_one()
            owner, name = self.schema_and_name
            statement = sa.select(*(sa.column(column) for column in columns)).select_from(sa.table(name, schema=owner))
            rows = connection.execution_options(yield_per=CHUNK).execute(statement)
            yield SlotSnapshot(visible, lsn(until)), (list(chunk) for chunk in rows.partitions())

    def peek(self, most: int) -> Peeked:
        """Read the messages of unconfirmed transactions, without splitting transactions. The caller closes the result.

        Args:
            most: the number of messages after which no further transaction is begun.
        """
        return Peeked(self._engine, self._slot, self._publication, most, self._explained)

    def advance(self, position: int) -> None:
        """Let the server discard changes before a position.

        Do nothing if the slot is already confirmed up to the position, missing or lost.
        """
        state = self.state()
        if state is None or state.lost or position <= state.confirmed:
            return
        statement = "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)"
        with self._connected() as connection:
            connection.exec_driver_sql(statement, (self._slot, shown_lsn(position))).all()

    def keys(self) -> list[str]:
        """Return the columns of the table's primary key; none without one."""
        with self._connected() as connection:
            self._resolve_table(connection)
            owner, name = self.schema_and_name
            return list(sa.inspect(connection).get_pk_constraint(name, schema=owner)["constrained_columns"])

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _resolve_table(self, connection: Connection) -> None:
        owner, _, name = self._wanted.rpartition(".")
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (owner, name) if part)
        statement = (
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.oid = to_regclass(%s)"
        )
        row = connection.exec_driver_sql(statement, (quoted,)).one_or_none()
        if row is None:
            message = f"{self.table}: there is no such table; check `table`, and the schema before its name"
            raise DatabaseError(message)
        self.schema_and_name = (row[0], row[1])

    def _check_published(self, connection: Connection, columns: Sequence[str]) -> None:
        names = list(connection.exec_driver_sql("SELECT pubname FROM pg_publication").scalars())
        if self._publication not in names:
            message = (
                f"publication {self._publication}: it does not exist{nearest(self._publication, names)}; "
                f"CREATE PUBLICATION {self._publication} FOR TABLE {self._wanted}"
            )
            raise DatabaseError(message)
        statement = (
            "SELECT count(*) FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
        )
        owner, name = self.schema_and_name
        if not connection.exec_driver_sql(statement, (self._publication, owner, name)).scalar_one():
            message = (
                f"publication {self._publication}: it does not contain {self.table}; run ALTER PUBLICATION "
                f"{self._publication} ADD TABLE {self._wanted}, for a partitioned table with publish_via_partition_root"
            )
            raise DatabaseError(message)
        there = [each["name"] for each in sa.inspect(connection).get_columns(name, schema=owner)]
        for column in columns:
            if column not in there:
                message = f"{self.table} has no column {column}{nearest(column, there)}"
                raise DatabaseError(message)

    def _scalar(self, statement: str) -> Any:
        with self._connected() as connection:
            return connection.exec_driver_sql(statement).scalar_one()

    @contextmanager
    def _connected(self, isolation: str = "READ COMMITTED") -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(isolation_level=isolation) as connection:
                yield connection
                connection.commit()
        except SQLAlchemyError as error:
            raise self._explained(error) from error

    def _explained(self, error: SQLAlchemyError) -> DatabaseError:
        state = getattr(getattr(error, "orig", None), "sqlstate", None)
        reason = explained(error, self.name, self._url)
        if state == _IN_USE:
            return SlotInUseError(str(reason))
        if state == _NO_RIGHT:
            message = (
                f"{str(reason).partition(';')[0]}; the user needs the right to replicate: run ALTER ROLE … REPLICATION"
            )
            return DatabaseError(message + ", and to select from the table")
        if state == _NO_SLOT_LEFT:
            return DatabaseAwayError(f"{str(reason).partition(';')[0]}; drop one, or raise max_replication_slots")
        return reason


class Peeked:
    """Messages read from a slot in one session, without removing them from the slot.

    Raises:
        DatabaseError: the server refuses or cannot be reached, or another session reads the slot.
    """

    def __init__(
        self,
        engine: Engine,
        slot: str,
        publication: str,
        most: int,
        explain: Callable[[SQLAlchemyError], DatabaseError],
    ) -> None:
        statement = (
            "SELECT data FROM pg_logical_slot_peek_binary_changes"
            "(%s, NULL, %s, 'proto_version', '1', 'publication_names', %s)"
        )
        quoted = '"' + publication.replace('"', '""') + '"'
        self._explained = explain
        try:
            self._connection = engine.connect().execution_options(stream_results=True, yield_per=CHUNK)
            self._rows = self._connection.exec_driver_sql(statement, (slot, most, quoted))
        except SQLAlchemyError as error:
            raise explain(error) from error

    @property
    def driver_connection(self) -> Any:
        """The underlying connection of psycopg."""
        return self._connection.connection.driver_connection

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages. Raise a DatabaseError if the server is gone."""
        try:
            for row in self._rows:
                yield bytes(row[0])
        except SQLAlchemyError as error:
            raise self._explained(error) from error

    def close(self) -> None:
        """Close the session; ignore an error of a connection that is gone."""
        with suppress(SQLAlchemyError):  # the connection is gone
            self._connection.close()


def text_values(connection: Any, types: Sequence[int]) -> list[Any]:
    """Return one function per column that converts its text to a value, as the driver does for queries.

    Args:
        connection: the connection of psycopg.
        types: the type OIDs of the columns.
    """
    from psycopg.adapt import Transformer
    from psycopg.pq import Format

    transformer = Transformer(connection)
    return [transformer.get_loader(kind, Format.TEXT).load for kind in types]
