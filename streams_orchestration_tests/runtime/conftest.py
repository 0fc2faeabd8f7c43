from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url

from streams_orchestration.operators.states import state
from streams_orchestration.runtime.catalog import address, changes, postgresql
from streams_orchestration.runtime.catalog.changes import Changes
from streams_orchestration.runtime.deployment import claims, control, reset
from streams_orchestration.runtime.hosts import launcher
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.machines import standbys
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks import state_files
from streams_orchestration.runtime.units import status
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime.running import FakeHosts, Running
from streams_orchestration_tests.volatile import volatile


@pytest.fixture(autouse=True, scope="package")
def no_disk() -> Iterator[None]:
    """Nothing waits for the disk: these tests kill processes in thought only."""
    with volatile():
        yield


@pytest.fixture(autouse=True)
def no_listener_stays() -> Iterator[None]:
    """A catalog that a test leaves open has a thread that wakes at each change of any catalog in the same server."""
    begun: weakref.WeakSet[Changes] = weakref.WeakSet()
    mark = Changes.mark

    def noted(counted: Changes) -> int:
        begun.add(counted)
        return mark(counted)

    patch = pytest.MonkeyPatch()
    patch.setattr(Changes, "mark", noted)
    yield
    patch.undo()
    for counted in begun:
        counted.close()


@pytest.fixture
def states_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalog hold no state, however small it is."""
    monkeypatch.setattr(state_files, "SMALL_STATE", 0)


@pytest.fixture
def states_as_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch store only the changes of a state, however small the state is."""
    monkeypatch.setattr(state, "SMALL", 0)


@pytest.fixture
def reopened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a listener that has failed be reopened without a wait."""
    monkeypatch.setattr(changes, "REOPEN_SECONDS", 0.0)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the database of the test's catalogs; on PostgreSQL every state directory has a schema of its own."""
    if request.param == "sqlite":
        yield request.param
        return
    server: Server = request.getfixturevalue("postgresql")
    schemas: set[str] = set()

    def url_of(home: Home) -> URL:
        schema = "home_" + hashlib.sha1(str(home.root).encode()).hexdigest()[:16]
        if schema not in schemas:
            forget_engines()  # a search has a directory for each example, and a server lets in a hundred sessions
        schemas.add(schema)
        return make_url(server.url(schema))

    patch = pytest.MonkeyPatch()
    patch.setattr(address, "read_catalog_url", url_of)
    yield request.param
    patch.undo()
    forget_engines()
    with server.connect() as connection:
        for schema in schemas:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def forget_engines() -> None:
    """Close the connections that the test has left."""
    for engine in postgresql.engines.values():
        engine.dispose()
    postgresql.engines.clear()


@pytest.fixture(autouse=True)
def no_real_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of the product would start Java, and outlive the test."""

    def refuse(_start: HostStart) -> tuple[str, ...]:
        pytest.fail("this test starts a real host: use the fixture no_hosts, or hosts")

    monkeypatch.setattr(launcher, "host_command", refuse)


@pytest.fixture
def no_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset starts none; the tests step the PEs themselves."""
    monkeypatch.setattr(reset, "start_missing_hosts", lambda *_, **__: ())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for input files that all tests of a module read."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> FakeHosts:
    fake = FakeHosts()
    monkeypatch.setattr(status, "is_alive", fake.alive)
    for module in (claims, control, reset):
        monkeypatch.setattr(module, "kill", fake.kill)
    monkeypatch.setattr(claims, "launch_host", fake.launch)
    monkeypatch.setattr(standbys, "launch_host", fake.launch)
    monkeypatch.setattr(control, "stop_orphans", lambda *_, **__: ())
    monkeypatch.setattr(claims, "record_processes", lambda *_: None)
    return fake


@pytest.fixture
def running(tmp_path: Path, hosts: FakeHosts) -> Running:
    return Running(tmp_path, hosts)


@pytest.fixture(autouse=True)
def no_publisher_stays(no_listener_stays: None) -> Iterator[None]:
    """End the publishers of hosts in this process: each would poll fifty times a second while the process lives."""
    yield
    for thread in threading.enumerate():
        publisher = getattr(getattr(thread, "_target", None), "__self__", None)
        if isinstance(publisher, Publisher):
            publisher.stop()
