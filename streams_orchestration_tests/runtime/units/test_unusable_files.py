"""A host whose machine cannot use files of its sinks for long ends, if another machine takes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import UnusableFilesError
from streams_orchestration.runtime.storage.unusable_files import FileFailure
from streams_orchestration.runtime.units.unusable_files import WAITS, read_failed, require_usable_files
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")

REASON = "operator Out: /results/Out/part-0 cannot be written: Input/output error"


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """One host on `north`, and two more machines."""
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    for name in ("north", "south", "west"):
        place.registered(name)
    control.launch_hosts(place.catalog, place.name)
    alive(place)
    return place


def alive(place: Place, machine: str | None = None) -> None:
    """Let the host run."""
    where = {} if machine is None else {"machine": machine}
    place.set(tables.host, state="RUNNING", pid=1, space=ELSEWHERE, heartbeat_at=clock.now(), **where)


def require(place: Place, *seconds: float | None) -> None:
    failures = [None if each is None else FileFailure(each, REASON) for each in seconds]
    require_usable_files(place.catalog, place.name, 0, failures)


def test_a_host_ends_after_a_minute_of_the_longest_trouble(place: Place):
    require(place, None, WAITS.first - 1, None)
    with pytest.raises(UnusableFilesError) as error:
        require(place, 3.0, WAITS.first, None)
    assert str(error.value) == f"files could not be used on north for 60 s: {REASON}"


@pytest.mark.parametrize(
    ("host", "others"),
    [
        pytest.param({"machine": None}, {}, id="on no machine with an agent"),
        pytest.param({}, {"state": "DOWN"}, id="the only machine"),
        pytest.param({}, {"lease_until": 0.0}, id="all other machines are lost"),
        pytest.param(
            {"requirements": {"machine": None, "tags": ["ssd"], "exlocation": [], "isolated": False}},
            {},
            id="no tag elsewhere",
        ),
    ],
)
def test_a_host_stays_if_no_other_machine_takes_it(place: Place, host: Mapping[str, Any], others: Mapping[str, Any]):
    if host:
        place.set(tables.host, **host)
    if others:
        place.set(tables.machine, tables.machine.c.name != "north", **others)
    require(place, 1e6)


def test_the_wait_doubles_with_each_earlier_reset_for_files_if_no_machine_is_better(place: Place):
    tries = [
        [FilesKind(0, "south", ends=True), 1, 0.0, True],
        [FilesKind(0, "west"), 1, 0.0, True],
        ["PE 1", 7, 0.0, False],
    ]
    place.set(tables.unit, tries=tries)
    require(place, 4 * WAITS.first - 1)
    with pytest.raises(UnusableFilesError):
        require(place, 4 * WAITS.first)
    place.set(tables.unit, tries=[*tries, [FilesKind(0, "north"), 1, 0.0, True]])
    with pytest.raises(UnusableFilesError):
        require(place, WAITS.first)


def test_a_host_waits_no_longer_than_the_longest_wait_since_the_other_machines_may_be_repaired(place: Place):
    place.set(tables.unit, tries=[[FilesKind(0, name), 9, 0.0, True] for name in ("south", "west")])
    require(place, WAITS.longest - 1)
    with pytest.raises(UnusableFilesError):
        require(place, WAITS.longest)


def test_a_host_of_complete_pes_that_ends_on_two_machines_comes_to_the_third(place: Place):
    there = list[str | None]()
    for _ in range(3):
        place.set(tables.pe, final=True, state="COMPLETED")
        place.set(tables.unit, state="PROCESSING")
        there.append(place.host.machine)
        place.set(tables.host, state="FAILED", error=REASON, storage_error=REASON)
        reset_unit(place.catalog, place.name, "region-0")
        alive(place)
    assert sorted(map(str, there)) == ["north", "south", "west"]
    with place.catalog.read() as connection:
        assert read_failed(connection, place.name, ["north", "south", "west"])[0] == {"north": 1, "south": 1, "west": 1}
