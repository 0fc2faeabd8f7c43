"""A redeploy is on trial until its units have completed an epoch; when they cannot, the previous plan works again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import opening
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.errors.errors import HostLaunchError, NotDeployableError, RevertedError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import redeploying, trial_supervision
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.redeployment.trial_supervision import OnTrialError, supervise_former_trial
from streams_orchestration.runtime.rollout.reverting import (
    NotRevertedError,
    end_trial_by_hand,
    is_redeploy_on_trial,
    read_reverted_plan,
    recompile_previous_plan,
)
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.trials.previous_plan import read_plan
from streams_orchestration.runtime.trials.trial import open_trial, revert_open
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.applications import expected_of_network, network, published
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.redeployed import (
    COUNT,
    adopt,
    begin,
    decided,
    finish,
    redeploy,
    run_some,
    set_rows,
    undecided,
    unneeded,
    visits,
)

pytestmark = pytest.mark.slow


def trial_of(local: LocalApplication) -> TrialRow:
    with local.catalog.read() as connection:
        trial = read_trial(connection, local.name)
    assert trial is not None
    return trial


REDEPLOYS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(0, 5), st.booleans(), st.booleans()),
    min_size=1, max_size=4,
)  # fmt: skip
"""Turns before, the number of PEs from then on, turns on trial, whether it is reverted then, and garbage collected."""


@examples(7)
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
        if back and revert_open(local.catalog, local.name, "for the test"):
            adopt(local)
    local.run()
    assert {name: published(local.published(name)) for name in expected_of_network(COUNT)} == expected_of_network(COUNT)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


@examples(7)
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
        revert_open(local.catalog, local.name, "for the test")
        adopt(local)
    finish(local)


def test_nothing_on_trial_is_visible_until_it_is_decided(local: LocalApplication):
    before = published(local.published("Out"))
    begin(local)
    with undecided():
        run_some(local, 12)
        (unit,) = read_status(local.catalog, local.name).units
        assert unit.completed_epoch > trial_epoch(local)
        assert published(local.published("Out")) == before
    finish(local)
    assert trial_of(local).state == "PASSED"


def trial_epoch(local: LocalApplication) -> int:
    """Return the last epoch that is visible."""
    with local.catalog.read() as connection:
        return connection.scalar(select(tables.unit.c.shown_epoch)) or 0


def test_a_redeploy_that_has_completed_an_epoch_has_passed_its_trial(local: LocalApplication):
    begin(local)
    trial = decided(local)
    assert trial is not None
    assert (trial.state, trial.cause, trial.before, trial.files) == ("PASSED", None, None, [])
    assert trial.pause is not None
    assert trial.pause > 0
    directory = local.home.root.parent
    assert preview_redeploy(local.catalog, deployable(visits(directory, 4, 2))).predicted_seconds == trial.pause
    assert preview_redeploy(local.catalog, deployable(visits(directory, 3, 2))).predicted_seconds is None
    assert not end_trial_by_hand(local.catalog, local.name)
    finish(local)
    collect_garbage(local.catalog, local.name, local.programs)
    assert unneeded(local) == set()


def test_a_redeploy_that_begins_no_unit_has_passed_at_once(local: LocalApplication):
    with local.catalog.write() as connection:
        before = read_plan(connection, local.name, set(), {})
        open_trial(connection, local.name, (), 20.0, before)
    trial = trial_of(local)
    assert (trial.state, trial.before, trial.files) == ("PASSED", None, [])
    finish(local)
    assert unneeded(local) == set()


def time_is_over(local: LocalApplication) -> None:
    set_rows(local, tables.trial, until=0.0)


def an_operator_raises(local: LocalApplication) -> None:
    error, failures = "batch 7: operator X: it is wrong (x.py, line 3)", {"failure": {}, "repeats": 1, "times": []}
    set_rows(local, tables.pe, state="FAILED", error=error, failures=failures)


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
def test_any_observer_of_a_failed_trial_restores_the_previous_plan(
    local: LocalApplication, failure: Callable[[LocalApplication], None]
):
    former = read_status(local.catalog, local.name).fingerprint
    begin(local)
    failure(local)
    advance_units_and_trial(local.catalog, local.name)
    trial = trial_of(local)
    assert trial.state == "REVERTED"
    assert re.match(FAILURES[failure], trial.cause or ""), trial.cause
    assert read_status(local.catalog, local.name).fingerprint == former
    set_rows(local, tables.host, state="STOPPED", error=None)
    finish(local)
    assert unneeded(local) == set()


def test_the_process_that_redeploys_says_that_it_was_reverted_and_why(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    plans: list[str] = []

    def fail(catalog: Catalog, application: str) -> None:
        plans.append(read_status(catalog, application).fingerprint)
        if len(plans) == 1:
            an_operator_raises(local)

    former = read_status(local.catalog, local.name).fingerprint
    for module in (redeploying, trial_supervision):
        monkeypatch.setattr(module, "launch_hosts", fail)
    with pytest.raises(
        RevertedError,
        match=r"was reverted, so the previous plan runs again.*: PE 0 failed: batch 7: operator X.*line 3",
    ):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    assert plans[0] != plans[1] == former, "hosts of the new plan are started, then those of the previous plan"
    finish(local)


@pytest.fixture
def launches(local: LocalApplication, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The fingerprint of the plan that is deployed at each start of hosts; the first start fails."""
    launches: list[str] = []

    def launch(*_: object, **__: object) -> tuple[str, ...]:
        launches.append(read_status(local.catalog, local.name).fingerprint)
        if len(launches) == 1:
            message = "host 1 of app could not be started: there is no Java"
            raise HostLaunchError(message)
        return ()

    for module in (trial_supervision, redeploying):
        monkeypatch.setattr(module, "launch_hosts", launch)
    return launches


def test_a_host_that_cannot_be_started_at_all_takes_the_plan_back(local: LocalApplication, launches: list[str]):
    former = read_status(local.catalog, local.name).fingerprint
    with pytest.raises(RevertedError, match="there is no Java"):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    assert launches[0] != former
    assert launches[1:] == [former], "hosts of the previous plan are started once"
    finish(local)


def test_an_application_that_was_stopped_is_stopped_after_a_revert_and_starts_no_host_for_that(
    local: LocalApplication, launches: list[str]
):
    cancel_application(local.catalog, local.name, 1.0)
    with pytest.raises(RevertedError, match="there is no Java"):
        locked.redeploy(local.home, deployable(visits(local.home.root.parent, 3, 2)), within=20.0)
    assert len(launches) == 1, "hosts of the new plan alone were to be started"
    assert read_status(local.catalog, local.name).state == "STOPPED"


def test_hosts_are_started_after_the_revert_of_a_trial_whose_process_has_died(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    launches: list[str] = []

    def launch(*_: object) -> None:
        launches.append(read_status(local.catalog, local.name).fingerprint)

    former = read_status(local.catalog, local.name).fingerprint
    begin(local)
    monkeypatch.setattr(trial_supervision, "launch_hosts", launch)
    time_is_over(local)
    supervise_former_trial(local.catalog, local.name)
    assert trial_of(local).state == "REVERTED"
    assert launches == [former]
    supervise_former_trial(local.catalog, local.name)
    assert launches == [former], "a trial that was decided before starts nothing"
    finish(local)


def test_a_redeploy_is_reverted_by_hand_once(local: LocalApplication):
    with pytest.raises(NotRevertedError, match="it was never redeployed"):
        recompile_previous_plan(local.catalog, local.name)
    begin(local)
    run_some(local, 1)
    assert is_redeploy_on_trial(local.catalog, local.name)
    assert end_trial_by_hand(local.catalog, local.name)
    assert not is_redeploy_on_trial(local.catalog, local.name)
    with pytest.raises(NotRevertedError, match=r"was restored already, at .*reverted by hand"):
        recompile_previous_plan(local.catalog, local.name)
    finish(local)


@pytest.fixture
def stepped_redeploys(local: LocalApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redeploys start no hosts, and are decided by steps in this process."""

    def replace_here(opened: OpenedApplication, *_: object) -> bool:
        redeploy(local, opened.wanted.compilation)
        return False

    monkeypatch.setattr(redeploying, "replace_plan", replace_here)
    monkeypatch.setattr(redeploying, "launch_hosts", lambda *_: ())
    monkeypatch.setattr(redeploying, "supervise_trial", lambda *_, **__: decided(local))


@pytest.mark.usefixtures("stepped_redeploys")
def test_the_plan_before_is_kept_beyond_the_trial_and_goes_on_with_the_state_of_now(local: LocalApplication):
    first = read_status(local.catalog, local.name).fingerprint
    begin(local)
    second = read_status(local.catalog, local.name).fingerprint
    decided(local)
    run_some(local, 4)
    assert read_reverted_plan(local.catalog, local.name) is None
    epoch = read_status(local.catalog, local.name).units[0].completed_epoch
    redeployment = locked.revert_redeploy(local.home, local.name)
    assert redeployment is not None
    assert redeployment.verdict == "kept"
    status = read_status(local.catalog, local.name)
    assert status.fingerprint == first
    assert status.units[0].completed_epoch > epoch, "it goes on, and not back"
    tried = read_reverted_plan(local.catalog, local.name)
    assert tried is not None
    assert tried.fingerprint == second, "the schedule does not try it again"
    assert recompile_previous_plan(local.catalog, local.name).fingerprint == second, "that is the previous plan now"
    finish(local)


def test_a_previous_plan_that_breaks_the_condition_of_a_stage_is_not_restored(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    begin(local)
    decided(local)
    second = read_status(local.catalog, local.name).fingerprint
    monkeypatch.setattr(opening, "broken_conditions", lambda _: "which is a bug: fusion_plan: operator Op is in no PE")
    with pytest.raises(NotDeployableError, match="which is a bug: fusion_plan: operator Op"):
        locked.revert_redeploy(local.home, local.name)
    assert read_status(local.catalog, local.name).fingerprint == second
    finish(local)


def test_counters_go_on_with_the_new_plan_and_with_the_plan_before(local: LocalApplication):
    def counted() -> dict[int, int]:
        return {pe.id: pe.row.rows_in for pe in read_status(local.catalog, local.name).pes}

    before = counted()
    assert before[0] > 0
    begin(local)
    assert counted()[0] == before[0]
    end_trial_by_hand(local.catalog, local.name)
    assert counted() == before


def test_a_second_redeploy_waits_until_the_first_is_decided(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    begin(local)
    waited: list[str] = []

    def wait(*_: object) -> None:
        waited.append(trial_of(local).state)
        time_is_over(local)

    check = trial_supervision.advance_and_read_units
    monkeypatch.setattr(trial_supervision, "advance_and_read_units", lambda *given: (wait(), check(*given))[1])
    begin(local, width=1)
    assert waited[0] == "OPEN"
    finish(local)


def test_a_trial_that_was_stopped_is_decided_when_the_application_runs_again(local: LocalApplication):
    begin(local)
    cancel_application(local.catalog, local.name, 1.0)
    time_is_over(local)
    advance_units_and_trial(local.catalog, local.name)
    assert trial_of(local).state == "OPEN"
    with pytest.raises(OnTrialError, match=r"--revert"):
        locked.begin_redeploy(local.home, deployable(visits(local.home.root.parent, 1, 1)))
    deploy(local.home, deployable(local.compilation))
    assert trial_of(local).until > clock.now()
    finish(local)
