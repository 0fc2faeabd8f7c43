"""Orphans of hosts are found and stopped; small processes stand in for hosts and JVMs."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.deployment import claims
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import CatalogMissingError
from streams_orchestration.runtime.hosts import host, orphans
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.hosts.orphans import record_processes, stop_orphans
from streams_orchestration.runtime.hosts.presence import Presence, UnwantedHostError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status_summaries import watch_applications
from streams_orchestration.runtime.processes.processes import ProcessIdentity, family, identify, is_alive, kill
from streams_orchestration.runtime.settings.limits import ENTERED_LIMIT
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import StoreError
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import compiled, sink, source, totals, write_rows
from streams_orchestration_tests.runtime.catalogs import remove_catalog
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import joined

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("database"), POSTGRESQL_IS_DEEP]

WORKER = "import sys, time; print('up', flush=True); time.sleep(600)"
HOST = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {WORKER!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print("up", flush=True)
time.sleep(600)
"""
"""Starts one process, as a host starts its JVM, and does nothing else."""


class FakeLauncher:
    """Starts `HOST` in place of a host."""

    def __init__(self) -> None:
        self.started: list[tuple[HostStart, subprocess.Popen[bytes]]] = []

    def launch(self, start: HostStart) -> ProcessIdentity:
        child = subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        self.started.append((start, child))
        identity = identify(child.pid)
        assert identity is not None
        return identity

    def pid(self, number: int) -> int:
        """Return the pid of the host that was started last with this number."""
        return next(child.pid for start, child in reversed(self.started) if start.host == number)

    def families(self, home: Home) -> dict[int, tuple[ProcessIdentity, ...]]:
        """Return the processes of every host, written down as a host does it."""
        families = {}
        for start, child in self.started:
            families[start.host] = family(child.pid)
            with Catalog(home).write() as connection:
                record_processes(connection, "app", start.host, start.incarnation, families[start.host])
        return families


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLauncher]:
    fake = FakeLauncher()
    monkeypatch.setattr(claims, "launch_host", fake.launch)
    monkeypatch.setattr(orphans, "GRACE_SECONDS", 0.01)
    yield fake
    for _, child in fake.started:
        with suppress(ProcessLookupError):  # the worker, too, which has another parent when the host was killed
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3))))
    return home


def two_hosts(directory: Path) -> Home:
    """Two regions, each in a PE on a host of its own."""
    home = Home(directory / "home")
    rows = write_rows(directory / "rows.parquet", 3)
    placed: list[Any] = []
    for number in (1, 2):
        together = {"partitionColocation": f"pe{number}"}
        apart = {"placement": {"hostExlocation": "apart", **together}}
        placed.append(source(f"Rows{number}", rows, config=apart))
        placed.append(sink(f"Out{number}", f"Rows{number}", config={"placement": together}))
    deploy(home, deployable(compiled(placed)))
    return home


def killed(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)], timeout=10)


def test_a_host_that_dies_takes_down_only_its_own_pes(tmp_path: Path, launcher: FakeLauncher):
    home = two_hosts(tmp_path)
    launch_hosts(Catalog(home), "app")
    with Catalog(home).write() as connection:
        connection.execute(update(tables.pe).values(state="RUNNING", running=1))
    first, second = launcher.pid(0), launcher.pid(1)
    killed(first)
    status = read_status(Catalog(home), "app")
    (failure,) = find_failures(status, status.hosts[0].row.launched_at + 1)
    assert f"host 0 (pid {first}) is gone" in failure.cause.reason
    reset_unit(Catalog(home), "app", failure.unit, generation=failure.generation)
    after = read_status(Catalog(home), "app")
    assert [host.row.pid for host in after.hosts] == [launcher.pid(0), second]
    assert launcher.pid(0) != first
    assert [pe.state for pe in after.pes] == ["STARTING", "RUNNING"]
    assert sorted((unit.state, unit.generation) for unit in after.units) == [("STARTED", 1), ("UNHEALTHY", 1)]
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(state="RUNNING", heartbeat_at=time.time()))
    advance_units(Catalog(home), "app")
    came_back = read_status(Catalog(home), "app").units
    assert sorted((unit.state, unit.generation) for unit in came_back) == [("PROCESSING", 1), ("RESETTING", 2)]


def test_a_host_that_dies_is_seen_by_who_watches(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    watching = watch_applications(home, 60.0)
    assert next(watching)["app"].suspected == ()
    killed(launcher.pid(0))
    assert next(watching)["app"].suspected == ("region-0",)
    reset_unit(Catalog(home), "app", "region-0")
    assert next(watch_applications(home, 0.0))["app"].suspected == (), "it is seen to"


def test_a_unit_without_an_attempt_left_is_seen_by_who_watches_though_no_pe_has_failed(
    home: Home, launcher: FakeLauncher
):
    launch_hosts(Catalog(home), "app")
    with Catalog(home).write() as connection:
        connection.execute(update(tables.unit).values(state=LIMIT))
    assert next(watch_applications(home, 0.0))["app"].suspected == ("region-0",)


def test_a_catalog_that_takes_the_place_of_another_is_seen_by_who_watches(home: Home, tmp_path: Path):
    watching = watch_applications(home, 60.0)
    assert list(next(watching)) == ["app"]
    recreated(home)
    assert list(next(watching)) == []
    deploy(home, deployable(totals(tmp_path / "rows.parquet")))
    assert list(next(watching)) == ["app"]


def test_a_host_that_a_new_plan_has_entered_and_nobody_has_started_is_seen_by_who_watches(
    home: Home, launcher: FakeLauncher
):
    launch_hosts(Catalog(home), "app")
    entered = time.time() - ENTERED_LIMIT - 1
    with Catalog(home).write() as connection:
        new = {"state": "STOPPED", "pid": None, "process_started": None, "launched_at": entered}
        connection.execute(update(tables.host).values(**new))
    assert next(watch_applications(home, 0.0))["app"].suspected == ("region-0",)
    (failure,) = find_failures(read_status(Catalog(home), "app"), time.time())
    assert "was not started" in failure.cause.reason
    advance_units(Catalog(home), "app")
    assert read_status(Catalog(home), "app").units[0].state != "UNHEALTHY", "what runs goes on"


def test_the_jvm_of_a_dead_host_is_stopped_when_another_host_is_started(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    dead, jvm = launcher.families(home)[0]
    killed(dead.pid)
    assert is_alive(jvm.pid, jvm.started), "the JVM has lost its driver and runs on"
    launch_hosts(Catalog(home), "app")
    assert not is_alive(jvm.pid, jvm.started)
    assert launcher.pid(0) != dead.pid


@pytest.mark.parametrize("stop", [stop_orphans, partial(cancel_application, timeout=0.0)])
def test_processes_that_are_stopped_are_named(home: Home, launcher: FakeLauncher, stop: Callable[..., Any]):
    launch_hosts(Catalog(home), "app")
    dead, jvm = launcher.families(home)[0]
    killed(dead.pid)
    (orphan,) = stop(Catalog(home), "app")
    assert orphan.processes == (jvm,)
    assert "app: stopped leftover processes of host 0, which is gone: python" in str(orphan)
    assert f"(pid {jvm.pid})" in str(orphan)
    assert stop_orphans(Catalog(home), "app") == (), "and it is forgotten"


def test_processes_of_a_host_that_lives_are_left_alone(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    processes = launcher.families(home)[0]
    assert stop_orphans(Catalog(home), "app") == ()
    assert all(is_alive(each.pid, each.started) for each in processes)


def test_a_host_whose_launcher_could_not_record_its_process_is_no_orphan(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    processes = launcher.families(home)[0]
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(pid=None, process_started=None))
    assert stop_orphans(Catalog(home), "app") == ()
    assert all(is_alive(each.pid, each.started) for each in processes)


def test_a_host_that_is_up_reports_its_process_and_has_not_failed(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    start, _ = launcher.started[0]
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(pid=None, process_started=None))
        connection.execute(update(tables.host).values(state="FAILED", error="it did not answer a reset"))
    presence = Presence(Catalog(home), "app", 0, start.incarnation)
    presence.join()
    presence.report_up()
    (host,) = read_status(Catalog(home), "app").hosts
    assert (host.state, host.row.pid, host.alive, host.error) == ("RUNNING", os.getpid(), True, None)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            OSError(errno.EIO, "I/O error", "a"),
            "a could not be written or read: I/O error; repair the disk, then reset",
        ),
        (StoreError("s3://b/p cannot be reached"), "s3://b/p cannot be reached"),
        (ConnectionResetError(), None),
        (ValueError("of an operator"), None),
    ],
    ids=["a file", "a store", "a connection", "another error"],
)  # fmt: skip
def test_a_host_that_could_not_use_a_file_says_so_until_it_is_started_again(
    home: Home, launcher: FakeLauncher, error: Exception, reason: str | None
):
    launch_hosts(Catalog(home), "app")
    presence = Presence(Catalog(home), "app", 0, launcher.started[0][0].incarnation)
    presence.join()
    presence.report_failure("it has ended", error)
    (host,) = read_status(Catalog(home), "app").hosts
    assert (host.state, host.row.storage_error) == ("FAILED", reason)
    killed(launcher.families(home)[0][0].pid)
    launch_hosts(Catalog(home), "app")
    (host,) = read_status(Catalog(home), "app").hosts
    assert (host.state, host.row.storage_error) == ("STARTING", None)


def test_a_host_that_was_paused_and_replaced_is_stopped(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    paused, jvm = launcher.families(home)[0]
    os.kill(paused.pid, signal.SIGSTOP)
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(incarnation="another", pid=os.getpid()))
    (actual,) = stop_orphans(Catalog(home), "app")
    assert {process.pid for process in actual.processes} == {paused.pid, jvm.pid}
    assert "which was restarted since" in str(actual)
    assert not is_alive(paused.pid, paused.started)


def test_a_paused_host_is_killed_by_the_reset_that_starts_another(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    paused = launcher.families(home)[0][0]
    os.kill(paused.pid, signal.SIGSTOP)
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(state="RUNNING", launched_at=1.0, heartbeat_at=1.0))
    reset_unit(Catalog(home), "app", "region-0")
    assert not is_alive(paused.pid, paused.started)
    assert read_status(Catalog(home), "app").hosts[0].row.pid == launcher.pid(0) != paused.pid


def test_cancel_stops_all_even_a_host_that_does_not_listen(home: Home, launcher: FakeLauncher):
    launch_hosts(Catalog(home), "app")
    processes = launcher.families(home)[0]
    cancel_application(Catalog(home), "app", 0.0)
    assert not any(is_alive(each.pid, each.started) for each in processes)


@pytest.mark.parametrize("changed", ["started", "command"])
def test_a_process_that_is_not_ours_is_never_touched(home: Home, launcher: FakeLauncher, changed: str):
    launch_hosts(Catalog(home), "app")
    dead, jvm = launcher.families(home)[0]
    killed(dead.pid)
    other = {"started": jvm.started - 60.0} if changed == "started" else {"command": "vi notes"}
    with Catalog(home).write() as connection:
        connection.execute(update(tables.process).where(tables.process.c.pid == jvm.pid).values(**other))
    assert stop_orphans(Catalog(home), "app") == ()
    assert is_alive(jvm.pid, jvm.started)
    kill(jvm.pid, jvm.started)


def recreated(home: Home) -> None:
    remove_catalog(home)
    create_catalog(home)


def dropped(home: Home) -> None:
    with Catalog(home).write() as connection:
        for table in tables.metadata.sorted_tables:
            connection.execute(table.delete())


def started_anew(home: Home) -> None:
    with Catalog(home).write() as connection:
        connection.execute(update(tables.application).values(life="another"))


def replaced(home: Home) -> None:
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(incarnation="another"))


ENDS: dict[str, tuple[Callable[[Home], None], str]] = {
    "the catalog is gone": (remove_catalog, "was removed, or replaced by another one|was dropped or started over"),
    "the catalog was created again": (recreated, "was removed, or replaced by another one|was dropped or started over"),
    "the application was dropped": (dropped, "was dropped or started over"),
    "the application was started over": (started_anew, "was dropped or started over"),
    "another host was started": (replaced, "declared dead"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_host_sees_that_nobody_wants_it(home: Home, case: str):
    happen, reason = ENDS[case]
    here = joined(home)
    assert here.row().wanted == "RUNNING"
    happen(home)
    with pytest.raises(UnwantedHostError, match=reason):
        here.row()


@pytest.mark.parametrize("happen", [started_anew, replaced])
def test_reports_of_an_unwanted_host_are_not_written(home: Home, happen: Callable[[Home], None]):
    here = joined(home)
    here.report_up()
    happen(home)
    here.report_end("FAILED", "late")
    with Catalog(home).read() as connection:
        assert connection.scalars(select(tables.host.c.state)).one() == "RUNNING"


def test_a_host_whose_launcher_died_before_it_wrote_it_down_ends(home: Home):
    with pytest.raises(UnwantedHostError, match="its launch is not in the catalog"):
        Presence(Catalog(home), "app", 0, "never recorded").join(0.0)


def test_a_running_host_ends_when_its_catalog_goes(home: Home, monkeypatch: pytest.MonkeyPatch):
    """The loop of a real host, with a session and queries that do nothing."""
    monkeypatch.setattr(Heartbeat, "start", lambda _self: None)
    monkeypatch.setattr(host, "MIN_INTERVAL_SECONDS", 0.0)
    joined(home)
    engine = IdleEngine()
    running = Host(home, "app", 0, "mine", engine)
    ended: list[Exception] = []

    def run() -> None:
        try:
            running.run()
        except (UnwantedHostError, CatalogMissingError) as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert engine.started.wait(30)
    remove_catalog(home)
    thread.join(30)
    running.heartbeat.stop_checks()
    running.publisher.stop()  # daemons both, which end with a process
    assert not thread.is_alive()
    assert len(ended) == 1
