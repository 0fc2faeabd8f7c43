"""The clock that all processes of a catalog share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.storage.home import Home

HOUR = 3600.0


@dataclass
class Machine:
    """The clocks of a machine; they stand still. Of whole seconds, so that what is added to them is exact."""

    time: float = 1_800_000_000.0
    """The time of the clock that people may set."""
    steady: float = 5_000.0
    """The time of the clock that nobody sets."""

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.time += seconds
        self.steady += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(world, "now", lambda: machine.time)
    monkeypatch.setattr(world, "boot_time", lambda: machine.steady)
    return machine


def test_before_the_database_is_reached_the_clock_is_that_of_the_machine(machine: Machine):
    assert clock.is_stale()
    assert clock.now() == machine.time


def test_the_clock_is_that_of_the_database(machine: Machine):
    clock.read(machine.time + HOUR, world.boot_time())
    machine.wait(7.0)
    assert clock.now() == machine.time + HOUR
    assert clock.shared(machine.time - 5.0) == machine.time + HOUR - 5.0
    assert not clock.is_stale()


def test_the_clock_is_stale_once_its_reading_is_old(machine: Machine):
    clock.read(machine.time, world.boot_time())
    machine.wait(clock.READING_MAX_AGE_SECONDS)
    assert not clock.is_stale()
    machine.wait(1.0)
    assert clock.is_stale()


def test_the_database_showed_its_time_in_the_middle_of_the_reading(machine: Machine):
    began = world.boot_time()
    machine.wait(4.0)
    clock.read(machine.time, began)
    assert clock.now() == machine.time + 2.0


def test_setting_the_clock_of_the_machine_does_not_change_it(machine: Machine):
    right = machine.time
    clock.read(right, world.boot_time())
    machine.time += HOUR
    assert clock.now() == right


def test_a_slow_reading_is_read_again_at_once(machine: Machine):
    began = world.boot_time()
    machine.wait(60.0)
    clock.read(machine.time, began)
    assert clock.is_stale()
    clock.read(machine.time, world.boot_time())
    assert clock.now() == machine.time
    assert not clock.is_stale()


def test_a_slow_reading_does_not_replace_a_better_one(machine: Machine):
    clock.read(machine.time, world.boot_time())
    clock.read(machine.time - 1.0, world.boot_time() - 10.0)
    assert clock.now() == machine.time


@pytest.mark.parametrize("apart", [HOUR, -HOUR, 6.0, -11.0])
def test_a_slow_reading_replaces_a_better_one_that_it_contradicts(machine: Machine, apart: float):
    clock.read(machine.time, world.boot_time())
    clock.read(machine.time + apart, world.boot_time() - 10.0)
    assert clock.now() == machine.time + apart + 5.0
    assert clock.is_stale()


@pytest.mark.usefixtures("database")
def test_a_transaction_reads_it_on_a_server(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch):
    right = time.time
    monkeypatch.setattr(world, "now", lambda: right() + HOUR)
    catalog = Catalog(Home(tmp_path / "home").prepare())
    catalog.make()
    apart = HOUR if database == "sqlite" else 0.0
    assert clock.now() == pytest.approx(right() + apart, abs=30.0)
