"""A redeploy that is refused, fails or is killed in the middle: nothing is lost, and nothing is held up."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration import world
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.holds import end_expired_holds
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import draining, redeploying, state_migration
from streams_orchestration.runtime.redeployment.draining import units_on_hold
from streams_orchestration.runtime.redeployment.redeploying import NotDrainedError, NotWrittenError
from streams_orchestration.runtime.redeployment.rescaling import StateRefusedError
from streams_orchestration.runtime.redeployment.state_migration import SetUpError
from streams_orchestration.runtime.storage import store
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import begin, finish, set_rows, unneeded, visits

pytestmark = pytest.mark.slow


def test_a_stopped_application_stays_stopped_if_its_redeploy_is_refused(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    cancel_application(local.catalog, local.name, 1.0)
    monkeypatch.setattr(redeploying, "postpone_if_drained", lambda *_: False)
    monkeypatch.setattr(redeploying, "launch_hosts", lambda *_: ())
    monkeypatch.setattr(redeploying, "drain", lambda *_: "something is under way")
    monkeypatch.setattr(redeploying, "cancel_application", partial(cancel_application, timeout=0.1))
    with pytest.raises(NotDrainedError):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    assert read_status(local.catalog, local.name).state == "STOPPED"


@pytest.mark.usefixtures("states_in_files")
def test_without_room_for_the_states_nothing_is_changed(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    written: list[Path] = []

    def write(path: Path, data: bytes, **_: bool) -> None:
        path.write_bytes(data[:1])
        written.append(path)
        if len(written) == 2:
            path.unlink()
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(store, "write_durably", write)
    with pytest.raises(NotWrittenError, match=r"app keeps running unchanged: .*cannot be written: .*: No space left"):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    assert written
    assert not any(path.exists() for path in written)
    monkeypatch.undo()
    finish(local)


def test_states_are_written_again_if_the_hold_counted_as_expired_for_a_process_that_sweeps(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    """The clocks of processes differ for some seconds after the clock of the catalog was set."""
    carry, free = state_migration.Carrier.carry, list[bool]()

    def carried(carrier: state_migration.Carrier, redeployment: Redeployment) -> state_migration.Carried:
        result = carry(carrier, redeployment)
        if len(free) < 2:  # the rehearsal, and the first attempt
            with monkeypatch.context() as patch:
                patch.setattr(clock, "now", lambda: world.now() + 3_600.0)
                free.append(end_expired_holds(local.catalog, local.name))
        else:
            free.append(end_expired_holds(local.catalog, local.name))
        return result

    monkeypatch.setattr(state_migration.Carrier, "carry", carried)
    begin(local)
    assert free == [True, True, False]
    finish(local)


@pytest.mark.usefixtures("states_in_files")
def test_an_application_that_completes_before_the_switch_is_not_redeployed(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    """No host would run the new plan. A hold may have expired for the host that completed the application."""
    carry, written = state_migration.Carrier.carry, set[Path]()

    def completed(carrier: state_migration.Carrier, redeployment: Redeployment) -> state_migration.Carried:
        result = carry(carrier, redeployment)
        written.update(path for path in local.home.root.rglob("*.state") if path not in before)
        with local.catalog.write() as connection:
            connection.execute(update(tables.application).values(state="COMPLETED"))
        return result

    before = set(local.home.root.rglob("*.state"))
    monkeypatch.setattr(state_migration.Carrier, "carry", completed)
    with pytest.raises(NotDeployableError, match="app is complete, so there is nothing to redeploy"):
        begin(local)
    assert written
    assert not any(path.exists() for path in written)


@pytest.mark.parametrize("full", [False, True])
def test_states_that_cannot_be_carried_over_are_refused_before_the_application_is_held(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, full: bool
):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device") if full else StateRefusedError("Counted", "is odd")

    monkeypatch.setattr(state_migration, "store_dump" if full else "divide_states", fail)
    monkeypatch.setattr(redeploying, "units_on_hold", lambda *_: pytest.fail("it is held"))
    with pytest.raises((NotWrittenError, StateRefusedError)):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    monkeypatch.undo()
    finish(local)


def test_an_operator_that_cannot_be_set_up_is_named_and_no_disk_is_blamed(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "/lists/keys.csv")

    monkeypatch.setattr(DeDuplicate, "setup", fail)
    monkeypatch.setattr(redeploying, "units_on_hold", lambda *_: pytest.fail("it is held"))
    named = r"operator Counted\[\d\]\.Kept cannot be set up.*No such file.*/lists/keys\.csv"
    with pytest.raises(SetUpError, match=named):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    monkeypatch.undo()
    finish(local)


def test_a_rehearsal_leaves_no_files_and_a_collected_state_is_read_again_at_the_cut(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    carry, calls = state_migration.Carrier.carry, [0]

    def collected(*arguments: Any) -> Any:
        calls[0] += 1
        carried = carry(*arguments)
        if calls[0] == 1:
            operator = "Counted"
            raise OperatorError(operator, "its state cannot be read")
        return carried

    monkeypatch.setattr(state_migration.Carrier, "carry", collected)
    begin(local)
    assert calls[0] == 2
    finish(local)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


PHASES: dict[str, tuple[Any, str]] = {
    "it drains": (redeploying, "postpone_if_drained"),
    "it reads and writes states": (state_migration.Carrier, "carry"),
    "it is about to commit": (redeploying, "switch"),
    "it has switched": (redeploying, "reverted_without_hosts"),
    "it waits": (redeploying, "supervise_trial"),
}


class KilledError(BaseException):
    """A kill of the process, which does nothing after it."""


@pytest.mark.parametrize("phase", PHASES)
def test_a_process_that_is_killed_in_the_middle_holds_nothing_up(
    local: LocalApplication, phase: str, monkeypatch: pytest.MonkeyPatch
):
    place, name = PHASES[phase]
    original, calls = getattr(place, name), [0]

    def die(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if name == "carry" and calls[0] == 1:  # the first call is a rehearsal
            return original(*arguments, **named)
        if name in ("carry", "switch"):
            original(*arguments, **named)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(place, name, die)
        patch.setattr(draining, "release_units", lambda *_: None)
        patch.setattr(state_migration, "remove_files", lambda *_: None)
        with pytest.raises(KilledError):
            locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    set_rows(local, tables.unit, held_until=0.0)  # as it is after a while
    finish(local)


def test_a_hold_is_renewed_as_long_as_it_takes(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draining, "HOLD_SECONDS", 0.03)
    u = tables.unit

    def until() -> float:
        with local.catalog.read() as connection:
            return connection.scalar(select(u.c.held_until)) or 0.0

    with units_on_hold(local.held()):
        first = until()
        mark = local.catalog.changes.mark()
        while until() == first:
            local.catalog.changes.wait(mark, 0.01)
    assert until() == 0.0
