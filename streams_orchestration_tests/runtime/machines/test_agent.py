"""An agent: it registers its machine, starts the hosts that are wanted there, and reports those that have ended."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, Update, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control, reset
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import HostLaunchError, HostStartError, MachineError
from streams_orchestration.runtime.hosts import orphans
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.machines import agent as agents
from streams_orchestration.runtime.machines import standbys
from streams_orchestration.runtime.machines.register import (
    forget_machine,
    read_machines,
    set_machine_state,
    shorten_leases,
)
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.processes.processes import ProcessIdentity, process_space
from streams_orchestration.runtime.settings.limits import LEASE_SECONDS
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration_tests.runtime.applications import compiled, node, source, totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    place.registered("m")
    return place


def test_an_agent_starts_the_hosts_that_are_wanted_on_its_machine(place: Place):
    assert control.launch_hosts(place.catalog, place.name) == ("host 0 on m",)
    assert (place.host.state, place.host.machine, place.host.pid) == ("STARTING", "m", None)
    place.agents["m"].turn()
    assert place.hosts.launched == [0]
    assert (place.host.pid, place.host.space) == (101, process_space())
    assert read_machines(place.catalog)[0].hosts == (f"{place.name}/0",)


def test_a_host_that_cannot_be_started_for_a_reason_of_its_own_is_reported_and_the_agent_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    def has_queries(*_: object) -> bool:
        missing = "engine"
        raise KeyError(missing)

    control.launch_hosts(place.catalog, place.name)
    with monkeypatch.context() as patch:
        patch.setattr(agents, "has_queries", has_queries)
        place.agents["m"].turn()
    assert place.host.state == "FAILED"
    assert "it cannot be started on m: KeyError('engine')" in str(place.host.error)


def test_a_reference_that_the_agent_cannot_resolve_is_the_error_of_its_host(
    tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    graph = [
        source("Rows", write_rows(tmp_path / "rows.parquet", 5)),
        node("Out", "HttpSink", "Rows", outputs=[], parameters={"url": "http://127.0.0.1:1/${env:NOT_SET}"}),
    ]
    with monkeypatch.context() as deployed:
        deployed.setenv("NOT_SET", "path")
        place = Place(tmp_path, hosts, compiled(graph))
    place.registered("m")
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    assert (place.hosts.launched, place.host.state) == ([], "FAILED")
    assert "operator Out: url: the environment variable NOT_SET is not set" in str(place.host.error)


def test_status_says_where_a_host_is(place: Place):
    control.launch_hosts(place.catalog, place.name)
    assert read_status(place.catalog, place.name).hosts[0].process == "no process on m yet"
    place.agents["m"].turn()
    assert read_status(place.catalog, place.name).hosts[0].process == "pid 101 on m"


def test_a_host_that_waits_for_an_agent_is_started_once(place: Place):
    control.launch_hosts(place.catalog, place.name)
    incarnation = place.host.incarnation
    control.launch_hosts(place.catalog, place.name)
    assert place.host.incarnation == incarnation
    place.agents["m"].turn()
    place.agents["m"].turn()
    assert place.hosts.launched == [0]


def test_a_process_that_an_agent_did_not_write_down_is_no_host(place: Place, monkeypatch: pytest.MonkeyPatch):
    control.launch_hosts(place.catalog, place.name)
    started: list[str] = []
    launch = place.hosts.launch

    def die(start: HostStart) -> ProcessIdentity:
        started.append(start.incarnation)
        raise KeyboardInterrupt

    monkeypatch.setattr(standbys, "launch_host", die)
    with pytest.raises(KeyboardInterrupt):
        place.agents["m"].turn()
    monkeypatch.setattr(standbys, "launch_host", launch)
    place.agents["m"].turn()
    assert place.host.pid == 101
    assert place.host.incarnation not in started


def test_a_machine_that_is_drained_stays_so_when_its_agent_comes_back(place: Place):
    set_machine_state(place.catalog, "m", "DRAINING")
    place.set(tables.machine, space=ELSEWHERE, lease_until=0.0)
    place.registered("m")
    assert read_machines(place.catalog)[0].state == "DRAINING"


def test_a_host_that_is_stopped_while_an_agent_starts_it_is_ended_again(place: Place, monkeypatch: pytest.MonkeyPatch):
    launch = place.hosts.launch

    def interrupted(start: HostStart) -> ProcessIdentity:
        control.cancel_application(place.catalog, place.name, 0.0)
        return launch(start)

    control.launch_hosts(place.catalog, place.name)
    monkeypatch.setattr(standbys, "launch_host", interrupted)
    place.agents["m"].turn()
    assert (place.host.state, place.host.pid, place.hosts.alive_pids) == ("STOPPED", None, set())


def test_an_agent_reports_a_host_that_has_ended(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.host, state="RUNNING")
    place.hosts.alive_pids.clear()
    place.agents["m"].turn()
    assert (place.host.state, place.host.error) == ("FAILED", "its process 101 on m has ended")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (HostLaunchError("no room"), "no room"),
        (HostStartError(0, "app", "ended at once", "/logs/host-0.log on m"), "it ended at once"),
    ],
    ids=["no room", "it ended"],
)
def test_an_agent_reports_a_host_that_cannot_be_started(
    place: Place, monkeypatch: pytest.MonkeyPatch, error: HostLaunchError, reason: str
):
    def refuse(_start: object) -> None:
        raise error

    monkeypatch.setattr(standbys, "launch_host", refuse)
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    assert (place.host.state, place.host.error) == ("FAILED", reason)
    (failure,) = find_failures(read_units(place.catalog, place.name), time.time())
    assert failure.explanation == f"host 0 failed: {reason} (log: {place.home.host_log(place.name, 0)})"


def test_another_agent_of_the_same_name_is_refused(place: Place):
    place.set(tables.machine, space=ELSEWHERE)
    with pytest.raises(MachineError, match=r"an agent on .* has registered machine m; use another --name, or wait"):
        place.registered("m")


def test_a_machine_that_was_started_anew_has_lost_its_hosts(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.machine, space=ELSEWHERE, lease_until=0.0)
    place.set(tables.host, space=ELSEWHERE, state="RUNNING")
    place.registered("m")
    assert (place.host.state, place.host.error) == ("FAILED", "machine m was restarted")


def test_an_agent_whose_machine_is_another_ones_now_ends(place: Place):
    place.set(tables.machine, space=ELSEWHERE)
    with pytest.raises(MachineError, match="machine m was removed, or another agent has registered it"):
        place.agents["m"].turn()


def test_no_process_of_another_machine_is_signalled(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.host, space=ELSEWHERE)
    place.set(tables.process, space=ELSEWHERE)
    assert orphans.stop_orphans(place.catalog, place.name) == ()
    control.cancel_application(place.catalog, place.name, 0.0)
    assert place.hosts.alive_pids == {101}


def test_a_host_elsewhere_lives_as_long_as_it_is_heard(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    now = place.host.launched_at
    for heard, alive in ((None, True), (now, True), (now - 1000.0, False)):
        place.set(tables.host, space=ELSEWHERE, state="RUNNING", heartbeat_at=heard)
        assert read_status(place.catalog, place.name).hosts[0].alive is alive


def test_a_silent_host_is_started_on_another_machine(place: Place):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.host, space=ELSEWHERE, state="RUNNING", heartbeat_at=0.0)
    place.set(tables.machine, lease_until=0.0)
    place.registered("n")
    control.launch_hosts(place.catalog, place.name)
    assert (place.host.machine, place.host.pid) == ("n", None)


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        ("RUNNING", None, ("FAILED", "it did not answer a reset")),
        ("FAILED", "its engine has ended", ("FAILED", "its engine has ended")),
        ("WAITING", "no machine has room", ("WAITING", "no machine has room")),
    ],
)
def test_a_reset_that_takes_too_long_fails_a_host_elsewhere_unless_its_row_has_the_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch, state: str, error: str | None, after: tuple[str, str]
):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.host, space=ELSEWHERE, state=state, error=error, heartbeat_at=clock.now())
    place.set(tables.unit, state="RESETTING", timer="reset", deadline=0.0)
    place.set(tables.pe, running=0)
    monkeypatch.setattr(reset, "start_missing_hosts", lambda *_, **__: ())
    reset_unit(place.catalog, place.name, "region-0")
    assert (place.host.state, place.host.error) == after


def test_a_machine_that_was_started_anew_waits_for_its_former_lease(place: Place):
    place.set(tables.machine, space=ELSEWHERE, lease_until=clock.now() + 0.3)
    anew = place.unregistered("m")
    anew.await_former()
    anew.register()
    with place.catalog.read() as connection:
        assert MachineRow.one(connection, select(tables.machine)).space == process_space()


def test_a_lease_in_the_future_ends_as_one_that_is_renewed_now(place: Place):
    """The clock of the catalog was set back."""
    place.set(tables.machine, space=ELSEWHERE, lease_until=clock.now() + 3_600.0)
    place.unregistered("n").register()
    anew = place.unregistered("m")
    anew.end()
    anew.await_former()
    with place.catalog.read() as connection:
        lease = MachineRow.one(connection, select(tables.machine).where(tables.machine.c.name == "m")).lease_until
    assert lease <= clock.now() + LEASE_SECONDS


def test_an_agent_writes_leases_of_others_only_in_its_turn(place: Place, monkeypatch: pytest.MonkeyPatch):
    """Otherwise two agents that write each other's rows could wait for each other in a circle."""
    there, far = tables.machine.c.name == "m", clock.now() + 3_600.0
    place.set(tables.machine, space=ELSEWHERE, lease_until=far)
    agent = place.unregistered("n")
    agent.register()
    noted: list[float] = []
    note = Catalog.note

    @contextlib.contextmanager
    def watched(catalog: Catalog) -> Iterator[Connection]:
        with note(catalog) as connection:
            yield connection
            noted.extend(connection.scalars(select(tables.machine.c.lease_until).where(there)))

    monkeypatch.setattr(Catalog, "note", watched)
    agent.turn()
    with place.catalog.read() as connection:
        lease = MachineRow.one(connection, select(tables.machine).where(there)).lease_until
    assert (noted, lease <= clock.now() + LEASE_SECONDS) == ([far], True)


def test_an_agent_writes_the_same_leases_if_its_statement_is_repeated(place: Place, monkeypatch: pytest.MonkeyPatch):
    """Another agent may renew its lease meanwhile by an old reading of the clock."""
    far, ran, execute = clock.now() + 3_600.0, list[Any](), Connection.execute

    def noted(connection: Connection, statement: Any, *more: Any, **options: Any) -> Any:
        ran.append(statement)
        return execute(connection, statement, *more, **options)

    place.set(tables.machine, space=ELSEWHERE, lease_until=far)
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", noted)
        shorten_leases(place.catalog)
    place.set(tables.machine, lease_until=far)
    (written,) = [each for each in ran if isinstance(each, Update)]
    with place.catalog.write() as connection:
        assert connection.execute(written).rowcount == 1


def test_an_agent_that_is_heard_keeps_its_machine(place: Place, monkeypatch: pytest.MonkeyPatch):
    place.set(tables.machine, space=ELSEWHERE, lease_until=clock.now() + 30.0)
    renews = SimpleNamespace(
        sleep=lambda _: place.set(tables.machine, lease_until=clock.now() + 60.0), monotonic=time.monotonic
    )
    anew = place.unregistered("m")
    with monkeypatch.context() as patch:
        patch.setattr(agents, "world", renews)
        anew.await_former()
    with pytest.raises(MachineError, match="has registered machine m; use another --name"):
        anew.register()


@pytest.mark.parametrize(("state", "reached", "machine"), [
    ("DRAINING", False, "n"),
    ("DRAINING", True, "m"),
    ("UP", False, "m"),
])  # fmt: skip
def test_a_reset_takes_hosts_without_storage_off_a_machine_that_is_drained(
    place: Place, state: str, machine: str, *, reached: bool
):
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    since = None if reached else place.host.launched_at
    now = clock.now()
    place.set(tables.host, space=ELSEWHERE, state="RUNNING", heartbeat_at=now, storage_failed_at=since)
    place.registered("n")
    set_machine_state(place.catalog, "m", state)
    for unit in read_status(place.catalog, place.name).units:
        reset_unit(place.catalog, place.name, unit.name)
    assert place.host.machine == machine


def test_processes_of_a_replaced_host_are_ended_and_logged_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(orphans, "living", lambda known, patience=0.0: tuple(
        each for each in known if each.pid in place.hosts.alive_pids
    ))  # fmt: skip
    control.launch_hosts(place.catalog, place.name)
    place.agents["m"].turn()
    place.set(tables.host, incarnation="a later one", state="STARTING", pid=None)
    monkeypatch.setattr(agents, "ORPHANS_SECONDS", 0.0)
    place.agents["m"].turn()
    assert place.hosts.alive_pids == {102}
    assert caplog.text.count("stopped leftover processes of host 0") == 1


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda _: None, "machine m is UP; end its agent first"),
        (lambda place: control.launch_hosts(place.catalog, place.name), "machine m has running hosts"),
    ],
)
def test_a_machine_in_use_is_not_forgotten(place: Place, prepare: Any, message: str):
    prepare(place)
    if place.host.machine:
        place.agents["m"].leave()
    with pytest.raises(MachineError, match=message):
        forget_machine(place.catalog, "m")


def test_a_machine_that_registers_before_it_is_forgotten_is_in_use(place: Place, monkeypatch: pytest.MonkeyPatch):
    write = Catalog.write

    def registered_meanwhile(catalog: Catalog) -> contextlib.AbstractContextManager[Connection]:
        monkeypatch.setattr(Catalog, "write", write)
        place.registered("late")
        return write(catalog)

    monkeypatch.setattr(Catalog, "write", registered_meanwhile)
    with pytest.raises(MachineError, match="machine late is UP; end its agent first"):
        forget_machine(place.catalog, "late")


def test_a_machine_whose_agent_has_ended_is_forgotten(place: Place):
    place.agents["m"].leave()
    assert read_machines(place.catalog)[0].state == "DOWN"
    forget_machine(place.catalog, "m")
    assert read_machines(place.catalog) == ()


def test_a_machine_that_is_not_there(place: Place):
    with pytest.raises(MachineError, match="there is no machine x; the machines are m"):
        set_machine_state(place.catalog, "x", "UP")
