"""The version of a catalog's tables: which one it is, and whether this version of the product can use it."""

from __future__ import annotations

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from streams_orchestration.runtime.errors import CatalogVersionError

REVISIONS = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0016",
    "0015",
    "0017",
)
"""All that there ever were, oldest first; the migrations in `migrations/versions`."""
NEWEST = REVISIONS[-1]
UNVERSIONED = {915179378: "0001"}
"""Value of `PRAGMA user_version` -> revision, for catalogs from before revisions were written down."""

VERSION_TABLE = "catalog_version"
_version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))


def write_version(connection: Connection, revision: str) -> None:
    """Write down the revision of tables that were just made, with the table that it stands in."""
    _version.create(connection)
    connection.execute(_version.insert().values(version_num=revision))


def has_version(connection: Connection) -> bool:
    """Whether tables were made here."""
    return inspect(connection).has_table(VERSION_TABLE)


def read_version(connection: Connection) -> str | None:
    """The revision that is written down.

    Raises:
        DBAPIError: there is no table for it.
    """
    return connection.scalar(select(_version.c.version_num))


def check_version(place: object, revision: str) -> None:
    """Refuse tables of another version of the product.

    Raises:
        CatalogVersionError: says which of the two is newer, and what to do.
    """
    if revision == NEWEST:
        return
    if revision in REVISIONS:
        message = (
            f"{place}: the catalog is of an older version of the product ({revision}, this one has {NEWEST}). "
            "`streams catalog upgrade` brings it to this version; what it holds is kept."
        )
    else:
        message = (
            f"{place}: the catalog was made by another version of the product ({revision}; this one knows "
            f"{', '.join(REVISIONS)}). Use that version, or start anew in another state directory (STREAMS_HOME)."
        )
    raise CatalogVersionError(message)
