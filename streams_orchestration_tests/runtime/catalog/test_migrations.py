from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, MetaData, Table, inspect, select, update

from streams_orchestration.runtime.catalog import migrations, tables, versions
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.migrations import migrate
from streams_orchestration.runtime.catalog.upgrading import upgrade
from streams_orchestration.runtime.catalog.versions import NEWEST, REVISIONS, VERSION_TABLE
from streams_orchestration.runtime.errors import CatalogMissingError, CatalogVersionError
from streams_orchestration.runtime.processes import process_started
from streams_orchestration.runtime.sinks.sinks import read_sinks
from streams_orchestration.runtime.storage.home import Home

pytestmark = pytest.mark.usefixtures("database")
FIRST_LAYOUT = 915179378


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").prepare()


def made_by(home: Home, revision: str) -> Catalog:
    """A catalog of an older version of the product."""
    catalog = Catalog(home)
    with catalog._transaction("create") as connection:
        catalog._database.prepare(connection)
        migrate(connection, revision)
    return catalog


def reflected(connection: Connection) -> list[Table]:
    """The tables that are there, whatever their revision."""
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
    """A row in every table."""
    with catalog.write() as connection:
        rows = {table.name: {c.name: value(c) for c in table.columns} for table in reflected(connection)}
        for table in reflected(connection):
            connection.execute(table.insert().values(rows[table.name]))
    return rows


def differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return compare_metadata(context, tables.metadata)


def test_the_newest_migration_makes_the_tables_that_the_product_uses(home: Home):
    with made_by(home, NEWEST).read() as connection:
        actual = differences(connection)
    assert actual == [], "write the difference into the newest migration, in runtime/catalog/migrations/versions"


def test_a_new_catalog_needs_no_migration(home: Home):
    with create_catalog(home).read() as connection:
        assert differences(connection) == []


def test_the_product_knows_all_migrations():
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert tuple(step.revision for step in reversed(list(script.walk_revisions()))) == REVISIONS


def test_data_of_the_first_catalogs_is_kept(home: Home):
    catalog = made_by(home, "0001")
    rows = filled(catalog)
    assert upgrade(catalog) == "0001"
    assert catalog.version() == NEWEST
    with catalog.read() as connection:
        assert differences(connection) == []
        for table in tables.metadata.sorted_tables:
            if table.name == "sink_file":
                continue  # what is visible for good is only counted
            if table.name in rows:
                actual = connection.execute(select(table)).one()._mapping
                assert {name: actual[name] for name in rows[table.name]} == rows[table.name]


@pytest.mark.parametrize("published", [True, False])
def test_files_of_sinks_are_counted_when_they_are_visible_and_kept_while_they_wait(home: Home, published: bool):
    catalog = made_by(home, "0001")
    before = filled(catalog)["sink_file"]
    with catalog.write() as connection:
        file = next(table for table in reflected(connection) if table.name == "sink_file")
        connection.execute(file.update().values(published=published, final="/results/out/part-1.csv"))
    upgrade(catalog)
    with catalog.read() as connection:
        actual = read_sinks(connection, before["application"]) if published else ()
        assert [(s.operator, s.path, s.format, s.files, s.rows) for s in actual] == [
            (before["operator"], Path("/results/out"), "csv", 1, before["rows"])
        ][: len(actual)]
        waiting = connection.execute(select(tables.sink_file)).mappings().all()
        assert [row["pending"] for row in waiting] == ([] if published else [before["pending"]])


def test_a_catalog_from_before_revisions_were_written_down_is_recognised(home: Home, database: str):
    if database != "sqlite":
        pytest.skip("there were none in PostgreSQL")
    made_by(home, "0001").close()
    with sqlite3.connect(home.catalog) as connection:
        connection.execute(f"DROP TABLE {VERSION_TABLE}")
        connection.execute(f"PRAGMA user_version = {FIRST_LAYOUT}")
    catalog = Catalog(home)
    filled(catalog)
    assert catalog.version() == "0001"
    assert upgrade(catalog) == "0001"
    assert catalog.exists


def test_an_older_catalog_is_not_used_until_it_is_upgraded(home: Home):
    catalog = made_by(home, "0001")
    with pytest.raises(CatalogVersionError, match=r"older version .*0001.* `streams catalog upgrade`"):
        _ = catalog.exists


def test_a_deployment_upgrades_it(home: Home):
    made_by(home, "0001")
    assert create_catalog(home).exists


def test_one_of_a_newer_version_is_refused(home: Home):
    catalog = made_by(home, NEWEST)
    with catalog.write() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for use in (lambda: catalog.exists, lambda: create_catalog(home), lambda: upgrade(catalog)):
        with pytest.raises(CatalogVersionError, match=r"made by another version .*9999.*Use that version"):
            use()


def living(sign: str) -> dict[str, Any]:
    """What the row of a host says that is there: by its process, or by what it reports from another machine."""
    if sign == "pid":
        return {"pid": os.getpid(), "process_started": process_started(os.getpid())}
    return {"state": "RUNNING", "heartbeat_at": time.time()}


@pytest.mark.parametrize("sign", ["pid", "heartbeat"])
def test_a_catalog_that_is_in_use_stays_as_it_is(home: Home, sign: str):
    catalog = made_by(home, "0001")
    filled(catalog)
    with catalog.write() as connection:
        connection.execute(update(tables.host).values(living(sign)))
    with pytest.raises(CatalogVersionError, match=rf"not upgraded .*host 7 of application ä \({sign}.*streams cancel"):
        upgrade(catalog)
    assert catalog.version() == "0001"


def test_an_upgrade_that_fails_changes_nothing(home: Home, monkeypatch: pytest.MonkeyPatch):
    catalog = made_by(home, "0001")

    def fail(connection: Connection) -> None:
        migrate(connection)
        raise OSError

    monkeypatch.setattr(migrations, "migrate", fail)
    with pytest.raises(OSError):
        upgrade(catalog)
    assert catalog.version() == "0001"
    monkeypatch.undo()
    upgrade(catalog)


def test_where_nothing_was_deployed_there_is_nothing_to_upgrade(home: Home):
    with pytest.raises(CatalogMissingError, match="no catalog to upgrade"):
        upgrade(Catalog(home))


def test_an_upgraded_catalog_is_left_alone(home: Home):
    catalog = create_catalog(home)
    assert upgrade(catalog) == versions.NEWEST
