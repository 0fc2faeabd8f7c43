"""The last removal of garbage before an application completes: it is repeated while a disk is broken, not for ever."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from streams_orchestration import world
from streams_orchestration.runtime import stepping
from streams_orchestration.runtime.hosts.last_sweep import CLEAR_SECONDS, LastSweep
from streams_orchestration.runtime.sinks.publishing import complete
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.waiting import remove_abandoned
from streams_orchestration.runtime.units.garbage import sweep
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", 4)
    return LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sink("Out", "Rows")]))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the monotonic clock, which a test sets."""
    now = [1000.0]
    monkeypatch.setattr(world, "monotonic", lambda: now[0])
    return now


def broken(path: str | Path, *_: object, **__: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


def test_an_application_completes_once_its_files_could_be_removed(now: list[float]):
    answers = iter([False, False, True])
    last = LastSweep(lambda: next(answers))
    assert last.trouble is None
    assert not last()
    assert not last(), "the pause is not over, so that nothing is tried"
    now[0] += 1.0
    assert not last()
    now[0] += 2.0
    assert last.trouble == (3.0, "files that no commit names cannot be removed")
    assert last()
    assert last.trouble is None


def test_an_application_completes_although_files_are_left_after_a_while(now: list[float]):
    last = LastSweep(lambda: False)
    assert not last()
    now[0] += CLEAR_SECONDS
    assert not last(), "two attempts that take long do not end it"
    now[0] += CLEAR_SECONDS
    assert last()


def test_an_application_is_not_marked_as_complete_while_its_last_sweep_is_to_be_repeated(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stepping, "complete", lambda catalog, name: complete(catalog, name, lambda: False))
    with pytest.raises(StepError):
        local.run()
    assert complete(local.catalog, local.name, lambda: True)


def test_a_sweep_says_if_files_are_left(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    written = local.home.data(local.name) / "streams" / "pe-0" / "of-a-killed-task.arrow"
    written.parent.mkdir(parents=True)
    written.touch()
    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", broken)
        assert sweep(local.catalog, local.name, [0]) == (0, True)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", broken)
        assert sweep(local.catalog, local.name, [0]) == (0, True)
    assert sweep(local.catalog, local.name, [0]) == (1, False)
    assert not written.exists()


def test_files_of_killed_publishers_are_left_if_their_directory_is_broken(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "merged-1").touch()
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", broken)
        assert not remove_abandoned(local.catalog.store, local.name, [tmp_path])
    assert remove_abandoned(local.catalog.store, local.name, [tmp_path])
    assert not (tmp_path / "merged-1").exists()
