"""The revision of a catalog's tables, and the check that this version of the product can use them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from streams_orchestration.model.brief import short_list
from streams_orchestration.runtime.errors.errors import CatalogVersionError

REVISIONS: tuple[str, ...] = ("0.1.0",)
"""The revisions of all releases, oldest first: each is named after the release that brought its migration."""

VERSION_TABLE = "catalog_version"
_version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))
_REVISION = select(_version.c.version_num)


def find_product_revision() -> str:
    """Return the revision that this version of the product uses."""
    return REVISIONS[-1]


def is_upgradable_revision(revision: str | None) -> bool:
    """Return True if tables of this revision can be upgraded; None is the revision of no tables."""
    return revision in REVISIONS[:-1]


def write_version(connection: Connection) -> None:
    """Create the table of the revision, and record in it that the tables have the newest one."""
    _version.create(connection)
    connection.execute(_version.insert().values(version_num=find_product_revision()))


def has_version(connection: Connection) -> bool:
    """Return True if the database has the table of a catalog's revision."""
    return inspect(connection).has_table(VERSION_TABLE)


def read_version(connection: Connection) -> str | None:
    """Return the revision of the tables; None if the tables have none.

    Raises:
        DBAPIError: there is no catalog.
    """
    return connection.scalar(_REVISION)


def check_version(place: object, revision: str) -> None:
    """Refuse tables of another revision.

    Raises:
        CatalogVersionError: the revisions differ; the message says if this one is older or unknown, and what to do.
    """
    if revision == find_product_revision():
        return
    if is_upgradable_revision(revision):
        message = (
            f"{place}: the catalog was made by an older version of the product ({revision}, this one has "
            f"{find_product_revision()}). `streams catalog upgrade` upgrades it to this version and keeps its content."
        )
    else:
        message = (
            f"{place}: the catalog was made by another version of the product ({revision}; this one knows "
            f"{', '.join(REVISIONS)}). Use that version, or start over in another state directory (STREAMS_HOME) or "
            "database (STREAMS_CATALOG)."
        )
    raise CatalogVersionError(message)


def check_free(place: object, connection: Connection, names: Collection[str]) -> None:
    """Refuse to create a catalog in a database that has other tables with the names of its tables.

    Raises:
        CatalogVersionError: there are such tables; the message names them.
    """
    if taken := sorted(set(inspect(connection).get_table_names()) & set(names)):
        message = (
            f"{place}: there are tables with the names of catalog tables ({short_list(taken)}), but without a "
            "revision. Use another state directory (STREAMS_HOME) or database (STREAMS_CATALOG), or drop them."
        )
        raise CatalogVersionError(message)
