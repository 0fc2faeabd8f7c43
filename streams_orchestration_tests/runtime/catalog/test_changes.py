"""A change of the catalog wakes every process that waits for one, on both databases; none is missed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from streams_orchestration.runtime.catalog import changes, sqlite, tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.changes import Changes, CommitListener
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.storage.home import Home

LONG = 30.0
"""Seconds that no wait of these tests takes, unless it fails."""
BRIEF = 0.3
"""A change that is not to come has come by then."""


@pytest.fixture
def waiting(home: Home) -> Iterator[Catalog]:
    """A catalog whose listener is open."""
    catalog = Catalog(home)
    catalog.changes.mark()
    yield catalog
    catalog.close()


def write(home: Home) -> None:
    with Catalog(home).write() as connection:
        connection.execute(insert(tables.host).values(application="app", id=0, state="RUNNING"))


def test_a_write_of_another_process_wakes(home: Home, waiting: Catalog):
    mark = waiting.changes.mark()
    pid = os.fork()
    if pid == 0:
        write(home)
        os._exit(0)
    assert waiting.changes.wait(mark, LONG)
    os.waitpid(pid, 0)


def test_a_change_between_mark_and_wait_is_not_missed(home: Home, waiting: Catalog):
    mark = waiting.changes.mark()
    write(home)
    assert waiting.changes.wait(mark, LONG)


def test_a_write_of_a_unit_wakes(home: Home, waiting: Catalog):
    mark = waiting.changes.mark()
    with Catalog(home).write_unit("app", "region-0") as connection:
        connection.execute(update(tables.host).values(heartbeat_at=1.0))
    assert waiting.changes.wait(mark, LONG)


def test_a_listener_learns_the_changed_units_if_the_database_names_them(home: Home, waiting: Catalog):
    changed: list[str] = []

    def hear(units: Collection[str]) -> bool:
        changed.extend(units)
        return "app/last" in units or changes.ANYTHING in units

    waiting.changes.on_change = hear
    mark = waiting.changes.mark()
    for unit in ("it's", "last"):
        with Catalog(home).write_unit("app", unit):
            pass
    assert waiting.changes.wait(mark, LONG)
    assert set(changed) == ({"app/it's", "app/last"} if waiting.names_units else {changes.ANYTHING})


def test_a_write_of_anything_names_no_unit(home: Home, waiting: Catalog):
    heard: list[str] = []
    waiting.changes.on_change = lambda units: bool(heard.extend(units) or units)
    mark = waiting.changes.mark()
    write(home)
    assert waiting.changes.wait(mark, LONG)
    assert set(heard) == {changes.ANYTHING}


def test_a_catalog_may_be_woken_by_a_file(home: Home, tmp_path: Path):
    served = Catalog(home, notified=tmp_path / "notified")
    mark = served.changes.mark()
    changes.notify(tmp_path / "notified")
    assert served.changes.wait(mark, LONG)
    while served.changes.wait(mark := served.changes.mark(), BRIEF):
        pass
    write(home)
    assert not served.changes.wait(mark, BRIEF)
    served.close()


def test_a_write_that_changes_nothing_for_others_wakes_nobody(home: Home, waiting: Catalog):
    write(home)
    mark = waiting.changes.mark()
    while waiting.changes.wait(mark, BRIEF):  # take the changes of the write
        mark = waiting.changes.mark()
    with Catalog(home).note() as connection:
        connection.execute(update(tables.host).values(heartbeat_at=1.0))
    with pytest.raises(ZeroDivisionError), Catalog(home).write():
        _ = 1 / 0
    with Catalog(home).read():
        pass
    assert not waiting.changes.wait(mark, BRIEF)


def test_a_note_does_not_wait_for_writers_in_postgresql(home: Home, database: str):
    if database == "sqlite":
        pytest.skip("a file of SQLite has one lock for all who write")
    write(home)
    patient = Catalog(home, busy_seconds=0.05)
    with Catalog(home).write(), patient.note() as connection:
        connection.execute(update(tables.host).values(heartbeat_at=1.0))


def test_all_threads_of_a_process_wait_on_one_listener(home: Home, waiting: Catalog):
    mark = waiting.changes.mark()
    woken: list[bool] = []
    threads = [threading.Thread(target=lambda: woken.append(waiting.changes.wait(mark, LONG))) for _ in range(3)]
    for thread in threads:
        thread.start()
    write(home)
    for thread in threads:
        thread.join()
    assert woken == [True] * 3


def test_without_a_watch_of_the_operating_system_the_file_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_more(_path: Path) -> CommitListener:
        message = "no more watches"
        raise OSError(message)

    monkeypatch.setattr(changes, "FileListener", no_more)
    home = Home(tmp_path / "home")
    create_catalog(home).close()
    catalog = Catalog(home)
    mark = catalog.changes.mark()
    write(home)
    assert catalog.changes.wait(mark, LONG)
    catalog.close()


@pytest.mark.usefixtures("reopened_at_once")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a file that is gone")
def test_a_notification_file_that_is_removed_is_recreated(tmp_path: Path):
    home = Home(tmp_path / "home")
    create_catalog(home).close()
    catalog = Catalog(home)
    file = home.catalog.with_name(home.catalog.name + sqlite.NOTIFIED)
    mark = catalog.changes.mark()
    file.unlink()
    while not file.exists():
        assert catalog.changes.wait(mark, LONG)
        mark = catalog.changes.mark()
    assert_rings(catalog, lambda: write(home))
    catalog.close()


def assert_rings(catalog: Catalog, action: Callable[[], None]) -> None:
    mark = catalog.changes.mark()
    action()
    assert catalog.changes.wait(mark, LONG)


class BrokenListener(CommitListener):
    """Breaks whenever it is asked."""

    def __init__(self) -> None:
        self.closed = False

    def wait(self) -> None:
        return

    def interrupt(self) -> None:
        return

    def take(self) -> tuple[str, ...]:
        message = "broken"
        raise OSError(message)

    def close(self) -> None:
        self.closed = True


@pytest.mark.usefixtures("reopened_at_once")
def test_a_listener_that_breaks_counts_as_a_change_and_is_closed():
    listeners: list[BrokenListener] = []

    def opened() -> CommitListener:
        listeners.append(BrokenListener())
        return listeners[-1]

    broken = Changes(opened)
    mark = broken.mark()
    for _ in range(3):
        assert broken.wait(mark, LONG)
        mark = broken.mark()
    broken.close()
    assert all(listener.closed for listener in listeners)


def test_a_wait_ends_when_the_catalog_is_closed(home: Home):
    before = set(threading.enumerate())
    catalog = Catalog(home)
    mark = catalog.changes.mark()
    (listener,) = set(threading.enumerate()) - before
    waits = threading.Thread(target=catalog.changes.wait, args=(mark, 2 * LONG), daemon=True)
    waits.start()
    catalog.changes.close()
    waits.join(LONG)
    assert not waits.is_alive()
    assert not listener.is_alive()
