"""An application is started by one process at a time."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import start_lock
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.deployment.requests import ContinueFromState, StartOver
from streams_orchestration.runtime.errors.errors import BeingStartedError, StateDirectoryError
from streams_orchestration.runtime.rollout.deploying import deploy_plan
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.starters import Starting

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").prepare()


def test_a_second_process_is_refused_by_name(home: Home):
    with Starting(home, "app") as other, pytest.raises(BeingStartedError) as raised:
        lock_start(home, "app", "streams deploy", limit=0)
    message = str(raised.value)
    assert message.startswith(f"app: `streams run` (pid {other.pid}, since ")
    assert "Nothing was changed" in message
    assert "`streams status app`" in message


def test_a_second_process_waits_for_the_first_and_says_for_whom(home: Home):
    waited: list[Starter | None] = []
    with Starting(home, "app") as other:

        def waiting(starter: Starter | None) -> None:
            waited.append(starter)
            other.release()

        with lock_start(home, "app", "streams run", waiting=waiting):
            pass
    assert [(each.pid, each.command) for each in waited if each] == [(other.pid, "streams run")]


def test_a_dead_process_holds_nothing(home: Home):
    with Starting(home, "app") as other:
        other.kill()
        lock_start(home, "app", "streams run", limit=0).release()


def test_other_applications_are_free(home: Home):
    with Starting(home, "app"):
        lock_start(home, "app2", "streams run", limit=0).release()


def test_a_lock_holds_up_its_own_process_too_and_is_released_once(home: Home):
    with lock_start(home, "app", "streams run") as first:
        with pytest.raises(BeingStartedError):
            lock_start(home, "app", "deploy", limit=0)
        first.release()
        first.release()
    with Starting(home, "app"), pytest.raises(BeingStartedError):
        lock_start(home, "app", "streams run", limit=0)


def test_a_lock_of_another_application_is_refused_before_anything_is_changed(home: Home, tmp_path: Path):
    wanted = deployable(totals(write_rows(tmp_path / "rows.parquet", 3)))
    for request in (ContinueFromState(), StartOver()):
        with lock_start(home, "other", "deploy") as lock, pytest.raises(AssertionError, match="not other's"):
            deploy_plan(Catalog(home), lock, wanted, request)
    assert list_applications(Catalog(home)) == ()


def test_a_lock_that_cannot_be_written_is_an_error(home: Home):
    home.start_lock("app").parent.write_text("a file")
    with pytest.raises(StateDirectoryError, match="cannot be written"):
        lock_start(home, "app", "streams run")


@pytest.mark.parametrize("method", ["truncate", "write"])
def test_a_full_disk_is_an_error_of_the_state_directory(home: Home, tmp_path: Path, method: str):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    raw = type("Full", (io.FileIO,), {method: full})(tmp_path / "lock", "a")
    lock = StartLock(home, "app", io.TextIOWrapper(io.BufferedWriter(raw)))
    with pytest.raises(StateDirectoryError, match="cannot be written: No space left on device"):
        lock.hold("streams run")
    lock.abandon()
    assert raw.closed


def test_a_lock_is_released_although_its_file_cannot_be_written(home: Home):
    class Failing(io.StringIO):
        def truncate(self, _size: int | None = None) -> int:
            raise OSError(errno.EIO, "Input/output error")

    file = Failing()
    StartLock(home, "app", file).release()
    assert file.closed


def test_a_disk_without_locks_is_an_error_of_the_state_directory(home: Home, monkeypatch: pytest.MonkeyPatch):
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(start_lock.fcntl, "flock", flock)
    with pytest.raises(StateDirectoryError, match=os.strerror(errno.ENOLCK)):
        lock_start(home, "app", "streams run")


def test_nothing_is_deployed_while_another_process_starts_the_application(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compilation = totals(write_rows(tmp_path / "rows.parquet", 3))
    name = compilation.logical.application
    monkeypatch.setattr(start_lock, "LOCK_TIMEOUT_SECONDS", 0.0)
    with Starting(home, name), pytest.raises(BeingStartedError):
        deploy(home, deployable(compilation), fresh=True)
    assert list_applications(Catalog(home)) == ()
    deploy(home, deployable(compilation), fresh=True)
    assert list_applications(Catalog(home)) == (name,)
