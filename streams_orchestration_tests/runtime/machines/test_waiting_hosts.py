"""Hosts that no machine takes wait, say why, and are started as soon as one takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import awaiting, control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import WaitingForMachineError
from streams_orchestration.runtime.machines.register import set_machine_state
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment.host_rescheduling import HostRescheduler
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """One host that is to be on `south`, and the machine `north`."""
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    place.set(tables.host, requirements={"machine": "south", "tags": [], "exlocation": [], "isolated": False})
    place.registered("north")
    return place


def test_a_host_that_no_machine_takes_waits(place: Place):
    (words,) = control.launch_hosts(place.catalog, place.name)
    assert words.startswith("host 0 waits: machine south is needed, and north has another name.")
    status = read_status(place.catalog, place.name)
    assert (status.state, status.hosts[0].state) == ("WAITING", "WAITING")
    assert str(status.hosts[0].error) in words


def test_a_caller_that_awaits_the_start_is_told_the_reason(place: Place):
    control.launch_hosts(place.catalog, place.name)
    with pytest.raises(WaitingForMachineError, match=r"app is WAITING: host 0: machine south is needed, .* by itself"):
        awaiting.await_running_pes(place.catalog, place.name, 60.0)


def test_a_waiting_host_is_started_when_a_machine_comes(place: Place):
    control.launch_hosts(place.catalog, place.name)
    tending = HostRescheduler(place.home, "north")
    tending.reschedule_hosts()
    assert place.host.state == "WAITING"
    place.registered("south")
    tending.reschedule_hosts()
    assert (place.host.state, place.host.machine, place.host.error) == ("STARTING", "south", None)
    assert read_status(place.catalog, place.name).state == "RUNNING"


def test_a_waiting_host_is_started_when_its_machine_takes_hosts_again(place: Place):
    place.registered("south")
    set_machine_state(place.catalog, "south", "DRAINING")
    control.launch_hosts(place.catalog, place.name)
    assert "south is drained" in (place.host.error or "")
    set_machine_state(place.catalog, "south", "UP")
    HostRescheduler(place.home, "north").reschedule_hosts()
    assert (place.host.state, place.host.machine) == ("STARTING", "south")


def test_a_waiting_host_changes_nothing_in_the_catalog(place: Place):
    control.launch_hosts(place.catalog, place.name)
    before = place.host
    control.launch_hosts(place.catalog, place.name)
    assert place.host == before


def test_a_host_whose_only_machine_is_lost_waits_without_using_up_resets(place: Place):
    place.registered("south").turn()
    control.launch_hosts(place.catalog, place.name)
    place.agents["south"].turn()
    place.set(tables.host, state="RUNNING", space=ELSEWHERE, heartbeat_at=0.0)
    place.set(tables.unit, state="PROCESSING")
    place.set(tables.machine, tables.machine.c.name == "south", lease_until=0.0, space=ELSEWHERE)
    for failure in find_failures(read_status(place.catalog, place.name), clock.now()):
        reset_unit(place.catalog, place.name, failure.unit)
    status = read_status(place.catalog, place.name)
    assert (status.state, place.host.state) == ("WAITING", "WAITING")
    assert "south is lost, since its lease has ended" in (place.host.error or "")
    assert [unit.state for unit in status.units if unit.row.attempts] == []
    assert find_failures(status, clock.now() + 3600.0) == ()
    place.registered("south")
    HostRescheduler(place.home, "north").reschedule_hosts()
    assert (place.host.state, place.host.machine) == ("STARTING", "south")


def test_a_waiting_application_can_be_cancelled(place: Place):
    control.launch_hosts(place.catalog, place.name)
    control.cancel_application(place.catalog, place.name, 0.0)
    status = read_status(place.catalog, place.name)
    assert (status.state, status.hosts[0].state, status.hosts[0].error) == ("STOPPED", "STOPPED", None)
    place.registered("south")
    HostRescheduler(place.home, "north").reschedule_hosts()
    assert place.host.state == "STOPPED"
