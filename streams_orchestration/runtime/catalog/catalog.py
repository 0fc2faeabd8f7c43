"""The catalog: the SQL database that is the authority on the state of every application."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import DBAPIError

from streams_orchestration import world
from streams_orchestration.model.brief import short_list
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog.address import BUSY_SECONDS, database_of
from streams_orchestration.runtime.catalog.changes import Changes, open_file_listener
from streams_orchestration.runtime.catalog.database import Mode, reason_of
from streams_orchestration.runtime.catalog.place_of_files import check_place
from streams_orchestration.runtime.catalog.tables import create_tables, installation, metadata
from streams_orchestration.runtime.catalog.versions import (
    check_free,
    check_version,
    has_version,
    read_version,
    write_version,
)
from streams_orchestration.runtime.errors.errors import (
    CatalogDamagedError,
    CatalogError,
    CatalogLostError,
    CatalogMissingError,
    CatalogPlaceError,
    CommitUnknownError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store

RETRY_SECONDS = 5.0
"""Seconds for which a transaction is tried again while the database cannot be reached."""
PAUSES = Pauses(first=0.02, longest=1.0)
"""Pauses between two attempts to connect."""
UNEXPECTED = (LookupError, TypeError, ValueError, AttributeError)
"""Types of errors that can come from reading a damaged database; see `explained`."""
_turns = world.Local()


def has_turn() -> bool:
    """Return True if this thread is in a transaction that may write, for which other writers may have to wait.

    Such a transaction must start no process and touch no file; such work is done before or after the transaction. Tests
    check this.
    """
    return getattr(_turns, "held", False)


class Catalog:
    """The transactions on the catalog of one home. Readers never wait, and writers take turns.

    A write transaction takes the write lock when it begins, so what it reads stays true until it commits. A transaction
    of `write_unit` takes turns only with others of the same unit, and with transactions of `write`.

    An error of the driver within the block of a transaction becomes a CatalogError. An error that damage of the
    database explains becomes a CatalogDamagedError (`explained`). Any other error of the block is raised as it is.
    """

    def __init__(
        self,
        home: Home,
        *,
        busy_seconds: float = BUSY_SECONDS,
        patience: float = RETRY_SECONDS,
        notified: Path | None = None,
    ) -> None:
        """Create the catalog's object without opening the database.

        Args:
            home: the state directory of the catalog.
            busy_seconds: the seconds that a writer waits for its turn.
            patience: the seconds for which a database that cannot be reached is tried again.
            notified: a file whose times are set at changes, by a process that listens to the database for this one.

        Raises:
            CatalogPlaceError: STREAMS_CATALOG cannot be used.
        """
        self.home = home
        """The state directory."""
        self._database = database_of(home, busy_seconds=busy_seconds)
        self._patience = patience
        self.name = self._database.name
        self.changes = Changes(
            self._database.open_listener if notified is None else partial(open_file_listener, notified)
        )
        """Wakes the threads of this process that wait for a write of any process."""

    @property
    def store(self) -> Store:
        """The store of the files that the catalog names."""
        return self.home.store

    def make(self) -> None:
        """Create the catalog's tables, unless another process has just done so.

        New tables get the newest revision and a new id of the installation. If the catalog is not in the
        state directory, write its address into a file there.

        Raises:
            CatalogPlaceError: the home has its catalog somewhere else.
            CatalogVersionError: the database has tables with names of the catalog's tables, but no revision.
            CatalogError: the database cannot be written.
            OSError: the file with the address cannot be read or written.
        """
        self.refuse_other_place()
        self._database.create(self._fill)
        with self._transaction("create") as connection:
            self._fill(connection)
        if not self.is_recorded:
            write_whole(self.home.place, f"{self.name}\n")

    def refuse_other_place(self) -> None:
        """Raise CatalogPlaceError if the home has recorded that its catalog is somewhere else."""
        place = self.home.place
        if place.exists() and (before := place.read_text().strip()) != self.name:
            message = f"{self.name} is not the catalog of {self.home.root}, which is in {before}"
            raise CatalogPlaceError(
                message, f"Set STREAMS_CATALOG to that catalog. If it is gone for good, remove {place}."
            )

    @property
    def is_recorded(self) -> bool:
        """True if the state directory has the catalog, or the file with its address."""
        return self.name == str(self.home.catalog) or self.home.place.exists()

    def _fill(self, connection: Connection) -> None:
        self._database.prepare(connection)
        if not has_version(connection):
            check_free(self.name, connection, metadata.tables)
            create_tables(connection)
            connection.execute(installation.insert().values(id=world.new_id()))
            write_version(connection)

    @property
    def exists(self) -> bool:
        """True if there is a catalog, which the first deployment creates; False while it is still being created.

        Raises:
            CatalogDamagedError: the catalog's file is empty, though there are data of applications.
            CatalogError: the database cannot be read, is not a catalog, or is a catalog of another version.
            StorageSettingError: the catalog's files are in another place than STREAMS_STORAGE says.
        """
        if not self._database.exists():
            return False
        with suppress(CatalogMissingError), self.read() as connection:
            if (version := read_version(connection)) is not None:
                check_version(self.name, version)
                check_place(connection, self.store)
                return True
        self._refuse_leftovers()
        return False

    def _refuse_leftovers(self) -> None:
        """Raise CatalogDamagedError if the catalog's file is empty while there are streams and states of applications.

        A missing file raises nothing: somebody has removed it, and the next deployment asks what to do with the data. A
        file that is being created is never empty; see `SqliteDatabase.create`.
        """
        if not self.home.catalog.exists():
            return
        data = self.home.data("")
        try:
            names = sorted(each.name for each in data.iterdir())
        except FileNotFoundError:
            return
        if names:
            raise CatalogDamagedError(self.name, f"the catalog is empty, but {data} has data of {short_list(names)}")

    def check(self) -> None:
        """Check that the database is sound, before a long operation that relies on it; a missing one passes.

        A check that takes more than some seconds ends with what it has found; see `Database.damage`.

        Raises:
            CatalogDamagedError: the database is damaged.
        """
        if self._database.exists() and (damage := self._database.damage()) is not None:
            raise CatalogDamagedError(self.name, damage)

    def explained(self, error: Exception) -> Exception:
        """Check the database for damage that explains an unexpected error, and return a CatalogDamagedError for it.

        Without damage or without a database, return the error itself; also if it is a StreamsRuntimeError.
        """
        if isinstance(error, StreamsRuntimeError) or not self._database.exists():
            return error
        damage = self._database.damage(indexes=True)
        return error if damage is None else CatalogDamagedError(self.name, damage)

    @property
    def names_units(self) -> bool:
        """True if a change notification names the unit that changed."""
        return self._database.names_units

    def version(self) -> str | None:
        """Return the revision of the catalog's tables; None if there are no tables."""
        if not self._database.exists():
            return None
        try:
            with self.read() as connection:
                return read_version(connection)
        except CatalogMissingError:
            return None

    def identity(self) -> Hashable | None:
        """Return a value that differs if the catalog's file is replaced by another one; see `Database.identity`."""
        return self._database.identity()

    def read(self) -> AbstractContextManager[Connection]:
        """Return a transaction that reads one consistent state of the catalog.

        Raises:
            CatalogUnavailableError: the catalog cannot be used at present; the call may be repeated.
            CatalogError: the catalog cannot be used.
        """
        return self._transaction("read")

    def write(self) -> AbstractContextManager[Connection]:
        """Return a write transaction, which commits when the block ends and changes nothing when the block raises.

        The commit is notified to the processes that wait for a change.

        Raises:
            CommitUnknownError: the connection was lost during the commit, which may have succeeded.
            CatalogUnavailableError: nothing was changed; the call may be repeated.
            CatalogError: nothing was changed; the catalog cannot be used.
        """
        return self._transaction("write")

    def write_unit(self, application: str, unit: str) -> AbstractContextManager[Connection]:
        """Return a write transaction that takes turns only with writers of the same unit, and with `write`.

        It may write the rows of the unit and of its PEs, and the rows that these PEs have written. The rows of other
        units that it reads may change before it commits.

        Raises:
            CommitUnknownError: the connection was lost during the commit, which may have succeeded.
            CatalogUnavailableError: nothing was changed; the call may be repeated.
            CatalogError: nothing was changed; the catalog cannot be used.
        """
        return self._transaction("unit", f"{application}/{unit}")

    def together(self, connection: Connection) -> AbstractContextManager[None]:
        """Return a context that sends its statements in one batch if the database can; the statements return no rows.

        Raises:
            DBAPIError: a statement failed; those after it were not run.
        """
        return self._database.together(connection)

    def note(self) -> AbstractContextManager[Connection]:
        """Return a transaction of one statement, on rows that only this process writes, such as a heartbeat.

        If the database can do so, the transaction does not wait for other writers. Its commit is not notified.

        Raises:
            CatalogUnavailableError: the statement may be repeated.
            CatalogError: nothing was changed; the catalog cannot be used.
        """
        return self._transaction("note")

    def close(self) -> None:
        """Close the idle connections, and end all waits for a change."""
        self.changes.close()
        self._database.engine.dispose()

    @contextmanager
    def _transaction(self, mode: Mode, unit: str = "") -> Generator[Connection]:
        connection, transaction = self._begin(mode, unit)
        with connection:
            try:
                before = has_turn()
                _turns.held = before or mode != "read"
                try:
                    yield connection
                finally:
                    _turns.held = before
            except BaseException as error:
                with suppress(DBAPIError):
                    transaction.rollback()
                if isinstance(error, DBAPIError):
                    raise self._database.error(error) from error
                if isinstance(error, UNEXPECTED) and (explained := self.explained(error)) is not error:
                    raise explained from error
                raise
            if not self._database.sound(connection):
                transaction.rollback()
                message = f"{self.name}: a transaction was not committed, since a statement in it had failed; try again"
                raise CatalogError(message)
            try:
                transaction.commit()
            except DBAPIError as error:
                with suppress(DBAPIError):
                    transaction.rollback()
                if mode != "read" and self._database.doubtful(error):
                    raise CommitUnknownError(self.name, reason_of(error)) from error
                raise self._database.error(error) from error
            if mode in ("write", "unit"):
                self._database.notify_listeners(connection, unit)

    def _begin(self, mode: Mode, unit: str) -> tuple[Connection, RootTransaction]:
        """Open a transaction. A lost connection is replaced, which is safe because nothing was done yet."""
        until = world.monotonic() + self._patience
        failures = 0
        while True:
            try:
                return self._database.begin(mode, unit)
            except DBAPIError as error:
                failure = self._database.error(error)
                failures += 1
                if not isinstance(failure, CatalogLostError) or world.monotonic() + PAUSES.after(failures) > until:
                    raise failure from error
            world.sleep(PAUSES.after(failures))
