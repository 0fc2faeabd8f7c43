"""Catalogs as the first release makes them, and a release after it that is invented.

As long as 0.1.0 is not released, `python -m streams_orchestration_tests.runtime.catalog.released` writes its tables
anew. From then on the file stays as it is, whatever `tables.py` says.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from streams_orchestration.runtime.catalog import migrations, tables, versions
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.storage.home import Home

FIRST = "0.1.0"
NEXT = "0.2.0"
TABLES = Path(__file__).with_name("tables_0_1_0.sql")
"""One statement a line, for PostgreSQL."""
IN_SQLITE = (("BIGINT", "INTEGER"), ("BYTEA", "BLOB"))
"""Types that SQLite calls otherwise."""

MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{FIRST}"

def upgrade():
    op.add_column("unit", sa.Column("colour", sa.Text(), nullable=False, server_default="red"))
    op.drop_column("host", "storage_failed_at")
    op.create_table("paint", sa.Column("colour", sa.Text(), primary_key=True))
    op.execute("INSERT INTO paint (colour) SELECT DISTINCT colour FROM unit")
"""


def catalog_of_first_release(home: Home) -> Catalog:
    """Make a catalog as 0.1.0 does, without rows."""
    catalog = Catalog(home)
    if isinstance(catalog._database, SqliteDatabase):
        catalog._database.path.touch()
    with catalog._transaction("create") as connection:
        catalog._database.prepare(connection)
        text = TABLES.read_text()
        for name, other in IN_SQLITE if connection.dialect.name == "sqlite" else ():
            text = text.replace(name, other)
        for line in text.splitlines():
            connection.exec_driver_sql(line)
    return catalog


def invent_next_release(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the product be the release after 0.1.0, with one migration more."""
    shutil.copytree(migrations.SCRIPTS, directory, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "versions" / "next.py").write_text(MIGRATION)
    monkeypatch.setattr(migrations, "SCRIPTS", directory)
    monkeypatch.setattr(versions, "REVISIONS", (FIRST, NEXT))


def statements() -> list[str]:
    """Return the statements that make the tables of today."""
    made = [
        element
        for table in (versions._version, *tables.metadata.sorted_tables)
        for element in (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name))))
    ]
    text = [" ".join(str(element.compile(dialect=postgresql.dialect())).split()) for element in made]
    return [*text, f"INSERT INTO {versions.VERSION_TABLE} VALUES ('{FIRST}')"]


if __name__ == "__main__":
    TABLES.write_text("".join(f"{statement}\n" for statement in statements()))
