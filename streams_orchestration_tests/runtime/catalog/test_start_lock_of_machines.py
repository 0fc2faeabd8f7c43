"""Machines that share a catalog in PostgreSQL take turns to start an application. A home stands for a machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import start_lock
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.deployment import deployment
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.errors.errors import BeingStartedError, CatalogError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.conftest import forget_engines
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.starters import Starting

SCHEMA = "of_start_locks"


@pytest.fixture
def machines(tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Home, Home]]:
    monkeypatch.setenv("STREAMS_CATALOG", postgresql.url(SCHEMA))
    monkeypatch.setenv("STREAMS_MACHINE", "first")
    yield Home(tmp_path / "first").prepare(), Home(tmp_path / "second").prepare()
    forget_engines()
    with postgresql.connect() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def end(postgresql: Server) -> None:
    """End the sessions that hold start locks, as a server does that is started anew."""
    with postgresql.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks "
            "WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
        )


def test_a_process_of_another_machine_is_refused_by_name(machines: tuple[Home, Home]):
    first, second = machines
    with Starting(first, "app") as other:
        with pytest.raises(BeingStartedError, match=rf"app: `streams run` \(pid {other.pid} on first, since \d\d:"):
            lock_start(second, "app", "streams deploy", limit=0)
        lock_start(second, "app2", "streams run", limit=0).release()


def test_the_server_releases_what_a_dead_process_held(machines: tuple[Home, Home]):
    first, second = machines
    with Starting(first, "app") as other:
        other.kill()
        lock_start(second, "app", "streams run", limit=20).release()


def test_a_start_waits_for_the_other_machine_and_says_for_whom(machines: tuple[Home, Home]):
    first, second = machines
    waited: list[Starter | None] = []
    held = lock_start(first, "app", "streams redeploy")

    def waiting(starter: Starter | None) -> None:
        waited.append(starter)
        held.release()

    with lock_start(second, "app", "streams run", waiting=waiting):
        pass
    (starter,) = waited
    assert starter is not None and starter.since is not None
    assert (starter.pid, starter.machine, starter.command) == (os.getpid(), "first", "streams redeploy")


def test_a_starter_that_waits_for_its_own_machine_holds_up_no_other(machines: tuple[Home, Home]):
    first, second = machines
    with Starting(first, "app") as other:
        with pytest.raises(BeingStartedError, match=rf"`streams run` \(pid {other.pid}, since"):
            lock_start(first, "app", "streams deploy", limit=0)
        other.release()
        lock_start(second, "app", "streams run", limit=20).release()


def test_the_second_of_two_deployments_changes_nothing(
    machines: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second = machines
    compilation = totals(write_rows(tmp_path / "rows.parquet", 3))
    name = compilation.logical.application
    monkeypatch.setattr(start_lock, "LOCK_TIMEOUT_SECONDS", 0.0)
    with lock_start(first, name, "streams run") as lock:
        with pytest.raises(BeingStartedError, match=r"`streams run` .* on first.*Nothing was changed"):
            deploy(second, deployable(compilation))
        deployment.write_first_plan(open_application(Catalog(first), lock, deployable(compilation)))
    assert list_applications(Catalog(second)) == (name,)
    deploy(second, deployable(compilation))


def test_a_name_that_is_too_long_for_a_session_is_cut_off(machines: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch):
    first, second = machines
    monkeypatch.setenv("STREAMS_MACHINE", "m" * 60)
    with (
        lock_start(first, "app", "streams savepoint create"),
        pytest.raises(BeingStartedError, match=rf"`streams savepoint create` \(pid {os.getpid()} on m{{15,}}, since"),
    ):
        lock_start(second, "app", "streams run", limit=0)


def test_a_session_that_is_ended_holds_nothing_and_is_released_all_the_same(
    machines: tuple[Home, Home], postgresql: Server
):
    first, second = machines
    held: StartLock = lock_start(first, "app", "streams run")
    end(postgresql)
    lock_start(second, "app", "streams run", limit=20).release()
    held.release()
    lock_start(first, "app", "streams run", limit=0).release()


def test_a_server_that_is_not_reached_is_an_error_and_holds_nothing(
    machines: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, _ = machines
    with monkeypatch.context() as patch:
        patch.setenv("STREAMS_CATALOG", f"postgresql://streams@/postgres?host={tmp_path}&schema={SCHEMA}")
        with pytest.raises(CatalogError, match="schema=of_start_locks"):
            lock_start(first, "app", "streams run")
    lock_start(first, "app", "streams run", limit=0).release()
