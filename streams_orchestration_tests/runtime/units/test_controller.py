"""The controller of units: what has happened to a region is known to all, and it comes back to its cut."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import HostKind
from streams_orchestration.runtime.deployment import awaiting_reset, control, reset
from streams_orchestration.runtime.deployment.awaiting_reset import await_reset
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import (
    HostLaunchError,
    OutputError,
    StaleGenerationError,
    UnitRemovedError,
)
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.settings.limits import HEARTBEAT_LIMIT
from streams_orchestration.runtime.sinks.sinks import record_failure
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units import unit_store
from streams_orchestration.runtime.units.controller import begin_again
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.garbage import sweep
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime import applications
from streams_orchestration_tests.runtime.applications import network
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.running import COUNT, FakeHosts, Running

pytestmark = pytest.mark.slow


def test_a_clean_start_needs_no_reset(running: Running):
    assert (running.unit.state, running.unit.row.current_epoch, running.unit.completed_epoch) == ("PROCESSING", 1, 0)
    assert running.events == []


def test_a_region_is_processing_only_when_every_pe_runs(tmp_path: Path, hosts: FakeHosts):
    running = Running(tmp_path, hosts)
    running.set(tables.unit, state="STARTED")
    running.set(tables.pe, running=0)
    for pe in range(3):
        advance_units(running.catalog, running.name)
        assert running.unit.state == "STARTED"
        with running.catalog.write() as connection:
            connection.execute(update(tables.pe).where(tables.pe.c.id == pe).values(running=1))
    advance_units(running.catalog, running.name)
    assert running.unit.state == "PROCESSING"


def test_a_pe_that_had_ended_when_a_sink_failed_is_complete_once_its_unit_begins_again(running: Running):
    out = next(pe.id for pe in read_status(running.catalog, running.name).pes if "Out" in pe.row.operators)
    with running.catalog.write() as connection:
        connection.execute(update(tables.pe).where(tables.pe.c.id == out).values(final=True, state="COMPLETED"))
    record_failure(running.catalog, running.name, "Out", OutputError("Out", "an output is gone", lost=True))
    with running.catalog.write() as connection:
        begin_again(connection, running.name, [running.unit_name])
    ended = read_status(running.catalog, running.name).pes[out]
    assert (ended.state, ended.row.error, ended.row.permanent) == ("COMPLETED", None, False)


def test_the_states_of_a_host_that_dies(running: Running):
    running.work()
    before = running.unit
    running.kill_host()
    advance_units(running.catalog, running.name)
    unit = running.unit
    assert (unit.state, unit.row.attempts, unit.generation) == ("UNHEALTHY", 0, 1)
    assert "is gone" in (unit.row.cause or "")
    reset_unit(running.catalog, running.name, "region-0", generation=1)
    unit = running.unit
    assert (unit.state, unit.row.attempts, unit.generation) == ("UNHEALTHY", 0, 1), "not before the host is back (B12)"
    assert running.hosts.launched == [0, 0]
    assert running.failure is None, "it is taken care of"
    running.set(tables.host, state="RUNNING", heartbeat_at=time.time())
    advance_units(running.catalog, running.name)
    unit = running.unit
    assert (unit.state, unit.row.attempts, unit.generation) == ("RESETTING", 1, 2)
    assert (unit.completed_epoch, unit.row.current_epoch) == (before.completed_epoch, before.row.current_epoch)
    running.local.report_running()
    unit = running.unit
    assert (unit.state, unit.row.attempts, unit.row.current_epoch) == ("PROCESSING", 1, before.row.current_epoch + 1)
    assert running.events == ["unhealthy", "taken up", "reset began", "reset done"]
    assert sorted(unit.row.outage or {}) == ["asked", "began", "detected", "done", "failed"]
    running.local.trigger()
    for program in running.local.programs * 2:
        running.local.step(program)
    assert (running.unit.row.attempts, running.unit.row.cause) == (0, None), "a complete epoch gives them back (B5)"
    assert "committed" in (running.unit.row.outage or {})
    running.finish()


def test_the_outage_of_a_unit_begins_when_a_pe_has_failed_and_not_when_that_is_seen(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    running.work()
    record_failure(running.catalog, running.name, "Out", OutputError("Out", "an output is gone", lost=True))
    (failed_at,) = (pe.row.failed_at for pe in read_status(running.catalog, running.name).pes if pe.state == "FAILED")
    assert failed_at is not None
    seen_at = failed_at + 2.0
    monkeypatch.setattr(world, "now", lambda: seen_at)
    advance_units(running.catalog, running.name)
    assert running.unit.row.outage == {"failed": failed_at, "detected": seen_at}


def test_a_host_that_dies_while_hosts_are_started_counts_under_its_own_kind(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    running.work()
    running.kill_host()
    monkeypatch.setattr(control, "advance_units_and_trial", lambda *_: ())
    control.launch_hosts(running.catalog, running.name)
    assert (running.unit.state, running.unit.row.kind) == ("UNHEALTHY", HostKind(0))


def batch_in_flight(running: Running) -> tuple[PeProgram, BatchPlan, list[TaskResult]]:
    """Run a batch of the first PE without committing it, and return it."""
    running.work()
    program = running.local.programs[0]
    plan = running.local.plan(program)
    assert plan is not None
    return program, plan, running.local.execute(program, plan)


def test_nothing_is_committed_between_the_failure_and_the_reset(running: Running):
    program, plan, results = batch_in_flight(running)
    running.kill_host()
    advance_units(running.catalog, running.name)
    with pytest.raises(StaleGenerationError, match="region-0 is UNHEALTHY and goes back to its last complete epoch"):
        commit_batch(running.catalog, program, plan, results, 0.0)


def test_a_failed_query_is_reset_at_once_when_its_host_lives(running: Running):
    running.work()
    with running.catalog.write() as connection:
        connection.execute(update(tables.pe).where(tables.pe.c.id == 1).values(state="FAILED", error="boom"))
    running.watch()
    assert (running.unit.state, running.unit.generation) == ("RESETTING", 2)
    assert running.unit.row.cause == "PE 1 failed: boom"
    assert running.hosts.launched == [0]
    running.finish()


def test_a_failure_that_went_by_is_reset_all_the_same(running: Running):
    """A host that was paused and goes on: what it did meanwhile was refused."""
    running.work()
    running.set(tables.host, heartbeat_at=time.time() - HEARTBEAT_LIMIT - 5.0)
    advance_units(running.catalog, running.name)
    running.set(tables.host, heartbeat_at=time.time())
    failure = running.failure
    assert failure is not None
    assert "gave no heartbeat for" in failure.cause.reason
    running.watch()
    assert running.unit.generation == 2
    running.finish()


def test_awaiting_a_reset_ends_with_an_error_when_a_pe_fails_again(running: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(awaiting_reset, "HEALING_SECONDS", 0.0)
    running.work()
    reset_unit(running.catalog, running.name, "region-0")
    running.local.report_running()
    running.set(tables.unit, asked=True)
    running.set(tables.pe, state="FAILED", error="boom")
    with pytest.raises(HostLaunchError, match="boom"):
        await_reset(running.catalog, running.name, "region-0", None, 5.0, pytest.fail)


def test_awaiting_a_reset_ends_if_the_unit_worked_and_has_failed_once_more(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(awaiting_reset, "HEALING_SECONDS", 0.0)
    running.work()
    reset_unit(running.catalog, running.name, "region-0")
    running.work()
    running.set(tables.pe, state="FAILED", error="boom")
    await_reset(running.catalog, running.name, "region-0", 1, 0.0, pytest.fail)
    with pytest.raises(HostLaunchError, match="boom"):
        await_reset(running.catalog, running.name, "region-0", 2, 5.0, pytest.fail)


def test_a_drain_that_takes_too_long_counts_as_an_attempt(running: Running):
    running.work()
    running.local.trigger()
    assert (running.unit.state, running.unit.row.timer) == ("DRAINING", "drain")
    running.expire()
    advance_units(running.catalog, running.name)
    assert running.unit.state == "DRAINING", "beginning the reset is for somebody who takes it up"
    failure = running.failure
    assert failure is not None
    assert "drainTimeout of 180 s" in failure.cause.reason
    reset_unit(running.catalog, running.name, "region-0", generation=failure.generation)
    assert (running.unit.state, running.unit.row.attempts) == ("RESETTING", 1)
    assert running.unit.row.cause == failure.cause.reason, "a report and the catalog give one cause"
    running.finish()


def test_a_reset_of_a_unit_that_a_redeploy_replaces_meanwhile_says_so(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    running.work()

    def leave(*_: Any) -> dict[int, str]:
        running.set(tables.unit, name="region-7")
        return {}

    monkeypatch.setattr(reset, "decide_and_record_moves", leave)
    with pytest.raises(UnitRemovedError, match="the unit region-0 no longer exists"):
        reset_unit(running.catalog, running.name, "region-0")


def test_a_reset_that_is_not_answered_has_the_hosts_killed(running: Running):
    running.work()
    reset_unit(running.catalog, running.name, "region-0")
    pids = set(running.hosts.alive_pids)
    running.expire()
    failure = running.failure
    assert failure is not None
    assert "resetTimeout of 180 s" in failure.cause.reason
    reset_unit(running.catalog, running.name, "region-0", generation=failure.generation)
    assert not pids & running.hosts.alive_pids, "it cannot end by itself"
    assert (running.unit.state, running.unit.row.attempts) == ("UNHEALTHY", 1)
    running.set(tables.host, state="RUNNING", heartbeat_at=time.time())
    advance_units(running.catalog, running.name)
    assert (running.unit.state, running.unit.row.attempts) == ("RESETTING", 2)
    running.finish()


def test_attempts_are_used_up_by_crashes_without_a_complete_epoch(running: Running):
    running.work()
    for attempt in range(1, 6):
        running.kill_host()
        running.watch()
        running.come_up()
        assert (running.unit.state, running.unit.row.attempts) == ("PROCESSING", attempt)
    running.kill_host()
    running.watch()
    assert running.unit.state == "MAXIMUM_RESET_ATTEMPTS_REACHED"
    failure = running.failure
    assert failure is not None
    assert failure.exhausted
    with pytest.raises(reset.NotResetError, match="was reset 5 times in a row"):
        reset_unit(running.catalog, running.name, "region-0")
    reset_unit(running.catalog, running.name, "region-0", force=True)
    assert (running.unit.state, running.unit.row.max_attempts) == ("UNHEALTHY", 10)
    running.come_up()
    assert (running.unit.state, running.unit.row.attempts) == ("PROCESSING", 6)
    running.finish()


def test_a_reset_touches_its_own_region_only(tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(applications.PERIODIC["consistent"], "period", 1e6)  # however slow the machine is
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="legacy"), 5)
    control.launch_hosts(local.catalog, local.name)
    for program in local.programs * 2:
        local.step(program)
    before = {pe.id: pe for pe in read_status(local.catalog, local.name).pes}
    reset_unit(local.catalog, local.name, "region-1")
    for pe in read_status(local.catalog, local.name).pes:
        if pe.unit == "region-1":
            assert (pe.generation, pe.row.batch) == (2, -1)
        else:
            assert pe == before[pe.id]


def test_events_do_not_grow_without_bound(running: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unit_store, "KEPT_EVENTS", 6)
    for _ in range(5):
        reset_unit(running.catalog, running.name, "region-0", force=True)
        running.local.report_running()
    assert running.events == ["reset began", "reset done"] * 3


def test_a_host_that_never_comes_up_is_not_started_for_ever(running: Running):
    running.work()
    for _ in range(8):
        running.kill_host()
        running.watch()
    failure = running.failure
    assert failure is not None
    assert failure.hopeless == "its host failed to start 5 times in a row"
    assert len(running.hosts.launched) == 6


def test_a_sweep_that_was_paused_does_not_touch_what_others_wrote_meanwhile(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    """A zombie: it has asked what there is, another host works, and then it goes on."""
    running.work()
    programs = running.local.programs
    pes = [program.pe for program in programs]
    read, paused, zombie = type(running.catalog).read, [], threading.get_ident()

    @contextlib.contextmanager
    def pausing(self: Any) -> Any:
        with read(self) as connection:
            yield connection
        if not paused and threading.get_ident() == zombie:
            paused.append(True)
            running.work()

    with monkeypatch.context() as pause:
        pause.setattr(type(running.catalog), "read", pausing)
        sweep(running.catalog, running.name, pes, programs)
    assert paused
    running.finish()


def test_a_host_that_dies_while_others_are_launched_is_fenced_off(running: Running, monkeypatch: pytest.MonkeyPatch):
    program, plan, results = batch_in_flight(running)
    running.kill_host()
    with monkeypatch.context() as unseen:
        unseen.setattr(control, "advance_units_and_trial", lambda *_: None)
        control.launch_hosts(running.catalog, running.name)
    assert running.hosts.launched == [0, 0]
    assert (running.unit.state, running.failure) == ("UNHEALTHY", None)
    with pytest.raises(StaleGenerationError):
        commit_batch(running.catalog, program, plan, results, 0.0)
    running.come_up()
    assert running.unit.generation == 2
    running.finish()


def test_back_off_of_a_pe_outside_of_regions(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="legacy"), 5)
    control.launch_hosts(local.catalog, local.name)
    name = next(unit.name for unit in read_status(local.catalog, local.name).units if unit.row.region is None)
    pe = int(name.removeprefix("pe-"))
    waits = []
    for _ in range(4):
        with local.catalog.write() as connection:
            connection.execute(update(tables.host).values(state="RUNNING", heartbeat_at=time.time()))
            connection.execute(update(tables.pe).where(tables.pe.c.id == pe).values(state="FAILED", error="boom"))
        advance_units(local.catalog, local.name)
        (failure,) = find_failures(read_status(local.catalog, local.name), time.time())
        unit = next(unit for unit in read_status(local.catalog, local.name).units if unit.name == name)
        assert unit.row.outage is not None
        waits.append(max(failure.due_at - unit.row.outage["detected"], 0.0))
        reset_unit(local.catalog, local.name, name, generation=failure.generation)
        local.report_running()
    assert waits == pytest.approx([0.0, 4.0, 20.0, 100.0], abs=1e-3)


def test_each_failure_of_a_pe_is_an_event_although_its_cause_is_the_same(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="legacy"), 5)
    control.launch_hosts(local.catalog, local.name)
    unit = next(unit for unit in read_status(local.catalog, local.name).units if unit.row.region is None)
    (pe,) = unit.pes
    failed = update(tables.pe).where(tables.pe.c.id == pe).values(state="FAILED", error="boom")
    for _ in range(2):
        with local.catalog.write() as connection:
            connection.execute(update(tables.host).values(state="RUNNING", heartbeat_at=time.time()))
            connection.execute(failed)
        advance_units(local.catalog, local.name)
        reset_unit(local.catalog, local.name, unit.name)
        local.report_running()
    local.trigger()
    local.turn(6)
    unit = next(each for each in read_status(local.catalog, local.name).units if each.name == unit.name)
    assert [event.kind for event in unit.events].count("unhealthy") == 2
    assert unit.completed_epoch > 0
    assert unit.row.cause is None, "a complete epoch forgets it"


def test_a_pe_that_is_not_restartable_stays_failed(running: Running):
    running.set(tables.pe, restartable=False)
    running.work()
    running.kill_host()
    running.watch()
    failure = running.failure
    assert failure is not None
    assert failure.hopeless == "its operators are `restartable: false`"
    assert running.hosts.launched == [0]
    assert running.unit.state == "UNHEALTHY"
