"""A host is chosen in a transaction, started outside of it, and entered only if it is still wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import opening
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.deployment import continue_if_stopped
from streams_orchestration.runtime.errors.errors import CommitUnknownError, HostLaunchError, NotDeployableError
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.machines.agent import Agent, Machine
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.settings.settings import EngineSettings, Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import FakeHosts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An application on two hosts that are to be apart, of which none runs."""
    apart = {"config": {"placement": {"partitionIsolation": True, "hostExlocation": ["apart"]}}}
    file = write_rows(tmp_path / "rows.parquet", 5)
    graph = [source("Rows", file, **apart), sink("Out", "Rows", **apart)]
    LocalApplication(Home(tmp_path / "home"), compiled(graph), 5)
    return Home(tmp_path / "home")


def rows_of(home: Home) -> list[Any]:
    """Hosts and PEs as the catalog has them."""
    h, p = tables.host, tables.pe
    with Catalog(home).read() as connection:
        return [
            *connection.execute(select(h).order_by(h.c.id)).all(),
            *connection.execute(select(p.c.id, p.c.state, p.c.error, p.c.permanent).order_by(p.c.id)).all(),
        ]


def pids(home: Home) -> list[int | None]:
    h = tables.host
    with Catalog(home).read() as connection:
        return list(connection.scalars(select(h.c.pid).order_by(h.c.id)))


def change(home: Home, host: int, **values: Any) -> None:
    h = tables.host
    with Catalog(home, busy_seconds=0.05).write() as connection:
        connection.execute(update(h).where(h.c.id == host).values(**values))


def test_a_start_holds_up_no_writer(home: Home, hosts: FakeHosts):
    hosts.interruption = lambda start: change(home, start.host, error="written meanwhile")
    assert launch_hosts(Catalog(home), "app") == ("host 0, pid 101", "host 1, pid 102")
    assert pids(home) == [101, 102]


@pytest.mark.parametrize("takes_effect", [True, False])
def test_a_claim_whose_answer_is_lost_is_carried_out_if_it_was_made(
    home: Home, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch, takes_effect: bool
):
    write, failed = Catalog.write, list[Connection]()

    @contextmanager
    def losing(catalog: Catalog) -> Iterator[Connection]:
        with suppress(ZeroDivisionError), write(catalog) as connection:
            yield connection
            claims = connection.scalar(select(tables.host.c.id).where(tables.host.c.state == "STARTING"))
            if failed or claims is None:
                return
            failed.append(connection)
            if not takes_effect:
                raise ZeroDivisionError
        if failed and not hosts.launched:
            raise CommitUnknownError(catalog.name, "the server is gone")

    monkeypatch.setattr(Catalog, "write", losing)
    if takes_effect:
        assert launch_hosts(Catalog(home), "app") == ("host 0, pid 101", "host 1, pid 102")
    else:
        with pytest.raises(CommitUnknownError):
            launch_hosts(Catalog(home), "app")
        assert pids(home) == [None, None]
        assert hosts.alive_pids == set(), "what was started for nothing is killed"


def test_a_claim_for_an_agent_that_is_lost_is_no_start(home: Home, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch):
    Agent(home, Machine("north", (), 2), Standbys(home, "north", 0, EngineSettings())).register()
    Agent(home, Machine("south", (), 2), Standbys(home, "south", 0, EngineSettings())).register()
    write = Catalog.write

    @contextmanager
    def losing(catalog: Catalog) -> Iterator[Connection]:
        with suppress(ZeroDivisionError), write(catalog) as connection:
            yield connection
            raise ZeroDivisionError
        raise CommitUnknownError(catalog.name, "the server is gone")

    monkeypatch.setattr(Catalog, "write", losing)
    with pytest.raises(CommitUnknownError):
        launch_hosts(Catalog(home), "app")
    monkeypatch.setattr(Catalog, "write", write)
    assert launch_hosts(Catalog(home), "app") == ("host 0 on north", "host 1 on south")


def test_a_host_that_came_up_before_it_was_recorded_stays(home: Home, hosts: FakeHosts):
    hosts.interruption = lambda start: change(home, start.host, pid=101 + start.host, state="RUNNING")
    assert launch_hosts(Catalog(home), "app") == ("host 0, pid 101", "host 1, pid 102")


def test_only_one_of_two_simultaneous_launches_starts_a_host(home: Home, hosts: FakeHosts):
    others: list[tuple[str, ...]] = []
    hosts.interruption = lambda _: others.append(launch_hosts(Catalog(home), "app"))
    launch_hosts(Catalog(home), "app")
    assert (hosts.launched, others) == ([0, 1], [(), ()])
    assert pids(home) == [101, 102]


@pytest.mark.slow
def test_a_host_that_is_stopped_while_it_starts_is_ended_again(home: Home, hosts: FakeHosts):
    hosts.interruption = lambda start: start.host or cancel_application(Catalog(home), "app", timeout=0.0)
    launch_hosts(Catalog(home), "app")
    assert 101 not in hosts.alive_pids
    assert pids(home)[0] is None


def test_failed_launches_before_a_stop_do_not_count_after_the_next_start(home: Home):
    change(home, 0, state="FAILED", launches=5)
    with Catalog(home).write() as connection:
        connection.execute(update(tables.application).values(wanted="STOPPED"))
        continue_if_stopped(connection, "app", Settings())
        assert list(connection.scalars(select(tables.host.c.launches))) == [0, 0]


def test_a_host_that_another_process_starts_anew_meanwhile_is_ended_again(home: Home, hosts: FakeHosts):
    hosts.interruption = lambda start: start.host or change(home, 0, incarnation="newer", pid=7)
    assert launch_hosts(Catalog(home), "app") == ("host 1, pid 102",)
    assert hosts.alive_pids == {102}
    assert pids(home) == [7, 102]


class NoRoomError(Exception):
    """There is no room for a process."""


@pytest.mark.parametrize(
    "error", [HostLaunchError("no room"), NoRoomError(), KeyboardInterrupt()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("failing", [0, 1])
def test_a_start_that_fails_leaves_its_host_and_the_next_as_they_were(
    home: Home, hosts: FakeHosts, error: BaseException, failing: int
):
    before = rows_of(home)

    def fails(start: HostStart) -> None:
        if start.host == failing:
            raise error

    hosts.interruption = fails
    with pytest.raises(type(error)):
        launch_hosts(Catalog(home), "app")
    after = rows_of(home)
    assert after[failing:2] == before[failing:2]
    assert pids(home) == [101, None][: 1 + failing] if failing else [None, None]
    assert [row.state for row in after[2:]] == [
        "STARTING" if number < failing else row.state for number, row in enumerate(before[2:])
    ]
    hosts.interruption = None
    assert launch_hosts(Catalog(home), "app") == tuple(
        f"host {number}, pid {101 + number}" for number in range(failing, 2)
    )


def test_a_host_that_another_process_has_started_is_not_released(home: Home, hosts: FakeHosts):
    def fails(start: HostStart) -> None:
        change(home, 0, incarnation="newer", pid=7)
        message = "no room"
        raise HostLaunchError(message)

    hosts.interruption = fails
    with pytest.raises(HostLaunchError):
        launch_hosts(Catalog(home), "app")
    assert pids(home) == [7, None]
    host, other = rows_of(home)[:2]
    assert (host.state, other.incarnation) == ("STARTING", None)


def test_a_host_that_is_released_has_the_requirements_of_a_plan_that_was_written_meanwhile(
    home: Home, hosts: FakeHosts
):
    def fails(start: HostStart) -> None:
        change(home, start.host, requirements={"tags": ["new"]})
        message = "no room"
        raise HostLaunchError(message)

    hosts.interruption = fails
    with pytest.raises(HostLaunchError):
        launch_hosts(Catalog(home), "app")
    host = rows_of(home)[0]
    assert (host.state, host.requirements) == ("STOPPED", {"tags": ["new"]})


def refers_to_secrets(home: Home) -> None:
    """Deploy an application whose two sinks, on one host, refer to variables and a file."""
    parameters = {"url": "http://127.0.0.1:1/${env:NO_PATH}", "token": "${env:NO_TOKEN}"}
    graph = [
        source("Rows", write_rows(home.root.parent / "rows.parquet", 5)),
        node("Out", "HttpSink", "Rows", outputs=[], parameters=parameters | {"headers": {"X-Key": "${file:/no/key}"}}),
        node("Other", "HttpSink", "Rows", outputs=[], parameters=parameters | {"token": "${env:IS_SET}"}),
    ]
    deploy(home, deployable(compiled(graph, fusion="none")))


def test_a_reference_that_is_not_resolved_keeps_a_host_from_starting_and_all_as_it_was(
    tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    home = Home(tmp_path / "home")
    monkeypatch.setenv("IS_SET", "value")
    with pytest.raises(
        NotDeployableError, match=r"^app is not started: operator Out: headers: X-Key: the file /no/key"
    ):
        refers_to_secrets(home)
    assert list_applications(Catalog(home)) == ()
    with monkeypatch.context() as resolved_then:
        resolved_then.setattr(opening, "unresolved_references", lambda programs: None)
        refers_to_secrets(home)
    before = rows_of(home)
    with pytest.raises(HostLaunchError) as raised:
        launch_hosts(Catalog(home), "app")
    unset = "is not set in the host's process"
    assert str(raised.value) == (
        "host 0 of app is not started: "
        "operator Out: headers: X-Key: the file /no/key cannot be read by the host's process: "
        "No such file or directory; "
        f"operator Out: token: the environment variable NO_TOKEN {unset}; "
        f"operator Out: url: the environment variable NO_PATH {unset}; "
        f"operator Other: url: the environment variable NO_PATH {unset}. "
        "Hosts are processes of the user whose command, Dagster daemon or agent starts them: write the file where "
        "that user can read it, and run it again; hosts have the environment of the command, Dagster daemon or agent "
        "that starts them: set it there, and run it again"
    )
    assert (hosts.launched, rows_of(home)) == ([], before)


def test_a_reference_on_a_spark_cluster_is_resolved_by_executors(
    tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("STREAMS_MASTER", "yarn")
    home = Home(tmp_path / "home")
    refers_to_secrets(home)
    assert launch_hosts(Catalog(home), "app") == ("host 0, pid 101",)
