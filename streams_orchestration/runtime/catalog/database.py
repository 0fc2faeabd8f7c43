"""The interface of a database that can hold a catalog: it begins transactions and translates the driver's errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import DBAPIError, IntegrityError

from streams_orchestration.runtime.catalog.changes import CommitListener
from streams_orchestration.runtime.errors.errors import CatalogError

Mode = Literal["read", "write", "unit", "note", "create"]


class SharedLock(ABC):
    """A lock that processes of all machines see; the database releases it when the process that holds it ends."""

    place: str
    """The place of the lock, for messages."""

    @abstractmethod
    def take(self) -> bool:
        """Try to take the lock; return True if this process holds it now.

        Raises:
            CatalogError: the database cannot be reached.
        """

    @abstractmethod
    def holder(self) -> tuple[str, float | None] | None:
        """Return the name of the holder, and the unix seconds since when it is connected, if that is known.

        Return None if no process holds the lock.

        Raises:
            CatalogError: the database cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the lock, if this process holds it."""


class Database(ABC):
    """A database with the tables of one catalog."""

    name: str
    """The name for messages: the file, or the address without a password."""
    engine: Engine
    names_units = False
    """True if a notification of the database names the unit that has changed."""

    def begin(self, mode: Mode, unit: str = "") -> tuple[Connection, RootTransaction]:
        """Begin a transaction on a connection from the pool, with `synchronise` and the `begin_statement`.

        Args:
            mode: the mode of the transaction.
            unit: for the mode `unit`, application and unit as one text.

        Raises:
            DBAPIError: the database cannot be reached, or the statement failed; the connection is closed.
        """
        connection = self.engine.connect()
        try:
            # a driver that begins by itself could not say how, so both are in autocommit
            transaction = connection.begin()
            self.synchronise(connection)
            # not a listener to the event `begin`: an engine with one calls listeners around each of its statements
            connection.exec_driver_sql(self.begin_statement(mode, unit), execution_options={"no_parameters": True})
        except DBAPIError:
            connection.close()
            raise
        return connection, transaction

    @abstractmethod
    def begin_statement(self, mode: Mode, unit: str = "") -> str:
        """Return the statement that begins a transaction.

        A `read` transaction sees one consistent state until its end. What a `write` transaction reads stays true until
        it commits, since writers take turns. A `unit` transaction gives the same guarantee for the rows of one unit
        only, and excludes only `write` and other writers of that unit, where the database can do so. A `note` is one
        statement, which does not wait for other writers if the database can do so. `create` also excludes other
        writers, and needs no table.

        Args:
            mode: the mode of the transaction.
            unit: for the mode `unit`, application and unit as one text.
        """

    @abstractmethod
    def synchronise(self, connection: Connection) -> None:
        """Set `clock` to the database's time before a transaction begins, if the database has a clock of its own."""

    @abstractmethod
    def identity(self) -> Hashable | None:
        """Return a value that differs if the database's file is replaced by another one; None if there is no file.

        For a database of a server, the value is always the same.
        """

    @abstractmethod
    def exists(self) -> bool:
        """Return True if the database exists, or if only its server knows that."""

    @abstractmethod
    def create(self, fill: Callable[[Connection], None]) -> None:
        """Create a missing file with its tables, so that no process sees it without them.

        Do nothing for a database that only its server creates.

        Args:
            fill: creates the tables, in a transaction of mode `create`.

        Raises:
            CatalogError: the file cannot be written.
        """

    @abstractmethod
    def prepare(self, connection: Connection) -> None:
        """Create the container of the tables, such as a schema, in a transaction of mode `create`."""

    @abstractmethod
    def open_listener(self) -> CommitListener:
        """Open a listener, which is notified after every transaction of mode `write` or `unit`.

        Raises:
            OSError: the listener cannot be opened now.
        """

    @abstractmethod
    def notify_listeners(self, connection: Connection, changed: str) -> None:
        """Notify the listeners; called after the commit of a transaction of mode `write` or `unit`.

        Args:
            connection: the connection of the transaction.
            changed: application and unit, as one text, or `ANYTHING`.
        """

    def together(self, connection: Connection) -> AbstractContextManager[None]:
        """Return a context whose statements may be sent without waiting for each answer; they return no rows."""
        return nullcontext()

    def shared_lock(self, name: str, holder: str) -> SharedLock | None:
        """Return an untaken lock that all machines see; None if only this machine can reach the database.

        Args:
            name: the name of the lock.
            holder: the name of this process for others that wait for the lock; some 60 characters.
        """
        del name, holder
        return None

    def sound(self, connection: Connection) -> bool:
        """Return True if the transaction can still be committed; a server rolls it back after a failed statement."""
        return True

    def damage(self, *, indexes: bool = False) -> str | None:
        """Return a description of the database's damage; None if it is sound, or if its server checks that itself.

        Args:
            indexes: True to compare the indexes with their tables, too, which takes longer.
        """
        return None

    @abstractmethod
    def doubtful(self, error: DBAPIError) -> bool:
        """Return True if a commit that failed with this error may still have taken effect."""

    @abstractmethod
    def refusal(self, error: DBAPIError) -> CatalogError:
        """Return the catalog error, with its message, for an error of a statement."""

    def error(self, error: DBAPIError) -> CatalogError:
        """Return the catalog error for an error of the driver, with the cause, the place and the remedy."""
        if isinstance(error, IntegrityError):
            message = (
                f"{self.name}: two processes wrote the same entry ({reason_of(error)}); nothing was changed, try again"
            )
            return CatalogError(message)
        return self.refusal(error)


def reason_of(error: DBAPIError) -> str:
    """Return the driver's message in one line, without statements and parameters."""
    lines = (line.strip() for line in str(error.orig).splitlines())
    return "; ".join(line for line in lines if line)
