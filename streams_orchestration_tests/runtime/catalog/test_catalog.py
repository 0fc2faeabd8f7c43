from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import catalog as catalogs
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.tables import create_tables
from streams_orchestration.runtime.errors.errors import (
    CatalogBusyError,
    CatalogError,
    CatalogLostError,
    CatalogMissingError,
    CatalogPlaceError,
    CatalogUnavailableError,
)
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.stepped_clock import SteppedClock

HOST = {"application": "app", "id": 0, "state": "STOPPED"}


@pytest.fixture
def locked(home: Home) -> Iterator[Home]:
    """Somebody else writes and does not come to an end."""
    begun, over = threading.Event(), threading.Event()

    def write() -> None:
        with Catalog(home).write():
            begun.set()
            over.wait()

    with ThreadPoolExecutor(1) as other:
        written = other.submit(write)
        begun.wait()
        yield home
        over.set()
        written.result()


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
    assert hosts(create_catalog(home)) == [0]


def test_a_writer_gives_up_when_another_holds_the_lock(locked: Home):
    catalog = Catalog(locked, busy_seconds=0.05)
    stayed = pytest.raises(CatalogBusyError, match=r"the catalog stayed locked .* for 0.05 s. Nothing was")
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


@pytest.fixture
def file_home(tmp_path: Path) -> Home:
    """With its catalog in a file of its own."""
    home = Home(tmp_path / "home")
    create_catalog(home).close()
    return home


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_file_that_is_no_database_is_named(file_home: Home, mode: str):
    home = file_home
    for path in home.root.iterdir():
        path.unlink()
    home.catalog.write_bytes(b"my diary, " * 100)
    named = pytest.raises(CatalogError, match=r"catalog.db: the catalog is damaged: .*move the state directory")
    with named, getattr(Catalog(home), mode)():
        pass


def test_a_missing_directory_is_named(tmp_path: Path):
    catalog = Catalog(Home(tmp_path / "absent"))
    assert not catalog.exists
    with pytest.raises(CatalogError, match=r"absent/catalog.db: .* unable to open .*directory exists"), catalog.read():
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_named(file_home: Home):
    home = file_home
    Catalog(home).close()
    for path in home.root.iterdir():
        path.chmod(0o400)
    home.root.chmod(0o500)
    with pytest.raises(CatalogError, match="write permission"), Catalog(home).write():
        pass


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_disk_that_may_not_be_written_for_a_while_is_waited_for(file_home: Home, mode: str):
    with (
        pytest.raises(CatalogUnavailableError, match="write permission"),
        getattr(Catalog(file_home), mode)() as connection,
    ):
        connection.exec_driver_sql("PRAGMA query_only = 1")
        connection.exec_driver_sql("DELETE FROM application")


def test_a_directory_that_is_away_may_come_back(tmp_path: Path):
    with pytest.raises(CatalogUnavailableError), Catalog(Home(tmp_path / "absent")).read():
        pass


PASSWORD = "s3cret"
PLACES = {
    "not an address": (f"{PASSWORD}@somewhere", "it is not an address such as"),
    "another database": (f"mysql://me:{PASSWORD}@there/db", "mysql is not supported"),
    "another driver": (f"postgresql+asyncpg://me:{PASSWORD}@there/db", "asyncpg is not supported"),
    "a schema that is none": (f"postgresql://me:{PASSWORD}@there/db?schema=My;x", "schema must be one name"),
    "a relative file": ("sqlite:///catalog.db", "must be absolute"),
    "no port": (f"postgresql://me:{PASSWORD}@there:none/db", "it is not an address"),
}


@pytest.mark.parametrize("case", PLACES)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    text, reason = PLACES[case]
    monkeypatch.setenv("STREAMS_CATALOG", text)
    with pytest.raises(CatalogPlaceError, match=f"^STREAMS_CATALOG: .*{reason}") as raised:
        Catalog(Home(tmp_path))
    assert PASSWORD not in str(raised.value)


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_CATALOG", f"postgres://me:{PASSWORD}@/db?host={tmp_path}&password={PASSWORD}")
    with (
        pytest.raises(
            CatalogLostError, match=r"^postgresql://me@/.*/db\?schema=streams: .* cannot be reached"
        ) as raised,
        Catalog(Home(tmp_path), patience=0.0).read(),
    ):
        pass
    assert PASSWORD not in str(raised.value)


def test_a_catalog_can_be_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "all.db"
    monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{file}")
    home = Home(tmp_path / "home")
    create_catalog(home)
    assert file.exists()
    assert not home.catalog.exists()


def test_a_state_directory_remembers_that_its_catalog_is_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = Home(tmp_path / "home")
    monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{tmp_path}/all.db")
    create_catalog(home)
    monkeypatch.delenv("STREAMS_CATALOG")
    with pytest.raises(CatalogPlaceError, match=r"not set, but the catalog of .*home is in .*all.db. Set it to that"):
        Catalog(home)


def test_a_state_directory_with_a_catalog_gets_no_second_one(file_home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{file_home.root.parent}/all.db")
    with pytest.raises(CatalogPlaceError, match=r"has a catalog of its own, catalog.db"):
        Catalog(file_home)


def test_a_state_directory_whose_catalog_is_elsewhere_gets_no_second_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = Home(tmp_path / "home")
    for file in ("first", "second"):
        monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{tmp_path}/{file}.db")
        if file == "first":
            create_catalog(home).close()
    with pytest.raises(CatalogPlaceError, match=r"second.db is not the catalog of .*home, which is in .*first.db"):
        create_catalog(home)
    shutil.move(tmp_path / "first.db", tmp_path / "second.db")
    assert create_catalog(home).exists


def test_writers_take_turns_and_see_what_the_one_before_has_left(home: Home):
    def count(_: int) -> None:
        with Catalog(home).write() as connection:
            so_far = connection.scalar(select(func.max(tables.host.c.id)))
            connection.execute(insert(tables.host).values(HOST | {"id": 0 if so_far is None else so_far + 1}))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(40)))
    assert sorted(hosts(Catalog(home))) == list(range(40))


def test_several_processes_may_make_it_at_once(tmp_path: Path, database: str):
    home = Home(tmp_path / "home")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: create_catalog(home), range(4)))
    assert all(catalog.exists for catalog in made)


def test_a_catalog_that_is_being_created_beside_left_data_is_not_damaged(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
):
    """Two commands at once: the second one checks while the first one makes the tables."""
    home, seen = Home(tmp_path / "home").prepare(), list[bool]()
    home.data("app").mkdir(parents=True)

    with ThreadPoolExecutor(1) as other:

        def make(connection: Connection) -> None:
            seen.append(other.submit(lambda: Catalog(home).exists).result())
            create_tables(connection)
            seen.append(other.submit(lambda: Catalog(home).exists).result())

        monkeypatch.setattr(catalogs, "create_tables", make)
        assert create_catalog(home).exists
    assert seen == [False, False]


def test_the_faster_of_two_processes_makes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = Home(tmp_path / "home").prepare()
    home.data("app").mkdir(parents=True)

    def write() -> None:
        with create_catalog(home).write() as connection:
            connection.execute(insert(tables.host).values(**HOST))

    with ThreadPoolExecutor(1) as other:

        def make(connection: Connection) -> None:
            create_tables(connection)
            monkeypatch.setattr(catalogs, "create_tables", create_tables)
            other.submit(write).result()

        monkeypatch.setattr(catalogs, "create_tables", make)
        assert hosts(create_catalog(home)) == [0]
    assert sorted(each.name for each in home.root.iterdir() if each.name.startswith(".")) == []


def test_reading_a_missing_catalog_creates_no_file(tmp_path: Path):
    home = Home(tmp_path / "home").prepare()
    with pytest.raises(CatalogMissingError, match="there is no catalog"), Catalog(home).read():
        pass
    assert not home.catalog.exists()


def test_a_file_system_without_hard_links_has_a_catalog_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert hosts(create_catalog(Home(tmp_path / "home"))) == []


def test_the_address_of_a_catalog_is_recorded_after_a_creation_that_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = Home(tmp_path / "home")
    monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{tmp_path}/all.db")
    with monkeypatch.context() as patched:
        patched.setattr(catalogs, "write_whole", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            create_catalog(home)
    create_catalog(home).close()
    assert home.place.read_text() == f"{tmp_path}/all.db\n"


def test_a_new_file_is_waited_for_while_another_process_switches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """SQLite refuses a second switch at once, so the timeout of the connection does not help."""
    home = Home(tmp_path / "home").prepare()
    with closing(sqlite3.connect(home.catalog, isolation_level=None)) as other:
        other.execute("CREATE TABLE other(x)")
        other.execute("BEGIN IMMEDIATE")
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                other.execute("COMMIT")

        monkeypatch.setattr(world, "sleep", pause)
        create_catalog(home)
    assert len(pauses) == 2
    assert hosts(Catalog(home)) == []


def test_a_file_that_stays_locked_is_given_up(tmp_path: Path, stepped_sleep: SteppedClock):
    home, began = Home(tmp_path / "home").prepare(), stepped_sleep.now
    with closing(sqlite3.connect(home.catalog, isolation_level=None)) as other:
        other.execute("CREATE TABLE other(x)")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CatalogBusyError), Catalog(home, busy_seconds=20.0).read():
            pass
    assert 19.0 < stepped_sleep.now - began <= 20.0


def test_totals_have_64_bits(home: Home):
    large = {"rows": 2**40, "size": 2**50, "checksum": 2**32 - 1, "number": 2**35}
    row = {"application": "app", "stream": "s", "pe": 0, "batch": 2**33, "epoch": 1, "path": "p", "committed_at": 0.0}
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.segment).values(row | large))
    with Catalog(home).read() as connection:
        actual = connection.execute(select(tables.segment)).one()._mapping
    assert {name: actual[name] for name in large} == large
