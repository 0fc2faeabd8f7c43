"""The clock that all processes of a catalog share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home

HOUR = 3600.0


@pytest.fixture(autouse=True)
def unread() -> Iterator[None]:
    clock.forget()
    yield
    clock.forget()


def test_before_the_database_is_reached_it_is_the_clock_of_the_machine():
    assert clock.is_stale()
    assert clock.now() == pytest.approx(time.time(), abs=1.0)


def test_it_is_the_clock_of_the_database():
    clock.read(time.time() + HOUR, clock.started())
    assert clock.now() == pytest.approx(time.time() + HOUR, abs=1.0)
    assert clock.shared(time.time() - 5.0) == pytest.approx(time.time() + HOUR - 5.0, abs=1.0)
    assert not clock.is_stale()


def test_setting_the_clock_of_the_machine_does_not_change_it(monkeypatch: pytest.MonkeyPatch):
    right = time.time
    clock.read(right(), clock.started())
    monkeypatch.setattr(time, "time", lambda: right() + HOUR)
    assert clock.now() == pytest.approx(right(), abs=1.0)


def test_a_slow_reading_does_not_replace_a_better_one():
    clock.read(time.time(), clock.started())
    clock.read(time.time() + HOUR, clock.started() - 10.0)
    assert clock.now() == pytest.approx(time.time(), abs=1.0)


@pytest.mark.usefixtures("database")
def test_a_transaction_reads_it_on_a_server(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch):
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + HOUR)
    catalog = Catalog(Home(tmp_path / "home").prepare())
    catalog.make()
    apart = HOUR if database == "sqlite" else 0.0
    assert clock.now() == pytest.approx(right() + apart, abs=30.0)
