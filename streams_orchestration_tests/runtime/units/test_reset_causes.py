"""One function says whether a unit needs a reset. Others ask it, or differ from it in what their docstrings name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND
from streams_orchestration.runtime.catalog.pe_transitions import fail_pe_of_sink
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.controller import unit_row
from streams_orchestration.runtime.units.failures import find_failures, find_reset_cause, may_need_reset
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.region_events import FailureCause, Healthy, ResetDone, TimerFired
from streams_orchestration.runtime.units.unit_facts import Facts, Health, UnitMember, next_event
from streams_orchestration.runtime.units.unit_store import record_of
from streams_orchestration.runtime.units.watch import PeOfUnit, changes_soon
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.readings import unit_status

NOW = 1_700_000_000.0
STATES = ("STARTED", "PROCESSING", "DRAINING", "RESETTING", "UNHEALTHY", "MAXIMUM_RESET_ATTEMPTS_REACHED")
TIMERS = {"PROCESSING": "period", "DRAINING": "drain", "RESETTING": "reset"}
BOOM = FailureCause("PE 0 failed: boom")


@st.composite
def units(draw: st.DrawFn) -> UnitRow:
    """Return a unit in a state, with the timer that runs in this state."""
    state = draw(st.sampled_from((*STATES, *ENDED)))
    timer = TIMERS.get(state)
    deadline = draw(st.sampled_from((NOW - 1, NOW, NOW + 1))) if timer is not None else None
    facts: dict[str, Any] = {"asked": draw(st.integers(0, 1)), "dirty": state == "STARTED" and draw(st.booleans())}
    facts |= {"attempts": draw(st.integers(0, 5)), "since": NOW - 9, "period": 5.0, "restart_limit": 9.0}
    return unit_status(state=state, timer=timer, deadline=deadline, **facts).row


HEALTH = st.builds(
    Health,
    failure=st.sampled_from((None, BOOM)),
    up=st.booleans(),
    gone=st.sampled_from(({}, {0: FailureCause("host 0 is gone")})),
    ahead=st.booleans(),
)


@given(units(), HEALTH)
def test_a_unit_that_needs_a_reset_is_suspected_and_few_others_are(unit: UnitRow, health: Health):
    settled = replace(health, failure=None, ahead=False)
    assert may_need_reset(unit, settled, NOW) == (find_reset_cause(unit, settled, NOW) is not None)
    others = health.failure is not None or health.ahead
    needed = find_reset_cause(unit, health, NOW) is not None
    assert may_need_reset(unit, health, NOW) == (unit.state not in ENDED and (needed or others))


@pytest.mark.parametrize("state", ["UNHEALTHY", "STARTED"])
def test_a_unit_whose_reset_was_taken_up_needs_another_one_only_if_a_host_is_gone(state: str):
    unit = unit_status(state=state, dirty=True, asked=1).row
    assert find_reset_cause(unit, Health(failure=BOOM), NOW) is None
    assert may_need_reset(unit, Health(failure=BOOM), NOW), "the reset begins when all hosts run"
    gone = FailureCause("host 0 is gone")
    assert find_reset_cause(unit, Health(gone={0: gone}), NOW) == gone


def member(unit: UnitRow, *, runs: bool) -> UnitMember:
    """Return the only PE of a unit, which works in the unit's epoch."""
    running = unit.generation if runs else unit.generation - 1
    return UnitMember(
        "app", unit.name, 0, 0, "RUNNING", None, NO_KIND, False, None, False, unit.current_epoch, running
    )  # fmt: skip


@given(units(), st.booleans(), st.booleans())
def test_a_host_hurries_if_a_unit_starts_is_reset_or_is_due(unit: UnitRow, runs: bool, up: bool):
    facts = Facts(unit, (member(unit, runs=runs),), Health(up=up))
    event = None if unit.state in ENDED else next_event(record_of(unit), facts, NOW)
    pe = PeOfUnit(
        id=0, final=False, state="RUNNING", generation=unit.generation, dirty=unit.dirty, committed_at=None,
        unit_state=unit.state, timer=unit.timer, deadline=unit.deadline, asked=unit.asked,
    )  # fmt: skip
    if isinstance(event, (Healthy, ResetDone, TimerFired)):
        given_up = unit.state == "UNHEALTHY" and record_of(unit).gives_up(NOW)
        assert changes_soon(pe, NOW) or (given_up and not unit.taken_up)
    if changes_soon(pe, NOW):
        all_run = replace(facts, members=(member(unit, runs=True),), health=Health(up=True))
        assert next_event(record_of(unit), all_run, NOW) is not None
    assert not changes_soon(replace(pe, final=True), NOW)


def test_an_ended_pe_whose_output_is_lost_is_reported_although_no_reset_can_help(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "rows.parquet", 5)))
    (unit,) = local.units
    with local.catalog.write() as connection:
        connection.execute(tables.pe.update().where(tables.pe.c.id == 0).values(final=True))
        fail_pe_of_sink(connection, local.name, 0, NOW, "the output is lost")
        (facts,) = read_facts(connection, [unit_row(connection, local.name, unit)], NOW)
    assert facts.health.failure is None
    (failure,) = find_failures(read_units(local.catalog, local.name), NOW)
    assert failure.cause.reason == "PE 0 failed: the output is lost"
    assert failure.exhausted
