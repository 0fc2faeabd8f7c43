"""Migrations of the catalog's tables, by Alembic: from every revision that there was to the newest."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from streams_orchestration.runtime.catalog.versions import NEWEST


def migrate(connection: Connection, revision: str = NEWEST) -> None:
    """Bring the tables from the revision that is written down, or from nothing, to another one.

    Args:
        connection: in a transaction that writes; it commits all or nothing.
        revision: not older than the one that is there.
    """
    command.upgrade(_config(connection), revision)


def stamp(connection: Connection, revision: str) -> None:
    """Write down the revision of tables that were made before revisions were written down."""
    command.stamp(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
