from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.cut_checks import LATE_SECONDS, evaluate_checks, late_at
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.region_events import REQUESTED
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY
from streams_orchestration_tests.orchestration.statuses import NOW, failed, running
from streams_orchestration_tests.runtime.readings import changed, machine_status, unit_event

AWAY = {"storage_error": "s3://b/p (endpoint http://s:9): cannot be reached", "storage_failed_at": NOW - 40}


@pytest.mark.parametrize(
    ("changes", "state", "age", "passes"),
    [
        ({}, "RUNNING", LATE_SECONDS, True),
        ({}, "RUNNING", LATE_SECONDS + 1, False),
        ({"period": 30.0}, "RUNNING", 300, True),
        ({"period": 30.0}, "RUNNING", 301, False),
        ({"period": None}, "RUNNING", 10_000, True),
        ({}, "COMPLETED", 10_000, True),
        ({}, "STOPPED", 10_000, True),
    ],
)
def test_a_cut_is_late_after_ten_periods_and_a_minute(changes: dict, state: str, age: float, passes: bool):
    unit = changed(running().units[0], completed_at=NOW - age, **changes)
    fresh, restorable, *_ = evaluate_checks(running(units=(unit,), state=state, deployed_at=NOW - 20_000), NOW)
    assert fresh.passed is passes
    assert restorable.passed


def test_a_new_deployment_has_time_for_its_first_cut():
    unit = changed(running().units[0], completed_at=None)
    assert evaluate_checks(running(units=(unit,), deployed_at=NOW - 5), NOW)[0].passed


def test_only_a_failure_that_waits_for_somebody_is_a_problem():
    broken = failed(running())
    for status, problem in (
        (running(), ""),
        (broken, ""),
        (failed(running(), attempts=5), "5 of 5 resets in a row failed"),
        (replace(broken, pes=tuple(changed(pe, restartable=False) for pe in broken.pes)), "`restartable: false`"),
        (failed(running(state="STOPPED"), attempts=5), ""),
    ):
        problems = " ".join(evaluate_checks(status, NOW)[2].problems)
        assert problem in problems
        assert bool(problem) == bool(problems)


def test_a_cut_that_was_restored_is_no_problem():
    lost = unit_event(NOW, "cut lost", 1, 3, 0, cause="gone")
    for events, problems in (
        ((lost,), (f"gone. {LOST_REMEDY}",)),
        ((lost, replace(lost, kind="cut restored", cause=None)), ()),
    ):
        assert (
            evaluate_checks(running(units=(changed(running().units[0], events=events),)), NOW)[1].problems == problems
        )


@pytest.mark.parametrize(
    ("ago", "state", "problem"),
    [
        ((10.0,), "RUNNING", None),
        ((599.0, 300.0, 1.0), "RUNNING", "region-0 was reset 3 times in 10 min, last cause: division by zero"),
        ((601.0, 300.0, 1.0), "RUNNING", None),
        ((60.0, 40.0, 20.0, 0.0), "RUNNING", "region-0 was reset 4 times in 60 s, last cause: division by zero"),
        ((60.0, 40.0, 20.0, 0.0), "COMPLETED", None),
    ],
)
def test_a_unit_that_is_reset_again_and_again_is_not_stable(ago: tuple[float, ...], state: str, problem: str | None):
    began = unit_event(NOW, "reset began", 1, 3, 1, cause="division by zero")
    events = tuple(replace(began, at=NOW - seconds) for seconds in ago)
    unit = changed(running().units[0], completed_epoch=100, events=events)
    stable = evaluate_checks(running(units=(unit,), state=state), NOW)[3]
    assert (stable.name, stable.passed) == ("units_are_stable", problem is None)
    assert problem is None or stable.problems == (problem,)


def test_resets_by_hand_do_not_make_a_unit_unstable():
    by_hand = tuple(unit_event(NOW - seconds, "reset began", 1, 3, 1, cause=REQUESTED) for seconds in range(9))
    assert evaluate_checks(running(units=(changed(running().units[0], events=by_hand),)), NOW)[3].passed


@pytest.mark.parametrize(
    ("state", "application", "problem"),
    [
        ("UP", "RUNNING", None),
        ("LOST", "RUNNING", "north is LOST: its lease has ended"),
        ("DOWN", "RUNNING", "`streams machines remove north`"),
        ("DRAINING", "RUNNING", "`streams machines resume north`"),
        ("LOST", "STOPPED", None),
        ("LOST", "COMPLETED", None),
    ],
)
def test_a_machine_that_takes_no_hosts_is_a_problem_of_what_runs(state: str, application: str, problem: str | None):
    machines = [machine_status("north", state), machine_status("south", "UP")]
    check = evaluate_checks(running(state=application), NOW, machines)[4]
    assert (check.name, check.passed) == ("machines_are_up", problem is None)
    assert len(check.problems) == (problem is not None)
    assert (problem or "") in " ".join(check.problems)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({}, None),
        (AWAY, "host 0 has not reached the storage for 40 s: s3://b/p (endpoint http://s:9): cannot be reached"),
        (AWAY | {"machine": "north"}, "host 0 on north has not reached the storage for 40 s"),
        (AWAY | {"alive": False}, None),
    ],
)
def test_a_host_that_does_not_reach_the_storage_is_a_problem(facts: dict[str, Any], problem: str | None):
    status = running()
    check = evaluate_checks(replace(status, hosts=(changed(status.hosts[0], **facts),)), NOW)[5]
    assert (check.name, check.passed) == ("storage_is_reached", problem is None)
    assert (problem or "") in " ".join(check.problems)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({}, None),
        ({"state": "WAITING", "error": "machine north is wanted"}, "host 0 waits: machine north is wanted"),
        ({"misplaced": ("hosts 0 and 1 share north",)}, "hosts 0 and 1 share north"),
    ],
)
def test_a_host_that_is_not_where_it_is_wanted_is_a_problem(facts: dict[str, Any], problem: str | None):
    status = running()
    check = evaluate_checks(replace(status, hosts=(changed(status.hosts[0], **facts),)), NOW)[6]
    assert (check.name, check.problems) == ("hosts_are_placed", () if problem is None else (problem,))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"state": "UNHEALTHY", "cause": "host 0 is gone"}, "region-0 is UNHEALTHY: host 0 is gone"),
        ({"state": "RESETTING", "cause": "host 0 is gone"}, "region-0 is RESETTING: host 0 is gone"),
        ({"state": "COMPLETED"}, None),
    ],
)
def test_a_unit_that_is_being_reset_does_not_work(changes: dict[str, Any], problem: str | None):
    unit = changed(running().units[0], **changes)
    check = evaluate_checks(running(units=(unit,)), NOW)[7]
    assert (check.name, check.problems) == ("units_work", () if problem is None else (problem,))
    assert evaluate_checks(running(units=(unit,), state="STOPPED"), NOW)[7].passed


def test_a_unit_whose_host_is_lost_does_not_work():
    status = running()
    check = evaluate_checks(replace(status, hosts=(changed(status.hosts[0], alive=False),)), NOW)[7]
    assert check.problems == ("region-0 is LOST",)


@pytest.mark.parametrize("state", ["STOPPED", "COMPLETED"])
def test_the_checks_of_a_stopped_or_complete_application_pass_with_a_note(state: str):
    notes = {check.name: check.note for check in evaluate_checks(running(state=state), NOW) if check.note}
    assert notes == dict.fromkeys(("cuts_are_fresh", "sinks_are_complete", "units_work"), f"demo is {state}")


def test_the_next_cut_of_a_running_application_has_a_time_at_which_it_would_be_late():
    status = running()
    assert late_at(status, NOW) == NOW - 1 + LATE_SECONDS
    assert late_at(status, NOW + LATE_SECONDS) == 0
    assert late_at(running(state="STOPPED"), NOW) == 0


def test_no_freshness_policy_takes_what_was_stopped_for_stale(spec: Path, home: Home):
    spec.write_text(spec.read_text().replace("    parameters: {iterations: 1000}\n", ""))
    specs = build_application_definitions(spec, home).resolve_all_asset_specs()
    assert not [each.key for each in specs if each.freshness_policy is not None]
