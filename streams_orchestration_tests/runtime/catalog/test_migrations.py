from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, MetaData, Table, inspect, select, update

from streams_orchestration.runtime.catalog import migrations, tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.migrations import migrate
from streams_orchestration.runtime.catalog.upgrading import upgrade_catalog
from streams_orchestration.runtime.catalog.versions import REVISIONS, VERSION_TABLE, find_product_revision
from streams_orchestration.runtime.errors.errors import CatalogMissingError, CatalogVersionError
from streams_orchestration.runtime.processes.processes import process_started
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.catalog.released import (
    FIRST,
    NEXT,
    catalog_of_first_release,
    invent_next_release,
)

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").prepare()


def reflected(connection: Connection) -> list[Table]:
    """Return the tables that are there, whatever their revision."""
    metadata = MetaData()
    metadata.reflect(connection, only=[name for name in inspect(connection).get_table_names() if name != VERSION_TABLE])
    return metadata.sorted_tables


def value(column: Any) -> Any:
    """Something that fits the column."""
    if column.name in ("state", "wanted"):
        return "STOPPED"
    kinds = {Boolean: True, Integer: 7, Float: 0.5, LargeBinary: b"\0\xff"}
    kind = next((kind for kind in kinds if isinstance(column.type, kind)), None)
    return kinds[kind] if kind else {"a": [1, None]} if "JSON" in str(column.type) else f"{column.name} ä"


def filled(catalog: Catalog) -> dict[str, dict[str, Any]]:
    """Return a row in every table."""
    with catalog.write() as connection:
        rows = {table.name: {c.name: value(c) for c in table.columns} for table in reflected(connection)}
        for table in reflected(connection):
            connection.execute(table.insert().values(rows[table.name]))
    return rows


def differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return compare_metadata(context, tables.metadata)


def test_the_migrations_make_the_tables_that_the_product_uses_of_those_of_the_first_release(home: Home):
    catalog = catalog_of_first_release(home)
    upgrade_catalog(catalog)
    with catalog.read() as connection:
        actual = differences(connection)
    assert actual == [], "write a migration in runtime/catalog/migrations/versions; before 0.1.0, see released.py"


def test_a_new_catalog_needs_no_migration(home: Home):
    with create_catalog(home).read() as connection:
        assert differences(connection) == []


def test_the_product_knows_all_migrations():
    script = ScriptDirectory(str(migrations.SCRIPTS))
    assert tuple(step.revision for step in reversed(list(script.walk_revisions()))) == REVISIONS


@pytest.fixture
def older(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog of the first release, which another one finds."""
    catalog = catalog_of_first_release(home)
    invent_next_release(tmp_path / "migrations", monkeypatch)
    return catalog


def test_rows_of_a_catalog_of_the_first_release_are_kept(older: Catalog):
    rows = filled(older)
    assert upgrade_catalog(older) == FIRST
    assert older.version() == NEXT
    removed = rows["host"].pop("storage_failed_at")
    rows["unit"]["colour"] = "red"
    rows["paint"] = {"colour": "red"}
    with older.read() as connection:
        actual = {table.name: dict(connection.execute(select(table)).one()._mapping) for table in reflected(connection)}
    assert removed
    assert actual == rows


def test_an_older_catalog_is_not_used_until_it_is_upgraded(older: Catalog):
    with pytest.raises(CatalogVersionError, match=rf"older version .*{FIRST}.* `streams catalog upgrade`"):
        _ = older.exists


def test_a_deployment_upgrades_it(home: Home, older: Catalog):
    assert create_catalog(home).exists
    assert older.version() == NEXT


def test_a_catalog_of_a_newer_version_is_refused(home: Home):
    catalog = create_catalog(home)
    with catalog.write() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for use in (lambda: catalog.exists, lambda: create_catalog(home), lambda: upgrade_catalog(catalog)):
        with pytest.raises(CatalogVersionError, match=r"made by another version .*9999.*Use that version"):
            use()


def test_no_catalog_is_made_among_tables_of_unknown_version(home: Home):
    catalog = catalog_of_first_release(home)
    with catalog.write() as connection:
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")
    with pytest.raises(CatalogVersionError, match=r"tables with the names of catalog tables .*application.* without"):
        create_catalog(home)


def living(sign: str) -> dict[str, Any]:
    """Return the row of a living host: with its process, or with its report from another machine."""
    if sign == "pid":
        return {"pid": os.getpid(), "process_started": process_started(os.getpid())}
    return {"state": "RUNNING", "heartbeat_at": time.time()}


@pytest.mark.parametrize("sign", ["pid", "heartbeat"])
def test_a_catalog_that_is_in_use_stays_as_it_is(older: Catalog, sign: str):
    filled(older)
    with older.write() as connection:
        connection.execute(update(tables.host).values(living(sign)))
    with pytest.raises(CatalogVersionError, match=rf"not upgraded .*host 7 of application ä \({sign}.*streams cancel"):
        upgrade_catalog(older)
    assert older.version() == FIRST


def test_an_upgrade_that_fails_changes_nothing(older: Catalog, monkeypatch: pytest.MonkeyPatch):
    filled(older)

    def fail(connection: Connection) -> None:
        migrate(connection)
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "migrate", fail)
        with pytest.raises(OSError):
            upgrade_catalog(older)
    assert older.version() == FIRST
    upgrade_catalog(older)
    assert older.version() == NEXT


def test_a_home_without_a_catalog_cannot_be_upgraded(home: Home):
    with pytest.raises(CatalogMissingError, match="no catalog to upgrade"):
        upgrade_catalog(Catalog(home))


def test_a_catalog_of_this_version_is_left_alone(home: Home):
    assert upgrade_catalog(create_catalog(home)) == find_product_revision()
