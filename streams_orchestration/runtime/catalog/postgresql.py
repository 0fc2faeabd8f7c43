"""A catalog in a schema of a PostgreSQL database."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from streams_orchestration import world
from streams_orchestration.runtime.catalog.changes import ANYTHING, CommitListener, DescriptorListener
from streams_orchestration.runtime.catalog.database import Database, Mode, SharedLock, reason_of
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import (
    CATALOG,
    CatalogBusyError,
    CatalogError,
    CatalogLostError,
    CatalogMissingError,
    CatalogPlaceError,
    CatalogUnavailableError,
)

SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
"""Pattern for the name of the schema."""
IDLE_TRANSACTION_SECONDS = 10
"""Seconds after which the server ends a session that is idle in a transaction, so that no dead client keeps a lock."""
NETWORK = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3}
"""Connection settings with which a server that is silent counts as lost after some 15 seconds."""
UNACKNOWLEDGED_MILLISECONDS = 15_000
"""Milliseconds after which a connection with unacknowledged data counts as lost."""
CREATION = zlib.crc32(b"streams_orchestration catalog")
"""Number of the advisory lock for making the tables."""
LONGEST_NAME = 1000
"""The longest name of a unit, in characters, that is sure to fit into a notification."""

LOCK = "55P03"
"""SQLSTATE of a lock that was not free in time."""
SERIALIZATION = ("40001", "40P01")
"""SQLSTATEs of transactions that failed because of another one."""
TEMPORARY = ("08", "57P", "53", "25006", "25P03", "58")
"""SQLSTATEs of temporary errors: connections, start-up and shutdown, full resources, a standby, idle sessions, disks.
"""
REFUSED = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf", "permission denied")
MISSING = ("3F000", "42P01")
"""SQLSTATEs of a missing schema or table."""

engines: dict[tuple[str, float], Engine] = {}
_lock = world.Lock()


class PostgresqlDatabase(Database):
    """A catalog in one schema, which the connection's search path selects.

    All objects of a process with the same address and waiting time share their connections.
    """

    names_units = True

    def __init__(self, url: URL, schema: str, busy_seconds: float) -> None:
        self.schema = schema
        self.name = _name(url, schema)
        self._busy_seconds = busy_seconds
        key = url.render_as_string(hide_password=False), busy_seconds
        with _lock:
            if key not in engines:
                engines[key] = _engine(url, schema, busy_seconds)
            self.engine = engines[key]

    @classmethod
    def at(cls, url: URL, busy_seconds: float) -> PostgresqlDatabase:
        """Return the database of an address, with the schema that it names, or `streams`.

        Raises:
            CatalogPlaceError: the name of the schema, or the driver, cannot be used.
        """
        if url.drivername not in ("postgresql", "postgresql+psycopg"):
            message = f"{url.drivername} is not supported; use postgresql"
            raise CatalogPlaceError(message)
        schema = url.query.get("schema", "streams")
        if not (isinstance(schema, str) and SCHEMA.fullmatch(schema)):
            message = "schema must be one name of lower case letters, digits and _"
            raise CatalogPlaceError(message)
        return cls(url, schema, busy_seconds)

    def begin_statement(self, mode: Mode, unit: str = "") -> str:
        """Return the statement that begins a transaction and takes its locks.

        The lock for all units is a table lock; the lock for one unit is an advisory lock. A transaction takes the table
        lock first and the unit's lock second, never for more than one unit, and writes rows of that unit only, so no
        two transactions can wait for each other.
        """
        if mode == "read":
            return "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        if mode == "write":
            return "BEGIN ISOLATION LEVEL READ COMMITTED; LOCK TABLE catalog_version IN EXCLUSIVE MODE"
        if mode == "unit":
            return (
                "BEGIN ISOLATION LEVEL READ COMMITTED; LOCK TABLE catalog_version IN ROW EXCLUSIVE MODE; "
                f"SELECT pg_advisory_xact_lock({_number(self.schema, unit)})"
            )
        if mode == "note":
            return "BEGIN ISOLATION LEVEL READ COMMITTED"
        return f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({CREATION})"

    def synchronise(self, connection: Connection) -> None:
        """Set `clock` by the server's clock, unless that was done a short while ago."""
        if clock.is_stale():
            began = world.boot_time()
            seconds = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
            clock.read(float(seconds), began)

    def identity(self) -> str:
        """Return the catalog's name.

        If the catalog is created again, the ids of its applications' runs differ anyway.
        """
        return self.name

    def open_listener(self) -> CommitListener:
        """Open a connection that listens for notifications."""
        from psycopg import Error

        try:
            return NotificationListener(self.engine, self.schema)
        except (DBAPIError, Error) as error:
            raise OSError(str(error)) from error

    def notify_listeners(self, connection: Connection, changed: str) -> None:
        """Notify the listeners in a separate transaction, since notifying transactions commit one by one.

        A failure is ignored. A name of more than `LONGEST_NAME` characters is sent as `ANYTHING`.
        """
        from psycopg import Error

        driver: Any = connection.connection.dbapi_connection
        name = changed if len(changed) <= LONGEST_NAME else ANYTHING
        # a waiting process polls by itself after a while; the next transaction meets the lost connection
        with suppress(Error):
            driver.execute("SELECT pg_notify(%s, %s)", (self.schema, name))

    def exists(self) -> bool:
        """Return True: only the server knows whether the database exists."""
        return True

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Do nothing: a transaction creates the schema and its tables."""

    def prepare(self, connection: Connection) -> None:
        """Create the schema if it is missing."""
        connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')

    @contextmanager
    def together(self, connection: Connection) -> Generator[None]:
        """Send the statements of the block in the driver's pipeline; convert the driver's errors to SQLAlchemy's."""
        from psycopg import Error

        driver: Any = connection.connection.dbapi_connection
        try:
            with driver.pipeline():
                yield
        except Error as error:
            lost = driver.closed
            if lost:
                connection.invalidate(error)
            raise DBAPIError.instance(None, None, error, Error, connection_invalidated=lost) from error

    def shared_lock(self, name: str, holder: str) -> SharedLock:
        """Return an advisory lock of the server, with a connection of its own."""
        return AdvisoryLock(self, _number(self.schema, name), holder)

    def sound(self, connection: Connection) -> bool:
        """Return True if the transaction can be committed, by the state that the server reported to the driver."""
        from psycopg.pq import TransactionStatus

        driver: Any = connection.connection.dbapi_connection
        return driver.info.transaction_status != TransactionStatus.INERROR

    def doubtful(self, error: DBAPIError) -> bool:
        """Return True if the connection was lost before the server answered the commit."""
        code = getattr(error.orig, "sqlstate", None) or ""
        return error.connection_invalidated or code.startswith(("08", "57P"))

    def refusal(self, error: DBAPIError) -> CatalogError:
        """Return the catalog error for the SQLSTATE of an error.

        There are errors for a lock that was not free in time, a transaction that failed because of another one, missing
        tables, and a lost connection or another temporary fault; any other SQLSTATE gives a CatalogError that names the
        server's log. An error without a SQLSTATE comes from a server that could not be reached or refused the
        connection, or from the driver.
        """
        code, reason = getattr(error.orig, "sqlstate", None) or "", reason_of(error)
        if code == LOCK:
            return CatalogBusyError(self.name, self._busy_seconds, "in pg_locks and pg_stat_activity")
        if code in SERIALIZATION:
            message = f"{self.name}: another writer came first ({reason}). Nothing was changed; try again."
            return CatalogUnavailableError(message)
        if code in MISSING:
            return CatalogMissingError(f"{self.name}: there is no catalog ({reason})")
        if error.connection_invalidated or code.startswith(TEMPORARY):
            return CatalogLostError(self.name, reason)
        if not code and not isinstance(error, ProgrammingError):
            return _unreachable(self.name, reason)
        message = (
            f"{self.name}: the catalog cannot be used: {reason}. Read the log of the server, and check the "
            "privileges of the role."
        )
        return CatalogError(message)


class NotificationListener(DescriptorListener):
    """A listener with a connection of its own, on which the server notifies of commits.

    Its creation connects, and raises the driver's error, or SQLAlchemy's, if the server cannot be reached.
    """

    def __init__(self, engine: Engine, channel: str) -> None:
        pooled = engine.raw_connection()
        self._driver: Any = pooled.dbapi_connection
        pooled.detach()
        self._driver.execute(f'LISTEN "{channel}"')
        super().__init__()

    def fileno(self) -> int:
        """Return the descriptor of the connection."""
        return self._driver.fileno()

    def take(self) -> Collection[str]:
        """Return the units that the server has notified of; raise OSError if the server is gone."""
        from psycopg import Error

        try:
            return {notification.payload for notification in self._driver.notifies(timeout=0)}
        except Error as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        """Close the connection that listens."""
        super().close()
        self._driver.close()


class AdvisoryLock(SharedLock):
    """An advisory lock on a number, with a connection of its own.

    The server releases the lock when the connection ends.
    """

    def __init__(self, database: PostgresqlDatabase, number: int, holder: str) -> None:
        self.place = database.name
        self._database, self._number, self._name = database, number, holder
        self._driver: Any = None
        self._taken = False

    def take(self) -> bool:
        """Take the lock if it is free, and return True if this process holds it; the first call connects."""
        if not self._taken:
            ((self._taken,),) = self._rows("SELECT pg_try_advisory_lock(%s)", (self._number,))
        return self._taken

    def holder(self) -> tuple[str, float | None] | None:
        """Return the name of the holder's session, and its start in unix seconds; None if the lock is free."""
        halves = (self._number >> 32) & 0xFFFFFFFF, self._number & 0xFFFFFFFF
        rows = self._rows(
            "SELECT a.application_name, extract(epoch FROM a.backend_start)::float8 FROM pg_locks l "
            "JOIN pg_stat_activity a USING (pid) JOIN pg_database d ON d.oid = l.database "
            "WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database() "
            "AND l.classid::bigint = %s AND l.objid::bigint = %s AND l.objsubid = 1",
            halves,
        )
        return rows[0] if rows else None

    def close(self) -> None:
        """Release the lock and close the connection; without the release the server would free the lock later."""
        from psycopg import Error

        if self._driver is not None:
            if self._taken:
                with suppress(Error):
                    self._driver.execute("SELECT pg_advisory_unlock(%s)", (self._number,))
            self._driver.close()
        self._driver, self._taken = None, False

    def _rows(self, statement: str, parameters: tuple[object, ...]) -> list[Any]:
        from psycopg import Error

        try:
            if self._driver is None:
                pooled = self._database.engine.raw_connection()
                self._driver = pooled.dbapi_connection
                pooled.detach()
                self._driver.execute("SELECT set_config('application_name', %s, false)", (self._name,))
            return self._driver.execute(statement, parameters).fetchall()
        except DBAPIError as error:
            raise self._database.error(error) from error
        except Error as error:
            wrapped = DBAPIError.instance(None, None, error, Error)
            assert isinstance(wrapped, DBAPIError)
            raise self._database.error(wrapped) from error


def _number(schema: str, name: str) -> int:
    """Return the number of an advisory lock; two units with the same number only wait for each other."""
    return int.from_bytes(hashlib.blake2b(f"{schema}/{name}".encode(), digest_size=8).digest(), signed=True)


def _unreachable(name: str, reason: str) -> CatalogError:
    """Return the error for a connection that could not be made: a CatalogLostError, unless the server has refused it.

    The driver has no SQLSTATE for such an error.
    """
    if any(sign in reason for sign in REFUSED):
        return CatalogError(f"{name}: the server refused the connection: {reason}. Correct {CATALOG}.")
    return CatalogLostError(name, reason)


def _name(url: URL, schema: str) -> str:
    """Return the name of the catalog for messages: its address without password and options."""
    host = url.host or url.query.get("host") or ""
    host = host if isinstance(host, str) else ",".join(host)
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{host}{port}/{url.database or ''}?schema={schema}"


def _engine(url: URL, schema: str, busy_seconds: float) -> Engine:
    query = {name: value for name, value in url.query.items() if name != "schema"}
    settings = {
        "lock_timeout": f"{int(busy_seconds * 1000)}",
        "idle_in_transaction_session_timeout": f"{IDLE_TRANSACTION_SECONDS * 1000}",
        # with these settings the server notices clients that vanished
        "tcp_keepalives_idle": "10",
        "tcp_keepalives_interval": "5",
        "tcp_keepalives_count": "3",
        "search_path": f'"{schema}"',
    }
    user_options = query.get("options", "")
    options = " ".join([str(user_options), *(f"-c {name}={value}" for name, value in settings.items())]).strip()
    arguments: dict[str, Any] = {
        **NETWORK,
        "tcp_user_timeout": UNACKNOWLEDGED_MILLISECONDS,
        "application_name": "streams",
    }
    arguments = {name: value for name, value in arguments.items() if name not in query} | {"options": options}
    return create_engine(
        url.set(drivername="postgresql+psycopg", query={k: v for k, v in query.items() if k != "options"}),
        connect_args=arguments,
        isolation_level="AUTOCOMMIT",
        pool_size=2,
        max_overflow=16,
    )


def _forked() -> None:
    """Forget the parent's connections in a forked child, which must neither use nor close them."""
    global _lock  # noqa: PLW0603  a lock that the parent held would never be released here
    _lock = world.Lock()
    for engine in engines.values():
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forked)
