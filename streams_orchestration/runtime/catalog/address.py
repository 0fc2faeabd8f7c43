"""Finds the catalog of a state directory: the one that STREAMS_CATALOG names, else the file in the directory."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from streams_orchestration.runtime.catalog.database import Database
from streams_orchestration.runtime.catalog.postgresql import PostgresqlDatabase
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.errors.errors import CATALOG, CatalogPlaceError
from streams_orchestration.runtime.storage.home import Home

BUSY_SECONDS = 20.0
"""Seconds that a write transaction waits for the write lock."""


def database_of(home: Home, *, busy_seconds: float = BUSY_SECONDS) -> Database:
    """Return the database that STREAMS_CATALOG names, else the file in the state directory; it is not opened.

    Args:
        home: the state directory.
        busy_seconds: the seconds that a writer waits for its turn.

    Raises:
        CatalogPlaceError: STREAMS_CATALOG cannot be used, or names another catalog than the file that the state
            directory has; see also `read_catalog_url`.
    """
    url = read_catalog_url(home)
    if home.catalog.exists() and url.database != str(home.catalog):
        message = f"{home.root} has a catalog of its own, {home.catalog.name}, with the applications deployed there"
        remedy = "Unset the variable, or use another state directory (STREAMS_HOME)."
        raise CatalogPlaceError(message, remedy)
    if url.get_backend_name() == "sqlite":
        return SqliteDatabase.at(url, busy_seconds)
    if url.get_backend_name() == "postgresql":
        return PostgresqlDatabase.at(url, busy_seconds)
    message = f"{url.drivername} is not supported; use postgresql or sqlite"
    raise CatalogPlaceError(message)


def read_catalog_url(home: Home) -> URL:
    """Return the address of a home's catalog: STREAMS_CATALOG, or the file in the home if that is empty or not set.

    Raises:
        CatalogPlaceError: the value of STREAMS_CATALOG is not an address; or it is not set, but the home has recorded
            that its catalog is somewhere else.
    """
    text = home.environment.get(CATALOG)
    if not text:
        if home.place.exists():
            message = f"it is not set, but the catalog of {home.root} is in {home.place.read_text().strip()}"
            raise CatalogPlaceError(message, "Set it to that address, with its password if it needs one.")
        return URL.create("sqlite", database=str(home.catalog))
    if text.startswith("postgres://"):
        text = text.replace("postgres://", "postgresql://", 1)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        message = "it is not an address such as postgresql://user@host/database or sqlite:////directory/catalog.db"
        raise CatalogPlaceError(message) from None  # the text may hold a password
    if "@" in (url.host or ""):  # the end of a password, which no message may repeat
        message = "the part before its host has an @ that is not encoded; write %40"
        raise CatalogPlaceError(message, "Write %40 for an @ in the password, and %2F for a /.")
    return url
