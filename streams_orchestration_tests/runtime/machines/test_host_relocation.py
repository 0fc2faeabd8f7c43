"""A host whose PEs cannot use files of its machine is started on another one, or says why it stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.units.controller import begin_again
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.unusable_files import MOVE_AFTER, read_failed
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")

ERROR = "batch 4: /data/app/streams/pe-1 could not be written or read: Input/output error"
ANY_MACHINE: dict[str, Any] = {"machine": None, "tags": [], "exlocation": [], "isolated": False}


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """One host, and two machines, of which `south` has no tag."""
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    place.registered("north", "ssd")
    place.registered("south")
    return place


def break_down(place: Place, resets: int, machine: str = "north", more: Mapping[str, int] = {}) -> UnitFailure:
    """Let PE 1 fail since the machine of the host cannot use a file, after resets for that cause; return the failure.

    Args:
        place: the application.
        resets: the resets for this cause.
        machine: the machine of the host.
        more: the resets for such causes on other machines.
    """
    now = clock.now()
    tries = [[FilesKind(0, name), number, now, True] for name, number in {machine: resets, **more}.items()]
    place.set(tables.host, state="RUNNING", machine=machine, pid=1, space=ELSEWHERE, heartbeat_at=now)
    place.set(tables.unit, state="UNHEALTHY", tries=tries, kind=FilesKind(0, machine), cause=f"PE 1 failed: {ERROR}")
    failed = {"state": "FAILED", "error": ERROR, "kind": FilesKind(0, machine), "outside": True}
    place.set(tables.pe, tables.pe.c.id == 1, **failed)
    return seen(place)


def seen(place: Place) -> UnitFailure:
    (failure,) = find_failures(read_status(place.catalog, place.name), clock.now())
    return failure


def events(place: Place) -> list[tuple[str, str | None]]:
    (unit,) = read_status(place.catalog, place.name).units
    return [(event.kind, event.cause) for event in unit.events if event.kind.startswith("host")]


def test_a_host_leaves_a_machine_whose_files_it_cannot_use_again_and_again(place: Place):
    control.launch_hosts(place.catalog, place.name)
    reset_unit(place.catalog, place.name, break_down(place, MOVE_AFTER).unit)
    assert (place.host.state, place.host.machine) == ("STARTING", "south")
    assert events(place) == [
        (
            "host leaves",
            "host 0 leaves north, where files could not be used in 3 resets: PE 1 failed: batch 4: "
            "/data/app/streams/pe-1 could not be written or read: Input/output error",
        )
    ]


def test_a_host_stays_while_the_cause_may_pass(place: Place):
    control.launch_hosts(place.catalog, place.name)
    reset_unit(place.catalog, place.name, break_down(place, MOVE_AFTER - 1).unit)
    assert (place.host.state, place.host.machine) == ("RUNNING", "north")
    assert events(place) == []


def test_a_host_stays_if_another_pe_fails_for_another_cause(place: Place):
    control.launch_hosts(place.catalog, place.name)
    break_down(place, MOVE_AFTER)
    place.set(tables.pe, tables.pe.c.id == 1, kind="PE 1")
    reset_unit(place.catalog, place.name, seen(place).unit)
    assert (place.host.state, place.host.machine) == ("RUNNING", "north")


@pytest.mark.parametrize(
    ("required", "others", "why"),
    [
        ({"machine": "north"}, {}, "no other machine takes it, since south has another name"),
        ({"tags": ["ssd"]}, {}, "no other machine takes it, since south has no tag ssd"),
        ({}, {"south": 1}, "no other machine takes it, since south has failed, too"),
    ],
)
def test_a_host_that_no_better_machine_takes_stays_and_says_so(
    place: Place, required: dict[str, Any], others: dict[str, int], why: str
):
    place.set(tables.host, requirements=ANY_MACHINE | required)
    control.launch_hosts(place.catalog, place.name)
    failure = break_down(place, MOVE_AFTER, more=others)
    for _ in range(2):
        reset_unit(place.catalog, place.name, failure.unit)
        failure = break_down(place, MOVE_AFTER, more=others)
    assert place.host.machine == "north"
    remedy = "Repair the disk or the mount on north, or let another machine take the host"
    stays = f"Host 0 stays on north, whose files it cannot use: {why}. {remedy}"
    assert events(place) == [("host stays", stays)], "the same decision is recorded once"
    assert failure.remedy.startswith(f"{stays}. ")
    assert "/data/app/streams/pe-1" in failure.cause.reason


def test_a_host_that_failed_on_every_machine_returns_to_the_one_where_that_was_rarest(place: Place):
    control.launch_hosts(place.catalog, place.name)
    reset_unit(place.catalog, place.name, break_down(place, 2 * MOVE_AFTER, "south", {"north": MOVE_AFTER}).unit)
    assert (place.host.state, place.host.machine) == ("STARTING", "north")


def test_a_host_that_is_moved_or_started_again_has_failed_on_the_same_machines(place: Place):
    control.launch_hosts(place.catalog, place.name)
    break_down(place, MOVE_AFTER)
    with place.catalog.write() as connection:
        begin_again(connection, place.name, ["region-0"])
        assert read_failed(connection, place.name, ["north", "south"])[0] == {"north": MOVE_AFTER, "south": 0}


def test_a_host_that_ends_for_files_leaves_its_machine_however_often_it_failed_on_the_other(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.set(tables.unit, tries=[[FilesKind(0, "south"), 4, 0.0, True]])
    place.set(tables.host, state="FAILED", error="OSError: Input/output error", storage_error="Input/output error")
    reset_unit(place.catalog, place.name, "region-0")
    assert place.host.machine == "south", "its disk may have been repaired meanwhile"


def test_a_host_that_ends_on_every_other_machine_returns_to_the_one_it_has_left(place: Place):
    place.registered("west")
    control.launch_hosts(place.catalog, place.name)
    reset_unit(place.catalog, place.name, break_down(place, MOVE_AFTER).unit)
    ends, most = Counter[str | None](), 4 * MOVE_AFTER
    while place.host.machine != "north" and ends.total() < most:
        place.set(tables.host, state="RUNNING", pid=1, space=ELSEWHERE, heartbeat_at=clock.now())
        advance_units(place.catalog, place.name, ["region-0"])  # the reset begins, since the host lives
        ends[place.host.machine] += 1
        place.set(tables.host, state="FAILED", error="OSError: Input/output error", storage_error="Input/output error")
        reset_unit(place.catalog, place.name, "region-0")
    assert place.host.machine == "north", "its disk may have been repaired meanwhile"
    assert ends == {"south": MOVE_AFTER + 1, "west": MOVE_AFTER + 1}, "as many as resets that began for files of north"
