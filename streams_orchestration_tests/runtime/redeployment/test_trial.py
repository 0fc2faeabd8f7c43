"""A redeploy is on trial until its units have completed an epoch; when they cannot, the plan before works again."""

from __future__ import annotations

import errno
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.deployment.control import cancel
from streams_orchestration.runtime.errors import HostLaunchError, OperatorError, RevertedError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import carrying, draining, redeploying, trying
from streams_orchestration.runtime.redeployment.deployed import preview_redeploy
from streams_orchestration.runtime.redeployment.draining import held, hold
from streams_orchestration.runtime.redeployment.redeploying import NotWrittenError
from streams_orchestration.runtime.redeployment.rescaling import StateRefusedError
from streams_orchestration.runtime.redeployment.switching import NotDrainedError
from streams_orchestration.runtime.redeployment.trying import NotRevertedError, OnTrialError, revert_redeploy
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.trial import read_trial
from streams_orchestration.runtime.units.watch import observe
from streams_orchestration_tests.runtime.applications import expected_of_network, network, published, rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, decided, drained, redeploy
from streams_orchestration_tests.runtime.redeployment.test_switching import COUNT, counts, run_some, visits
from streams_orchestration_tests.runtime.running import FakeHosts


@pytest.fixture
def local(tmp_path: Path, hosts: FakeHosts) -> LocalApplication:
    """At a cut in the middle of its data."""
    application = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(application, 4)
    units = list(application.units)
    hold(application.catalog, application.name, units)
    drained(application, units)
    set_rows(application, tables.unit, held_until=None)
    return application


def trial_of(local: LocalApplication) -> TrialRow:
    with local.catalog.read() as connection:
        trial = read_trial(connection, local.name)
    assert trial is not None
    return trial


def set_rows(local: LocalApplication, table: Any, **values: Any) -> None:
    with local.catalog.write() as connection:
        connection.execute(update(table).values(**values))


def finish(local: LocalApplication) -> None:
    """To the end, with the results of a run without any redeploy, and with no file that nothing needs."""
    adopt(local)
    local.run()
    assert counts(local) == Counter(key for key, _ in set(rows(COUNT)))


def unneeded(local: LocalApplication) -> set[str]:
    """Files of streams, states and outputs that nothing names."""
    s, f = tables.segment, tables.sink_file
    with local.catalog.read() as connection:
        named = {*connection.scalars(select(s.c.path)), *state_files(connection, local.name)}
        named |= set(connection.scalars(select(f.c.pending)))
    there = {path for kind in ("streams", "states") for path in local.home.store.below(f"data/{local.name}/{kind}")}
    there |= {str(path) for path in local.home.results(local.name).glob("*/_pending/*")}
    assert named <= there
    return there - named


REDEPLOYS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(0, 5), st.booleans(), st.booleans()),
    min_size=1, max_size=4,
)  # fmt: skip
"""Turns before, the number of PEs from then on, turns on trial, whether it is reverted then, and garbage collected."""


@settings(max_examples=8, deadline=None)
@given(REDEPLOYS)
def test_reverts_at_any_time_change_no_result(
    tmp_path_factory: pytest.TempPathFactory, redeploys: list[tuple[int, int, int, bool, bool]]
):
    directory = tmp_path_factory.mktemp("run")
    local = LocalApplication(
        Home(directory / "home"), network(directory, COUNT, fusion="manual", pes=3), source_limit=4
    )
    for turns, pes, tried, back, collected in redeploys:
        run_some(local, turns)
        redeploy(local, network(directory, COUNT, fusion="manual", pes=pes))
        run_some(local, tried)
        if collected:
            collect_garbage(local.catalog, local.name, local.programs)
        if back and trying._take_back(local.catalog, local.name, "for the test") is not None:
            adopt(local)
    local.run()
    assert {name: published(local.published(name)) for name in expected_of_network(COUNT)} == expected_of_network(COUNT)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(0, 5), st.booleans()), max_size=4))
def test_states_that_were_divided_are_whole_again_after_a_revert(
    tmp_path_factory: pytest.TempPathFactory, redeploys: list[tuple[int, int, int, bool]]
):
    directory = tmp_path_factory.mktemp("run")
    local = LocalApplication(Home(directory / "home"), visits(directory, 2, 3), source_limit=4)
    for turns, width, tried, collected in redeploys:
        run_some(local, turns)
        redeploy(local, visits(directory, width, 2))
        run_some(local, tried)
        if collected:
            collect_garbage(local.catalog, local.name, local.programs)
        trying._take_back(local.catalog, local.name, "for the test")
        adopt(local)
    finish(local)


def begin(local: LocalApplication, width: int = 3) -> None:
    directory = local.home.root.parent
    redeploying.begin_redeploy(local.home, visits(directory, width, 2), within=20.0)
    adopt(local)


def test_nothing_on_trial_is_visible_until_it_is_decided(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    before = published(local.published("Out"))
    begin(local)
    with monkeypatch.context() as patch:
        patch.setattr("streams_orchestration.runtime.units.watch.is_on_trial", lambda *_: False)  # no one decides
        run_some(local, 12)
        (unit,) = read_status(local.home, local.name).units
        assert unit.completed_epoch > trial_epoch(local)
        assert published(local.published("Out")) == before
    finish(local)
    assert trial_of(local).state == "PASSED"


def trial_epoch(local: LocalApplication) -> int:
    """The last epoch that is visible."""
    with local.catalog.read() as connection:
        return connection.scalar(select(tables.unit.c.shown_epoch)) or 0


def test_what_has_completed_an_epoch_is_there_to_stay(local: LocalApplication):
    begin(local)
    trial = decided(local)
    assert trial is not None
    assert (trial.state, trial.cause, trial.before, trial.files) == ("PASSED", None, None, [])
    assert trial.pause is not None
    assert trial.pause > 0
    directory = local.home.root.parent
    assert preview_redeploy(local.home, visits(directory, 4, 2)).predicted_seconds == trial.pause
    assert preview_redeploy(local.home, visits(directory, 3, 2)).predicted_seconds is None
    with pytest.raises(NotRevertedError, match=r"no longer kept, because the new one had completed an epoch"):
        revert_redeploy(local.home, local.name)
    finish(local)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


def time_is_over(local: LocalApplication) -> None:
    set_rows(local, tables.trial, until=0.0)


def an_operator_raises(local: LocalApplication) -> None:
    set_rows(local, tables.pe, state="FAILED", error="batch 7: operator X: it is wrong (x.py, line 3)", failures={})


def a_reset_cannot_mend_it(local: LocalApplication) -> None:
    set_rows(local, tables.pe, state="FAILED", error="it is wrong", permanent=True)


def a_host_does_not_come_up(local: LocalApplication) -> None:
    set_rows(local, tables.host, state="FAILED", error="there is no Java")


def resets_are_used_up(local: LocalApplication) -> None:
    set_rows(local, tables.unit, state="MAXIMUM_RESET_ATTEMPTS_REACHED", cause="it hangs")


FAILURES: dict[Callable[[LocalApplication], None], str] = {
    time_is_over: r"region-0 has completed no epoch within 20 s",
    an_operator_raises: r"PE 0 failed: batch 7: operator X: it is wrong \(x.py, line 3\)",
    a_reset_cannot_mend_it: r"PE 0 failed: it is wrong",
    a_host_does_not_come_up: r"host 0 failed: there is no Java",
    resets_are_used_up: r"region-0 was reset too often: it hangs",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_whoever_looks_brings_the_plan_before_back(
    local: LocalApplication, failure: Callable[[LocalApplication], None]
):
    former = read_status(local.home, local.name).fingerprint
    begin(local)
    failure(local)
    observe(local.catalog, local.name)
    trial = trial_of(local)
    assert trial.state == "REVERTED"
    assert re.match(FAILURES[failure], trial.cause or ""), trial.cause
    assert read_status(local.home, local.name).fingerprint == former
    set_rows(local, tables.host, state="STOPPED", error=None)
    finish(local)
    assert unneeded(local) == set()


def test_the_process_that_redeploys_says_that_it_was_reverted_and_why(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def fail(home: Home, application: str, launcher: object) -> None:
        an_operator_raises(local)

    monkeypatch.setattr(redeploying, "start", fail)
    with pytest.raises(RevertedError, match=r"plan before again.*since PE 0 failed: batch 7: operator X.*line 3"):
        redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    finish(local)


def test_a_host_that_cannot_be_started_at_all_takes_the_plan_back(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    calls: list[str] = []

    def launch(*_: object, **__: object) -> tuple[int, ...]:
        calls.append("launch")
        if len(calls) == 1:
            message = "host 1 of app could not be started: there is no Java"
            raise HostLaunchError(message)
        return ()

    monkeypatch.setattr(trying, "launch", launch)
    with pytest.raises(RevertedError, match="there is no Java"):
        redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    assert len(calls) == 2, "what the plan before needs is started"
    finish(local)


def test_it_is_taken_back_by_hand_once(local: LocalApplication):
    with pytest.raises(NotRevertedError, match="it was not redeployed yet"):
        revert_redeploy(local.home, local.name)
    begin(local)
    run_some(local, 1)
    revert_redeploy(local.home, local.name)
    with pytest.raises(NotRevertedError, match=r"is back already, since .*taken back by hand"):
        revert_redeploy(local.home, local.name)
    finish(local)


def test_counters_go_on_with_the_new_plan_and_with_the_plan_before(local: LocalApplication):
    def counted() -> dict[int, int]:
        return {pe.id: pe.rows_in for pe in read_status(local.home, local.name).pes}

    before = counted()
    assert before[0] > 0
    begin(local)
    assert counted()[0] == before[0]
    revert_redeploy(local.home, local.name)
    assert counted() == before


def test_a_second_redeploy_waits_until_the_first_is_decided(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    begin(local)
    waited: list[str] = []

    def wait(*_: object) -> None:
        waited.append(trial_of(local).state)
        time_is_over(local)

    monkeypatch.setattr(trying, "read_units", lambda *_: (wait(), read_status(local.home, local.name))[1])
    begin(local, width=1)
    assert waited[0] == "OPEN"
    finish(local)


def test_what_is_stopped_on_trial_is_decided_when_it_runs_again(local: LocalApplication):
    begin(local)
    cancel(local.home, local.name, 1.0)
    time_is_over(local)
    observe(local.catalog, local.name)
    assert trial_of(local).state == "OPEN"
    with pytest.raises(OnTrialError, match=r"--revert"):
        redeploying.begin_redeploy(local.home, visits(local.home.root.parent, 1, 1))
    redeploying.deploy(local.home, local.compilation)
    assert trial_of(local).until > time.time()
    finish(local)


def test_what_was_stopped_stays_so_when_its_redeploy_is_refused(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    cancel(local.home, local.name, 1.0)
    monkeypatch.setattr(redeploying, "drain", lambda *_: "something is under way")
    monkeypatch.setattr(redeploying, "STOP_SECONDS", 0.1)
    with pytest.raises(NotDrainedError):
        redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    assert read_status(local.home, local.name).state == "STOPPED"


def test_without_room_for_the_states_nothing_is_changed(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    written: list[Path] = []

    def write(path: Path, data: bytes) -> None:
        path.write_bytes(data[:1])
        written.append(path)
        if len(written) == 2:
            path.unlink()
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("streams_orchestration.runtime.storage.store.write_durably", write)
    with pytest.raises(NotWrittenError, match=r"app runs on as it is: .*cannot be written: .*: No space left"):
        redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    assert written
    assert not any(path.exists() for path in written)
    monkeypatch.undo()
    finish(local)


@pytest.mark.parametrize("full", [False, True])
def test_what_cannot_be_carried_over_is_refused_before_anything_stands_still(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, full: bool
):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device") if full else StateRefusedError("Counted", "is odd")

    monkeypatch.setattr(carrying, "divided_states", fail)
    monkeypatch.setattr(redeploying, "held", lambda *_: pytest.fail("it is held"))
    with pytest.raises((NotWrittenError, StateRefusedError)):
        redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    monkeypatch.undo()
    finish(local)


def test_what_was_written_for_a_rehearsal_is_gone_and_a_state_that_was_collected_is_read_at_the_cut(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    carry, calls = carrying.Carrier.carry, [0]

    def collected(*arguments: Any) -> Any:
        calls[0] += 1
        carried = carry(*arguments)
        if calls[0] == 1:
            operator = "Counted"
            raise OperatorError(operator, "its state cannot be read")
        return carried

    monkeypatch.setattr(carrying.Carrier, "carry", collected)
    begin(local)
    assert calls[0] == 2
    finish(local)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


PHASES: dict[str, tuple[Any, str]] = {
    "it drains": (redeploying, "drain"),
    "it reads and writes states": (carrying.Carrier, "carry"),
    "it is about to commit": (redeploying, "switch"),
    "it has switched": (redeploying, "start"),
    "it waits": (redeploying, "await_trial"),
}


class KilledError(BaseException):
    """What a process would do after it is not done."""


@pytest.mark.parametrize("phase", PHASES)
def test_a_process_that_is_killed_in_the_middle_holds_nothing_up(
    local: LocalApplication, phase: str, monkeypatch: pytest.MonkeyPatch
):
    place, name = PHASES[phase]
    original, calls = getattr(place, name), [0]

    def die(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if name in ("await_trial", "carry") and calls[0] == 1:  # that of an earlier redeploy, a rehearsal
            return original(*arguments, **named)
        if name in ("carry", "switch"):
            original(*arguments, **named)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(place, name, die)
        patch.setattr(draining, "release", lambda *_: None)
        patch.setattr(redeploying, "remove_files", lambda *_: None)
        with pytest.raises(KilledError):
            redeploying.redeploy(local.home, visits(local.home.root.parent, 3, 2), within=20.0)
    set_rows(local, tables.unit, held_until=0.0)  # as it is after a while
    finish(local)


def test_a_hold_is_renewed_as_long_as_it_takes(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draining, "HOLD_SECONDS", 0.03)
    u = tables.unit

    def until() -> float:
        with local.catalog.read() as connection:
            return connection.scalar(select(u.c.held_until)) or 0.0

    with held(local.catalog, local.name, local.units):
        first = until()
        mark = local.catalog.changes.mark()
        while until() == first:
            local.catalog.changes.wait(mark, 0.01)
    assert until() == 0.0
