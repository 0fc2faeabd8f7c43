from __future__ import annotations

from dataclasses import replace

import pytest

from streams_orchestration.orchestration.cut_checks import CHECKS, LATE_SECONDS
from streams_orchestration.orchestration.watching import (
    AMISS_SECONDS,
    REPORT_INTERVAL,
    SETTLED_SECONDS,
    SLOW_INTERVAL,
    Cursor,
    Memory,
    applications_to_check,
)
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.observing.status_summaries import StatusSummary
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.reset_decisions import RETRIES, decide_resets
from streams_orchestration_tests.orchestration.statuses import NOW, actions_after, failed, running
from streams_orchestration_tests.runtime.readings import changed


def kept(memory: Memory) -> Memory:
    """Return the memory as the next tick finds it."""
    return Cursor.load(Cursor({"demo": memory}).dump()).applications["demo"]


def resets(status: ApplicationStatus, now: float, memory: Memory) -> tuple[UnitFailure, ...]:
    """Return the resets that a check of the sensor begins."""
    return decide_resets(status, now, memory.known).resets


def test_a_healthy_application_is_reported_once():
    first = actions_after(running(), NOW, Memory())
    assert first.report
    assert [sink.operator for sink in first.sinks] == ["Results"]
    assert not first.memory.pending
    later = NOW + 2 * REPORT_INTERVAL
    unit = changed(running().units[0], completed_at=later)
    host = changed(running().hosts[0], heartbeat_at=later)
    second = actions_after(running(hosts=(host,), units=(unit,)), later, first.memory)
    assert not second.report
    assert replace(second.memory, checked_at=NOW, late_at=first.memory.late_at) == first.memory


def test_progress_is_reported_at_most_once_a_minute():
    status = running()
    memory = actions_after(status, NOW, Memory()).memory
    further = replace(status, units=(changed(status.units[0], completed_epoch=9),))
    host = changed(status.hosts[0], heartbeat_at=NOW + REPORT_INTERVAL)
    further = replace(further, hosts=(host,))
    assert not actions_after(further, NOW + REPORT_INTERVAL - 1, memory).report
    later = actions_after(further, NOW + REPORT_INTERVAL, memory)
    assert later.report
    assert later.sinks == ()


def test_a_check_is_recorded_when_it_fails_and_when_it_passes_again():
    fresh = running()
    stale = replace(fresh, units=(changed(fresh.units[0], completed_at=NOW - 90),))
    memory, recorded = Memory(), []
    for status in (fresh, fresh, stale, stale, fresh):
        seen = actions_after(status, NOW, memory)
        memory = kept(seen.memory)
        recorded.append([(check.name, check.passed) for check in seen.checks])
    names = tuple(CHECKS)
    first = [(name, True) for name in names]
    assert recorded == [first, [], [("cuts_are_fresh", False)], [], [("cuts_are_fresh", True)]]


def test_a_cut_that_is_late_is_noticed_within_seconds():
    memory = actions_after(running(), NOW, Memory()).memory
    status = running(units=(changed(running().units[0], completed_at=NOW + 30),))
    memory = kept(actions_after(status, NOW + REPORT_INTERVAL, memory).memory)
    noticed = NOW + 30 + LATE_SECONDS + AMISS_SECONDS
    assert [memory.is_due(at) for at in (noticed - 0.1, noticed)] == [False, True]
    seen = actions_after(status, noticed, memory)
    assert [check.name for check in seen.checks] == ["cuts_are_fresh"]
    assert not seen.memory.is_due(noticed + 0.1)


@pytest.mark.parametrize("period", [1.0, 6.0, 30.0])
def test_a_running_application_is_recorded_every_minute(period: float):
    memory, reports, checks = Memory(), 0, 0
    for quarter in range(4 * 600):
        now = NOW + quarter / 4
        if not memory.is_due(now):
            continue
        epoch = int((now - NOW) / period)
        unit = changed(running().units[0], completed_epoch=epoch, completed_at=NOW + epoch * period, period=period)
        host = changed(running().hosts[0], heartbeat_at=now)
        seen = actions_after(running(hosts=(host,), units=(unit,)), now, memory)
        memory, reports, checks = kept(seen.memory), reports + seen.report, checks + 1
    assert (reports, checks <= 20) == (10, True)


def test_a_check_is_recorded_when_there_is_nothing_to_check_any_more():
    memory = actions_after(running(), NOW, Memory()).memory
    seen = actions_after(running(state="STOPPED"), NOW + 1, memory)
    assert {check.note for check in seen.checks} == {"demo is STOPPED"}
    assert not actions_after(running(state="STOPPED"), NOW + 2, kept(seen.memory)).checks


def test_a_change_of_state_is_reported_at_once():
    memory = actions_after(running(), NOW, Memory()).memory
    assert actions_after(running(state="COMPLETED"), NOW + 1, memory).report


def test_a_failure_is_answered_by_one_reset():
    status = failed(running())
    assert [failure.unit for failure in resets(status, NOW, Memory())] == ["region-0"]
    first = actions_after(status, NOW, Memory())
    assert [*first.memory.pending] == ["region-0"]
    assert not resets(status, NOW + 5, first.memory)


def test_the_next_failure_has_another_key():
    first = actions_after(failed(running()), NOW, Memory())
    again = actions_after(failed(running(), generation=2, attempts=1), NOW + 5, first.memory)
    assert again.memory.pending["region-0"].key != first.memory.pending["region-0"].key


def test_a_deployment_anew_has_other_keys_even_within_the_same_second():
    first = actions_after(failed(running()), NOW, Memory())
    fresh = actions_after(failed(running(life="second")), NOW + 5, first.memory)
    assert fresh.memory.pending["region-0"].key != first.memory.pending["region-0"].key


def test_a_reset_without_effect_is_requested_again_ever_more_slowly():
    status = running()
    memory, asked = Memory(), []
    for second in range(0, 200, 5):
        now = NOW + second
        host = changed(status.hosts[0], heartbeat_at=now)
        failing = failed(replace(status, hosts=(host,)))
        answered = resets(failing, now, memory)
        memory = kept(actions_after(failing, now, memory).memory)
        asked += [(second, memory.pending[failure.unit].key) for failure in answered]
    assert [second for second, _ in asked] == [0, RETRIES.first, 3 * RETRIES.first]
    assert len({key for _, key in asked}) == 3


def test_no_reset_beyond_the_last_attempt():
    seen = actions_after(failed(running(), attempts=5), NOW, Memory())
    assert not seen.memory.pending
    assert seen.memory.remark.startswith("region-0: ")
    assert seen.report
    assert not actions_after(failed(running(), attempts=5), NOW + 1, seen.memory).report


def test_no_reset_where_it_would_fail_again():
    status = failed(running())
    permanent = replace(status, pes=(status.pes[0], changed(status.pes[1], permanent=True)))
    seen = actions_after(permanent, NOW, Memory())
    assert not seen.memory.pending
    assert "a reset would meet the same error again" in seen.memory.remark


def test_a_stopped_application_needs_nothing():
    assert not resets(failed(running(state="STOPPED")), NOW, Memory())


def test_memory_survives_the_cursor_and_a_damaged_cursor_is_none():
    status = running()
    dead = replace(status, hosts=(changed(status.hosts[0], alive=False),))
    for trouble in (failed(status), dead):
        memory = actions_after(trouble, NOW, Memory()).memory
        assert memory.known["region-0"].tries == 1
        assert kept(memory) == memory
    for cursor in (None, "", "nonsense", "[]", '{"applications": {"a": {"known": {"a": {}}}}}', '{"other": 1}'):
        assert Cursor.load(cursor) == Cursor()


def test_a_failure_is_reported_at_once_and_its_reset_is_left_to_the_run():
    status = running()
    memory = actions_after(status, NOW, Memory()).memory
    dead = replace(status, hosts=(changed(status.hosts[0], alive=False),))
    resetting = running(units=(changed(status.units[0], state="RESETTING", generation=2),))
    again = running(units=(changed(status.units[0], reset_count=1, generation=2, completed_epoch=5),))
    reports = []
    for number, each in enumerate((dead, resetting, again)):
        seen = actions_after(each, NOW + 1 + number, memory)
        memory = kept(seen.memory)
        reports.append(seen.report)
    assert reports == [True, False, False]
    assert actions_after(running(state="STOPPED"), NOW + 5, memory).report


def test_a_pe_that_backs_off_is_not_reset_before_its_time():
    status = failed(running())
    unit = changed(status.units[0], region=None, restarts=3, outage={"detected": NOW})
    unit = changed(unit, resets=unit.row.resets.add(0, NOW - 1, 0.5))
    status = replace(status, units=(unit,))
    first = actions_after(status, NOW + 3.9, Memory())
    assert not first.memory.pending
    assert len(resets(status, NOW + 4, first.memory)) == 1


def test_pes_and_sinks_follow_every_minute_and_less_often_once_all_is_quiet():
    memory, recorded = Memory(), []
    for minute in range(int(SETTLED_SECONDS / 60) + 31):
        now = NOW + 60 * minute
        host = changed(running().hosts[0], heartbeat_at=now)
        unit = changed(running().units[0], completed_epoch=minute + 1, completed_at=now)
        pes = tuple(changed(pe, rows_in=1000 * minute + 1) for pe in running().pes)
        seen = actions_after(running(hosts=(host,), units=(unit,), pes=pes), now, memory)
        memory = kept(seen.memory)
        assert seen.report
        recorded += [minute] if seen.pes else []
    settled = int(SETTLED_SECONDS / 60)
    assert recorded[:settled] == list(range(settled))
    assert recorded[settled:] == list(range(settled - 1 + 10, settled + 31, int(SLOW_INTERVAL / 60)))


def test_a_completed_pe_is_recorded_at_once():
    memory = actions_after(running(), NOW, Memory()).memory
    done = tuple(changed(pe, state="COMPLETED") for pe in running().pes)
    seen = actions_after(running(state="COMPLETED", pes=done), NOW + 1, memory)
    assert [pe.state for pe in seen.pes] == ["COMPLETED"] * 2


def summary(mark: str = "RUNNING", suspected: tuple[str, ...] = ()) -> StatusSummary:
    return StatusSummary(mark, "life", (), suspected)


def test_urgent_checks_come_first_and_one_routine_check_at_a_time():
    names = [f"app{number}" for number in range(50)]
    checked = {name: Memory(mark=summary().mark, checked_at=NOW - 61 - number) for number, name in enumerate(names)}
    summaries = {name: summary() for name in names}
    assert applications_to_check(checked, summaries, NOW) == ["app49"], "the one that waited longest"
    assert applications_to_check(
        checked, summaries | {"app7": summary("COMPLETED"), "app9": summary(suspected=("pe-0",))}, NOW
    ) == [
        "app7",
        "app9",
    ]
    assert applications_to_check(dict.fromkeys(names, Memory()), summaries, NOW) == ["app0"], (
        "a first check is a routine one"
    )
    assert applications_to_check({"gone": Memory()}, summaries, NOW) == []


def test_a_unit_in_trouble_is_looked_at_every_second():
    memory = Memory(mark=summary(suspected=("pe-0",)).mark, checked_at=NOW)
    assert not memory.is_urgent(summary(suspected=("pe-0",)), NOW + 0.9)
    assert memory.is_urgent(summary(suspected=("pe-0",)), NOW + 1.0)
