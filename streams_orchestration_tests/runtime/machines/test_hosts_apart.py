"""Hosts that are to be apart are: when they are deployed, when a machine is lost, drained or comes back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.deployment_plan import HostRequirements
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.machines.register import set_machine_state
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment.host_moves import drain_machine
from streams_orchestration.runtime.redeployment.host_rescheduling import HostRescheduler
from streams_orchestration.runtime.units.host_requirements import stored_requirements
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")


def config(**placement: Any) -> dict[str, Any]:
    return {"config": {"placement": {"partitionIsolation": True} | placement}}


APART, ALONE = config(hostExlocation=["apart"]), config(hostIsolation=True)


def three_hosts(
    place: Path, first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]
) -> PlannedCompilation:
    rows = write_rows(place / "rows.parquet", 5)
    graph = [
        source("Rows", rows, **first),
        node("Doubled", "Doubling", "Rows", **second),
        sink("Out", "Doubled", **third),
    ]
    return compiled(graph)


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """Three hosts that are to be apart, and no machine."""
    return Place(tmp_path, hosts, three_hosts(tmp_path, APART, APART, APART))


def run(place: Place, machines: Iterable[str]) -> None:
    """Have machines of these names, and an application that runs."""
    for name in machines:
        place.registered(name)
    control.launch_hosts(place.catalog, place.name)
    start(place)


def start(place: Place) -> None:
    """Have the agents start what is to be started, and all of it work."""
    for agent in place.agents.values():
        agent.turn()
    here = tables.host.c.machine.is_not(None) & (tables.host.c.state == "STARTING")
    place.set(tables.host, here, state="RUNNING", heartbeat_at=clock.now())
    place.set(tables.unit, state="PROCESSING", period=3600.0, timer=None, deadline=None)  # no epoch ends by itself


def lose(place: Place, machine: str) -> None:
    """Lose a machine with its hosts."""
    del place.agents[machine]
    place.set(tables.machine, tables.machine.c.name == machine, lease_until=0.0, space=ELSEWHERE)
    place.set(tables.host, tables.host.c.machine == machine, space=ELSEWHERE, heartbeat_at=0.0)


def misplaced(place: Place) -> list[str]:
    return [reason for host in read_status(place.catalog, place.name).hosts for reason in host.misplaced]


def resets(place: Place) -> None:
    for unit in read_status(place.catalog, place.name).units:
        reset_unit(place.catalog, place.name, unit.name)


def test_hosts_are_deployed_apart(place: Place):
    run(place, "abc")
    assert sorted(place.on.values()) == ["a", "b", "c"]
    assert misplaced(place) == []


def test_hosts_of_other_applications_do_not_bring_them_together(tmp_path: Path, hosts: FakeHosts):
    rows = write_rows(tmp_path / "rows.parquet", 5)
    run(Place(tmp_path, hosts, compiled([source("Rows", rows), sink("Out", "Rows")], application="crowd")), "c")
    place = Place(tmp_path, hosts, three_hosts(tmp_path, APART, APART, APART))
    run(place, "ab")
    with place.catalog.read() as connection:
        machines = {row.machine for row in connection.execute(tables.host.select()) if row.application == "app"}
    assert machines == {"a", "b", "c"}


def test_the_status_says_what_could_not_be_kept_apart(place: Place):
    run(place, "ab")
    (reason,) = misplaced(place)
    assert reason == "hosts 0 and 2 share a, although hostExlocation apart keeps them apart"


def test_a_host_that_is_isolated_shares_no_machine(tmp_path: Path, hosts: FakeHosts):
    place = Place(tmp_path, hosts, three_hosts(tmp_path, config(host="a"), config(host="b"), ALONE))
    run(place, "ab")
    (reason,) = misplaced(place)
    assert reason.endswith("although hostIsolation keeps them apart")


def test_a_reset_keeps_hosts_apart_as_long_as_there_are_machines(place: Place):
    run(place, "abcd")
    lost = place.on[1]
    lose(place, lost)
    resets(place)
    assert sorted(set(place.on.values()) | {lost}) == ["a", "b", "c", "d"]


def test_a_machine_that_comes_back_takes_what_shared_another(place: Place):
    run(place, "abc")
    lose(place, "c")
    resets(place)
    start(place)
    assert len(misplaced(place)) == 1
    tending = HostRescheduler(place.home, "a")
    tending.reschedule_hosts()
    assert sorted(place.on.values()) == ["a", "a", "b"], "nothing is moved while no machine takes it"
    place.registered("c")
    tending.reschedule_hosts()
    assert sorted(place.on.values()) == ["a", "b", "c"]
    assert misplaced(place) == []


def test_a_host_that_is_moved_does_not_keep_the_troubles_of_its_machine(place: Place):
    run(place, "abc")
    lose(place, "c")
    resets(place)
    start(place)
    place.set(tables.host, storage_error="it does not answer", storage_failed_at=clock.now())
    place.registered("c")
    HostRescheduler(place.home, "a").reschedule_hosts()
    status = read_status(place.catalog, place.name)
    assert {host.machine for host in status.hosts if host.row.storage_error is None} == {"c"}


def test_the_move_of_a_host_is_a_launch_that_counts_until_the_host_comes_up(place: Place):
    run(place, "abc")
    lose(place, "c")
    resets(place)
    start(place)
    place.set(tables.host, launches=0)
    place.registered("c")
    HostRescheduler(place.home, "a").reschedule_hosts()
    assert {row.machine for row in place.rows.values() if row.launches == 1} == {"c"}


def test_a_drain_keeps_hosts_apart_by_moving_others_too(tmp_path: Path, hosts: FakeHosts):
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", 5), **APART), sink("Out", "Rows", **APART)]
    place = Place(tmp_path, hosts, compiled(graph))
    for name, tags in (("a", ("ssd",)), ("b", ()), ("c", ("ssd",))):
        place.registered(name, *tags)
    picky = stored_requirements(HostRequirements(1, None, ("ssd",), ("apart",)))
    place.set(tables.host, tables.host.c.id == 1, requirements=picky)
    set_machine_state(place.catalog, "b", "DRAINING")
    control.launch_hosts(place.catalog, place.name)
    start(place)
    assert place.on == {0: "a", 1: "c"}
    set_machine_state(place.catalog, "b", "UP")
    drain_machine(place.catalog, "c", within=10.0)
    assert place.on == {0: "b", 1: "a"}


def test_only_the_agent_of_the_first_machine_moves_hosts(place: Place):
    run(place, "ab")
    place.registered("c")
    HostRescheduler(place.home, "b").reschedule_hosts()
    assert len(misplaced(place)) == 1
    place.set(tables.machine, tables.machine.c.name == "a", lease_until=0.0)
    HostRescheduler(place.home, "b").reschedule_hosts()
    assert misplaced(place) == []


def test_hosts_of_an_application_in_trouble_are_not_moved(place: Place):
    run(place, "ab")
    place.registered("c")
    place.set(tables.unit, state="UNHEALTHY")
    HostRescheduler(place.home, "a").reschedule_hosts()
    assert len(misplaced(place)) == 1
