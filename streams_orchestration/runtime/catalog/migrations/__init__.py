"""Migrations of the catalog's tables, by Alembic: from the revision of any release to the newest one."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from streams_orchestration.runtime.catalog.versions import find_product_revision

SCRIPTS = Path(__file__).parent
"""The directory of Alembic's environment, with a file for each revision in `versions`."""


def migrate(connection: Connection) -> None:
    """Migrate the tables from their revision to the newest one.

    Args:
        connection: a connection in a write transaction, so that all migrations are committed or none.
    """
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, find_product_revision())
