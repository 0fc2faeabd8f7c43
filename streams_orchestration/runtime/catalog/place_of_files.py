"""The one place of the files that a catalog names: every process must use the same."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors import StorageSettingError
from streams_orchestration.runtime.storage.store import Store

OWNER = "installation"
"""Address of the file in a storage that names its catalog."""


def check_place(connection: Connection, store: Store) -> None:
    """Refuse another place than that where the files of deployed applications are.

    Raises:
        StorageSettingError: names both.
    """
    known = _known(connection)
    if known is not None and known != store.address and _is_used(connection):
        there = f"in {known}" if known else "in the state directory"
        named = f"names {store.address}" if store.address else "is not set"
        message = f"STREAMS_STORAGE {named}, and the files that the catalog names are {there}"
        remedy = f"Set it to {known}" if known else "Unset it"
        raise StorageSettingError(message, f"{remedy}; an exported savepoint brings an application to another place.")


def is_kept(connection: Connection, store: Store) -> bool:
    """Return True if the place is written down."""
    return _known(connection) == store.address


def keep_place(connection: Connection, store: Store) -> None:
    """Write the place down, unless the files of something that is deployed are elsewhere.

    Args:
        connection: in a transaction that writes.
        store: of the process.

    Raises:
        StorageSettingError: see `check_place`.
    """
    check_place(connection, store)
    connection.execute(delete(tables.storage))
    connection.execute(insert(tables.storage).values(address=store.address))


def claim(store: Store, installation: str) -> None:
    """Mark a storage as that of this catalog, unless it is so already.

    Two catalogs may have an application of the same name, and each removes files that it does not know.

    Raises:
        StorageSettingError: the storage is that of another catalog.
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
    """Return the id that tells a catalog from every other one."""
    return str(connection.scalar(select(tables.installation.c.id)))


def _known(connection: Connection) -> str | None:
    return connection.scalar(select(tables.storage.c.address))


def _is_used(connection: Connection) -> bool:
    return connection.execute(select(tables.application.c.name).limit(1)).first() is not None
