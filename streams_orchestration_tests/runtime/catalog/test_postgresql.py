"""A catalog in PostgreSQL, and the faults of its server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from streams_orchestration.runtime.catalog import postgresql as product
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.errors.errors import (
    CatalogBusyError,
    CatalogError,
    CatalogLostError,
    CommitUnknownError,
)
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime.conftest import forget_engines

HOST = {"application": "app", "id": 0, "state": "STOPPED"}


@pytest.fixture
def home(tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("STREAMS_CATALOG", postgresql.url("of_a_server"))
    home = Home(tmp_path / "home")
    create_catalog(home)
    yield home
    forget_engines()
    with postgresql.connect() as connection:
        connection.execute("DROP SCHEMA IF EXISTS of_a_server CASCADE")


def hosts(home: Home) -> list[int]:
    with Catalog(home).read() as connection:
        return list(connection.scalars(select(tables.host.c.id)))


def test_a_session_that_was_ended_between_two_transactions_is_replaced_unseen(home: Home, postgresql: Server):
    assert hosts(home) == []
    assert postgresql.end_sessions() >= 1
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
    assert hosts(home) == [0]


def test_a_session_that_is_ended_in_a_transaction_changes_nothing(home: Home, postgresql: Server):
    with pytest.raises(CatalogLostError, match="Nothing was changed"), Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
        postgresql.end_sessions()
        connection.execute(select(tables.host))
    assert hosts(home) == []


def test_a_session_that_is_ended_before_the_commit_leaves_doubt(home: Home, postgresql: Server):
    with pytest.raises(CommitUnknownError, match="in the middle of a commit"), Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
        postgresql.end_sessions()
    assert hosts(home) == []


def test_a_server_that_is_just_restarted_is_waited_for(home: Home, postgresql: Server):
    postgresql.stop()
    starting = threading.Timer(0.2, postgresql.start)
    starting.daemon = True
    starting.start()
    try:
        assert Catalog(home, patience=60.0).exists
    finally:
        starting.join(60)


def test_a_server_that_stays_away_is_named(home: Home, postgresql: Server):
    postgresql.stop()
    try:
        with pytest.raises(CatalogLostError, match=r"^postgresql://streams@.*schema=of_a_server: .*cannot be reached"):
            _ = Catalog(home, patience=0.0).exists
    finally:
        postgresql.start()


def test_a_commit_of_a_transaction_in_which_a_statement_failed_is_refused(home: Home):
    """The server would answer it with a rollback, and nobody would learn of it."""
    with pytest.raises(CatalogError, match="a statement in it had failed"), Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
        with pytest.raises(DBAPIError):
            connection.execute(text("SELECT 1 / 0"))
    assert hosts(home) == []


def test_statements_sent_together_are_committed_together(home: Home):
    catalog = Catalog(home)
    with catalog.write() as connection, catalog.together(connection):
        for number in range(3):
            connection.execute(insert(tables.host).values(**HOST | {"id": number}))
    assert sorted(hosts(home)) == [0, 1, 2]


def test_a_failed_statement_among_statements_that_are_sent_together_changes_nothing(home: Home):
    catalog = Catalog(home)
    refused = pytest.raises(CatalogError, match="wrote the same entry")
    with refused, catalog.write() as connection, catalog.together(connection):
        for number in (0, 1, 0):
            connection.execute(insert(tables.host).values(**HOST | {"id": number}))
    assert hosts(home) == []


def test_a_session_that_is_ended_while_statements_wait_to_be_sent_changes_nothing(home: Home, postgresql: Server):
    catalog = Catalog(home)
    lost = pytest.raises(CatalogLostError, match="Nothing was changed")
    with lost, catalog.write() as connection, catalog.together(connection):
        connection.execute(insert(tables.host).values(**HOST))
        postgresql.end_sessions()
    assert hosts(home) == []


def test_a_writer_that_stands_still_loses_the_lock(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(product, "IDLE_TRANSACTION_SECONDS", 1)
    forget_engines()
    moved = threading.Event()
    paused = threading.Event()
    errors: list[Exception] = []

    def pause() -> None:
        try:
            with Catalog(home).write() as connection:
                connection.execute(insert(tables.host).values(**HOST))
                paused.set()
                moved.wait(60)
                connection.execute(select(tables.host))
        except CatalogError as error:
            errors.append(error)

    writer = threading.Thread(target=pause, daemon=True)
    writer.start()
    assert paused.wait(60)
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST | {"id": 1}))
    moved.set()
    writer.join(60)
    assert hosts(home) == [1]
    assert isinstance(errors[0], CatalogLostError)


def test_a_reader_cannot_write(home: Home):
    with pytest.raises(CatalogError, match="read-only transaction"), Catalog(home).read() as connection:
        connection.execute(insert(tables.host).values(**HOST))


def test_a_writer_gives_up_when_another_holds_the_lock(home: Home):
    waits = pytest.raises(CatalogBusyError, match=r"locked by another process for 0.05 s.*pg_locks")
    catalog, other = Catalog(home), Catalog(home, busy_seconds=0.05)
    with catalog.write(), waits, other.write():
        pass


REFUSED = {
    "no such database": ("postgresql://streams@/nothing?host={0}", 'database "nothing" does not exist'),
    "no such role": ("postgresql://nobody_here@/postgres?host={0}", 'role "nobody_here" does not exist'),
    "no right to make a schema": ("postgresql://guest@/postgres?host={0}&schema=of_guest", "permission denied"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_by_the_server_is_not_repeated(
    tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch, case: str
):
    address, reason = REFUSED[case]
    with postgresql.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
    monkeypatch.setenv("STREAMS_CATALOG", address.format(postgresql.directory))
    with pytest.raises(CatalogError, match=reason) as raised:
        create_catalog(Home(tmp_path / "home"))
    assert not isinstance(raised.value, CatalogLostError)
    forget_engines()


def test_schemas_keep_state_directories_apart(home: Home, postgresql: Server, monkeypatch: pytest.MonkeyPatch):
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
    monkeypatch.setenv("STREAMS_CATALOG", postgresql.url("of_another"))
    other = Home(home.root.parent / "other")
    assert not Catalog(other).exists
    create_catalog(other)
    assert hosts(other) == []


def test_two_state_directories_may_share_one_catalog(home: Home):
    other = Home(home.root.parent / "on another machine")
    create_catalog(other)
    with Catalog(other).write() as connection:
        connection.execute(insert(tables.host).values(**HOST))
    assert hosts(home) == [0]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_search_has_a_catalog_for_each_example_and_sessions_for_some(
    tmp_path: Path, postgresql: Server, database: str
):
    """A server lets in a hundred sessions; the deep searches have more examples than that."""
    for number in range(8):
        create_catalog(Home(tmp_path / f"{number}"))
    with postgresql.connect() as connection:
        sessions = connection.execute("SELECT * FROM pg_stat_activity WHERE application_name = 'streams'").fetchall()
    assert len(sessions) <= 4
