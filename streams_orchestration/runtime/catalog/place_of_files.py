"""The storage of the files that a catalog names; every process must use the same storage."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.errors import StorageSettingError
from streams_orchestration.runtime.storage.store import Store

OWNER = "installation"
"""The name of the file in a storage that tells which catalog the storage belongs to."""
_ADDRESS = select(tables.storage.c.address)


def check_place(connection: Connection, store: Store) -> None:
    """Refuse a storage other than the one that has the files of deployed applications.

    Raises:
        StorageSettingError: the storages differ; the message names both.
    """
    known = _recorded_address(connection)
    if known is not None and known != store.address and _is_used(connection):
        there = f"in {known}" if known else "in the state directory"
        named = f"names {store.address}" if store.address else "is not set"
        message = f"STREAMS_STORAGE {named}, but the catalog's files are {there}"
        remedy = f"Set it to {known}" if known else "Unset it"
        raise StorageSettingError(
            message, f"{remedy}; to move an application to another place, use an exported savepoint."
        )


def is_kept(connection: Connection, store: Store) -> bool:
    """Return True if the catalog has recorded this storage."""
    return _recorded_address(connection) == store.address


def keep_place(connection: Connection, store: Store) -> None:
    """Record the storage in the catalog, unless the files of a deployed application are in another one.

    Args:
        connection: a connection in a write transaction.
        store: the storage that this process uses.

    Raises:
        StorageSettingError: the files of a deployed application are in another storage.
    """
    check_place(connection, store)
    connection.execute(delete(tables.storage))
    connection.execute(insert(tables.storage).values(address=store.address))


def claim(store: Store, installation: str) -> None:
    """Mark an object store as belonging to this catalog, unless it has a mark; do nothing for the state directory.

    Two catalogs may have an application of the same name, and each removes files that it does not know.

    Raises:
        StorageSettingError: the storage belongs to another catalog.
        OSError: the storage cannot be used.
    """
    if not store.address:
        return
    try:
        owner = store.read(OWNER).decode(errors="replace")
    except FileNotFoundError:
        store.write(OWNER, installation.encode())
        store.sync([OWNER])
        return
    if owner != installation:
        message = f"STREAMS_STORAGE: {store.address} holds the files of another catalog, which would be mixed up"
        raise StorageSettingError(
            message,
            f"Name a directory of its own, as {store.address}-test. If the other catalog is gone for good, remove "
            f"{store.title(OWNER)}.",
        )


def installation_of(connection: Connection) -> str:
    """Return the id of the catalog, which no other catalog has."""
    return str(connection.scalar(select(tables.installation.c.id)))


def _recorded_address(connection: Connection) -> str | None:
    return connection.scalar(_ADDRESS)


def _is_used(connection: Connection) -> bool:
    return connection.execute(select(tables.application.c.name).limit(1)).first() is not None
