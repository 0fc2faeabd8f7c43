"""A database that can hold a catalog: how transactions begin there, and what its errors mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError

from streams_orchestration.runtime.catalog.changes import Bell
from streams_orchestration.runtime.errors import CatalogError

Mode = Literal["read", "write", "unit", "note", "create"]


class SharedLock(ABC):
    """A lock that processes of all machines see; the database takes it from a process that is gone."""

    place: str
    """The place of the lock, for messages."""

    @abstractmethod
    def take(self) -> bool:
        """Take it if it is free; True also when it was taken before.

        Raises:
            CatalogError: the database cannot be reached.
        """

    @abstractmethod
    def holder(self) -> tuple[str, float | None] | None:
        """Return what the holder calls itself, and since when it has been there in unix seconds; None where unknown.

        Raises:
            CatalogError: the database cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Release it, if it was taken."""


class Database(ABC):
    """A place for the tables of one catalog."""

    name: str
    """Name for messages: the file, or the address without a password."""
    engine: Engine
    names_units = False
    """True if its bell names the unit that has changed."""

    def listen(self) -> None:
        """Begin every transaction as its mode says; the mode is an execution option of the connection."""

        # a driver that begins by itself could not say how, so both are in autocommit
        @event.listens_for(self.engine, "begin")
        def _on_begin(connection: Connection) -> None:
            self.synchronise(connection)
            options = connection.get_execution_options()
            begin = self.begin(options.get("mode", "read"), options.get("unit", ""))
            connection.exec_driver_sql(begin, execution_options={"no_parameters": True})

    @abstractmethod
    def begin(self, mode: Mode, unit: str = "") -> str:
        """Return the statement that begins a transaction.

        `read` sees one state all the time. What `write` reads stays true until it commits: writers take turns. `unit`
        promises that for the rows of one unit, and excludes other writers of that unit and `write` only, where the
        database can do so. A `note` is one statement, which does not take its turn where the database can do without.
        `create` excludes other writers, too, and needs no table.

        Args:
            mode: of the transaction.
            unit: of `unit`: application and unit, as one text.
        """

    @abstractmethod
    def synchronise(self, connection: Connection) -> None:
        """Set `clock` by the database's clock before a transaction begins, where that is not this machine's clock."""

    @abstractmethod
    def identity(self) -> Hashable | None:
        """Return a value that differs when another database is put in this one's place; None when there is none."""

    @abstractmethod
    def exists(self) -> bool:
        """Return True if the database exists."""

    @abstractmethod
    def prepare(self, connection: Connection) -> None:
        """Make what the tables lie in, in a transaction of mode `create`."""

    @abstractmethod
    def bell(self) -> Bell:
        """Open the bell that rings after every transaction of mode `write` or `unit`.

        Raises:
            OSError: it cannot be opened now.
        """

    @abstractmethod
    def committed(self, connection: Connection, changed: str) -> None:
        """Ring; called after the commit of a transaction of mode `write` or `unit`.

        Args:
            connection: of the transaction.
            changed: application and unit, as one text, or `ANYTHING`.
        """

    def together(self, connection: Connection) -> AbstractContextManager[None]:
        """Return a context in which statements need not be answered one by one; they give back nothing."""
        return nullcontext()

    def shared_lock(self, name: str, holder: str) -> SharedLock | None:
        """Return a lock for all machines, not taken yet; None where only processes of this machine have the database.

        Args:
            name: of the lock.
            holder: what this process is called by those who wait for it; some 60 characters.
        """
        del name, holder
        return None

    def sound(self, connection: Connection) -> bool:
        """Return True if the transaction can be committed: not after a failed statement, which a server rolls back."""
        return True

    def damage(self, *, indexes: bool = False) -> str | None:
        """Return how the database is damaged; None where it is sound, or its server looks after that.

        Args:
            indexes: whether they are compared with their tables, which takes longer.
        """
        return None

    @abstractmethod
    def doubtful(self, error: DBAPIError) -> bool:
        """Return True if a commit that failed with this error may still have taken effect."""

    @abstractmethod
    def refusal(self, error: DBAPIError) -> CatalogError:
        """Return the catalog error, with its message, for an error of a statement."""

    def error(self, error: DBAPIError) -> CatalogError:
        """Return the catalog error for an error of the driver: what went wrong, where, and what to do."""
        if isinstance(error, IntegrityError):
            message = (
                f"{self.name}: two processes wrote the same entry ({reason_of(error)}); nothing was changed, try again"
            )
            return CatalogError(message)
        return self.refusal(error)


def reason_of(error: DBAPIError) -> str:
    """Return the driver's own words, in one line; statements and parameters are left out."""
    lines = (line.strip() for line in str(error.orig).splitlines())
    return "; ".join(line for line in lines if line)
