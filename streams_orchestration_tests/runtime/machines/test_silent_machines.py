"""A reset by hand right after the death of a machine waits until the death is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control, silent_machines
from streams_orchestration.runtime.deployment.silent_machines import await_silent_machines
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """A host that runs on machine `north`."""
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    place.registered("north")
    control.launch_hosts(place.catalog, place.name)
    place.agents["north"].turn()
    place.set(tables.host, space=ELSEWHERE, state="RUNNING", heartbeat_at=clock.now())
    return place


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Return the acts that happen one after the other while somebody waits; each takes three seconds."""
    happenings: list[Callable[[], object]] = []
    now = [100.0]

    def sleep(_seconds: float) -> None:
        now[0] += 3.0
        if happenings:
            happenings.pop(0)()

    monkeypatch.setattr(silent_machines, "world", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    return happenings


def nothing() -> None:
    pass


def test_a_machine_that_is_heard_is_waited_for_no_longer(place: Place, waits: list[Callable[[], object]]):
    said: list[str] = []
    waits += [lambda: place.set(tables.machine, lease_until=clock.now() + 100.0), lambda: pytest.fail("it still waits")]
    await_silent_machines(place.catalog, place.name, said.append)
    assert said == []


def test_a_host_that_is_heard_does_without_an_agent(place: Place, waits: list[Callable[[], object]]):
    waits += [lambda: place.set(tables.host, heartbeat_at=clock.now() + 1.0), lambda: pytest.fail("it still waits")]
    await_silent_machines(place.catalog, place.name, lambda _: None)


def test_a_machine_that_is_silent_is_waited_for_until_its_hosts_count_as_dead(
    place: Place, waits: list[Callable[[], object]]
):
    said: list[str] = []
    waits += [nothing, nothing, lambda: place.set(tables.host, heartbeat_at=0.0), lambda: pytest.fail("it still waits")]
    await_silent_machines(place.catalog, place.name, said.append)
    assert said == ["no sign of life from north; waiting to find out if its hosts are lost ..."]


def test_nobody_waits_for_ever(place: Place, waits: list[Callable[[], object]]):
    waits += [nothing] * 20
    await_silent_machines(place.catalog, place.name, lambda _: None)
    assert 0 < len(waits) < 20


def test_nobody_waits_for_hosts_that_are_seen(place: Place, waits: list[Callable[[], object]]):
    place.set(tables.host, space=None)
    waits.append(lambda: pytest.fail("it waits"))
    await_silent_machines(place.catalog, place.name, lambda _: None)
