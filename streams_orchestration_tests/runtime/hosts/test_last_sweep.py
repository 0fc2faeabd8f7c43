"""The last removal of garbage before an application completes: it is repeated while a disk is broken, not for ever."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from streams_orchestration.runtime import stepping
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.hosts.last_sweep import CLEAR_SECONDS, MIN_ATTEMPTS, LastSweep
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks.completing import clear_after_publishers, complete
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.pending_files import remove_abandoned
from streams_orchestration.runtime.storage.store import Store, StoreError
from streams_orchestration.runtime.units.garbage import end_holds_and_find_unknown_pes, sweep
from streams_orchestration.runtime.units.holding import hold_units, release_units
from streams_orchestration.runtime.units.unusable_files import WAITS
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.running import joined
from streams_orchestration_tests.stepped_clock import SteppedClock


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", 4)
    return LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sink("Out", "Rows")]))


def broken(path: str | Path, *_: object, **__: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


@dataclass(frozen=True)
class Away(Store):
    """A storage that is away; nobody may wait for it."""

    away: str = ""
    """The only directory for which it is away; empty for all."""
    is_patient: bool = True

    def hasty(self) -> Store:
        return replace(self, is_patient=False)

    def below(self, directory: str) -> list[str]:
        assert not self.is_patient, f"{directory} is waited for"
        if self.away not in ("", directory):
            return []
        message = f"{directory}: cannot be reached"
        raise StoreError(message)


def test_an_application_completes_once_its_files_could_be_removed(stepped: SteppedClock):
    answers = iter([False, False, True])
    last = LastSweep(lambda: next(answers))
    assert last.failure is None
    assert not last()
    assert not last(), "the pause is not over, so that nothing is tried"
    stepped.now += 1.0
    assert not last()
    stepped.now += 2.0
    assert last.failure == (3.0, "files that no commit names cannot be removed")
    assert last()
    assert last.failure is None


def test_an_application_completes_although_files_are_left_after_a_while(stepped: SteppedClock):
    last = LastSweep(lambda: False)
    assert not last()
    stepped.now += CLEAR_SECONDS
    assert not last(), "two attempts that take long do not end it"
    stepped.now += CLEAR_SECONDS
    assert last()


def test_a_host_may_leave_its_machine_before_the_application_completes_with_files_left(stepped: SteppedClock):
    last = LastSweep(lambda: False)
    for _ in range(MIN_ATTEMPTS):
        assert not last()
        stepped.now += WAITS.longest / MIN_ATTEMPTS
    assert not last()
    assert last.failure is not None
    assert last.failure.seconds >= WAITS.longest


def test_an_application_is_not_marked_as_complete_while_its_last_sweep_is_to_be_repeated(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stepping, "complete", lambda catalog, name: complete(catalog, name, lambda: False))
    with pytest.raises(StepError):
        local.run()
    assert complete(local.catalog, local.name, lambda: True)


def test_an_application_is_not_marked_as_complete_if_units_are_held_during_its_last_sweep(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def held() -> bool:
        hold_units(local.held())
        return True

    monkeypatch.setattr(stepping, "complete", lambda catalog, name: complete(catalog, name, held))
    with pytest.raises(StepError):
        local.run()
    assert read_status(local.catalog, local.name).state == "RUNNING"
    release_units(local.catalog, local.name)
    assert complete(local.catalog, local.name, lambda: True)


def test_an_expired_hold_does_not_outlast_the_application(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    """The hold would be in force again if the clock of the catalog were set back."""

    def expired() -> bool:
        with local.catalog.write() as connection:
            connection.execute(update(tables.unit).values(held_until=clock.now() - 1.0))
        return True

    monkeypatch.setattr(stepping, "complete", lambda catalog, name: complete(catalog, name, expired))
    local.run()
    with local.catalog.read() as connection:
        assert set(connection.scalars(select(tables.unit.c.held_until))) == {None}


def test_units_are_not_marked_as_completed_if_another_plan_was_deployed_during_the_last_sweep(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    """Its units may have the same names, and work to do."""

    def switched() -> bool:
        with local.catalog.write() as connection:
            connection.execute(update(tables.application).values(plan=tables.application.c.plan + 1))
        return True

    monkeypatch.setattr(stepping, "complete", lambda catalog, name: complete(catalog, name, switched))
    with pytest.raises(StepError):
        local.run()
    assert {unit.state for unit in read_status(local.catalog, local.name).units}.isdisjoint({"COMPLETED"})
    assert complete(local.catalog, local.name, lambda: True)


def test_a_last_sweep_that_failed_under_a_hold_has_no_trouble_with_files(stepped: SteppedClock):
    answers = iter([False, True])
    last = LastSweep(lambda: next(answers))
    assert not last()
    stepped.now += 60.0
    last.forget()
    assert last.failure is None
    assert last(), "nor does it wait"


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


def test_a_sweep_does_not_wait_for_a_storage_that_is_away(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    away = Away(str(tmp_path / "mounted"), str(local.home.root))
    monkeypatch.setattr(Home, "store", property(lambda _: away))
    assert not clear_after_publishers(local.catalog, local.name)
    assert end_holds_and_find_unknown_pes(local.catalog, local.name) is None, "there may be such PEs"
    assert sweep(local.catalog, local.name, [0]) == (0, True)


def test_a_host_is_heard_between_the_steps_of_its_last_sweep_of_which_each_must_succeed(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    joined(local.home)
    host = Host(local.home, local.name, 0, "mine", IdleEngine())
    turns: list[None] = []
    monkeypatch.setattr(host.heartbeat, "note_turn", lambda: turns.append(None))
    assert host.janitor.last_sweep()
    assert len(turns) == 3
    away = Away(str(tmp_path / "mounted"), str(local.home.root), f"data/{local.name}/states")
    monkeypatch.setattr(Home, "store", property(lambda _: away))
    assert not host.janitor.last_sweep(), "PEs that are not deployed may have files"
