from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import CatalogBusyError, CatalogError
from streams_orchestration.runtime.home import Home

HOST = {"application": "app", "id": 0, "state": "STOPPED"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    Catalog.create(home).close()
    return home


@pytest.fixture
def locked(home: Home) -> Iterator[Home]:
    """Somebody else writes and does not come to an end."""
    other = sqlite3.connect(home.catalog, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield home
    other.close()


def hosts(catalog: Catalog) -> list[int]:
    with catalog.read() as connection:
        return list(connection.scalars(select(tables.host.c.id)))


def test_a_transaction_is_kept_when_its_block_ends(home: Home):
    catalog = Catalog(home)
    with catalog.write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
    assert hosts(Catalog(home)) == [0]


def test_a_transaction_that_raises_changes_nothing(home: Home):
    catalog = Catalog(home)
    with pytest.raises(ZeroDivisionError), catalog.write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
        _ = 1 / 0
    assert hosts(catalog) == []


def test_creating_it_again_keeps_what_is_there(home: Home):
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
    assert hosts(Catalog.create(home)) == [0]


def test_a_writer_gives_up_when_another_holds_the_lock(locked: Home):
    catalog = Catalog(locked, busy_seconds=0.05)
    stayed = pytest.raises(CatalogBusyError, match=r"catalog.db: the catalog stayed locked .* for 0.05 s. Nothing was")
    with stayed, catalog.write():
        pass


def test_a_reader_never_waits_for_a_writer(locked: Home):
    assert hosts(Catalog(locked, busy_seconds=0.05)) == []


def test_a_reader_sees_one_state_only(home: Home):
    catalog = Catalog(home)
    with catalog.read() as connection:
        before = list(connection.scalars(select(tables.host.c.id)))
        with Catalog(home).write() as other:
            other.execute(insert(tables.host).values(**HOST))
        assert list(connection.scalars(select(tables.host.c.id))) == before
    assert hosts(catalog) == [0]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_file_that_is_no_database_is_named(home: Home, mode: str):
    for path in home.root.iterdir():
        path.unlink()
    home.catalog.write_bytes(b"my diary, " * 100)
    named = pytest.raises(
        CatalogError, match=r"catalog.db: not a catalog, or a damaged one: .*move the state directory"
    )
    with named, getattr(Catalog(home), mode)():
        pass


def test_a_missing_directory_is_named(tmp_path: Path):
    catalog = Catalog(Home(tmp_path / "absent"))
    assert not catalog.exists
    with pytest.raises(CatalogError, match=r"absent/catalog.db: .* unable to open .*directory exists"), catalog.read():
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_named(home: Home):
    Catalog(home).close()
    for path in home.root.iterdir():
        path.chmod(0o400)
    home.root.chmod(0o500)
    with pytest.raises(CatalogError, match="write permission"), Catalog(home).write():
        pass
