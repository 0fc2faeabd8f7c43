"""A failure that comes again is known by its tuples, and one of the same code by its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cause_kinds import CauseKind, FilesKind, HostKind, NamedKind, PeKind
from streams_orchestration.runtime.catalog.unit_columns import Tries
from streams_orchestration.runtime.deployment import claims
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.operator_errors import OperatorFailure
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.programs.failure import Failure, Nature
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import BACK_OFF, UnitFailure, find_failures
from streams_orchestration.runtime.units.judged_failures import (
    FAILURE_WINDOW_SECONDS,
    PeBeforeFailure,
    judge_failure,
    times_of_failure,
)
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration.runtime.units.unit_store import record_of
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.readings import changed, pe_status, unit_status
from streams_orchestration_tests.runtime.running import FakeHosts, joined

NOW = 1_700_000_000.0
BOOM = OperatorFailure(
    "Kept",
    "ValueError: seven",
    "ValueError",
    "ops.py",
    12,
    pure=True,
    batch=3,
    port=0,
    first=7,
    last=7,
    values="{n: 7}",
)


def judged(*failed: tuple[OperatorFailure, float]) -> dict[str, Any]:
    """Return the columns of a PE after failures of its operators, each at a time."""
    columns: dict[str, Any] = {"failures": None}
    for failure, at in failed:
        pe = PeBeforeFailure(0, 0, columns["failures"], None)
        columns = {**judge_failure(Failure("it failed", "unknown", failure), pe, at, lost=False)}
    return columns


def test_a_pure_operator_that_fails_twice_at_the_same_tuple_is_hopeless():
    first = judged((BOOM, NOW))
    assert (first["permanent"], first["error"]) == (False, "it failed")
    numbered_anew = replace(BOOM, batch=9, first=1, last=1, cause="ValueError: seven of batch 9")
    again = judged((BOOM, NOW), (numbered_anew, NOW + 1))
    assert again["permanent"]
    assert again["error"] == "it failed; this error occurred 2 times in a row at the same tuples"


@pytest.mark.parametrize(
    "other",
    [replace(BOOM, values="{n: 8}"), replace(BOOM, line=13), replace(BOOM, operator="Other")],
    ids=["another tuple", "another line", "another operator"],
)
def test_another_failure_in_between_counts_anew(other: OperatorFailure):
    assert not judged((BOOM, NOW), (other, NOW + 1), (BOOM, NOW + 2))["permanent"]


def test_an_operator_with_state_may_do_better_the_next_time():
    stateful = replace(BOOM, pure=False)
    again = judged((stateful, NOW), (stateful, NOW + 1))
    assert again["failures"]["repeats"] == 2
    assert not again["permanent"]


@given(st.lists(st.floats(0.0, 2 * FAILURE_WINDOW_SECONDS), min_size=1, max_size=12))
def test_failures_of_the_same_line_count_within_the_window(waits: list[float]):
    times = [NOW + sum(waits[:number]) for number in range(1, len(waits) + 1)]
    errors = (replace(BOOM, cause=f"ValueError: {at}", values=str(at)) for at in times)
    failures = judged(*zip(errors, times, strict=True))["failures"]
    last = times[-1]
    assert times_of_failure(failures, last) == sum(last - each < FAILURE_WINDOW_SECONDS for each in times)


A, B = NamedKind("a"), NamedKind("b")
UNIT = unit_status(
    state="UNHEALTHY", generation=3, completed_epoch=1, attempts=1, outage={"failed": NOW, "detected": NOW}
)


@pytest.mark.parametrize(("times", "pause"), [(0, 0.0), (1, 0.0), (2, 1.0), (3, 2.0), (5, 8.0), (16, BACK_OFF.longest)])
def test_a_line_that_fails_again_and_again_waits_longer_every_time(times: int, pause: float):
    pe = pe_status(state="FAILED", error="boom", failed_times=times)
    status = UnitsStatus("app", "RUNNING", "f", "life", NOW - 600, (), (pe,), (UNIT,), Path("logs"))
    (failure,) = find_failures(status, NOW)
    assert max(failure.due_at - NOW, 0.0) == pytest.approx(pause)


def failed(unit: UnitStatus, now: float, **pe: Any) -> UnitFailure:
    """Return the failure of a unit whose PE has failed."""
    failing = pe_status(state="FAILED", error="boom", **pe)
    (failure,) = find_failures(
        UnitsStatus("app", "RUNNING", "f", "life", NOW - 600, (), (failing,), (unit,), Path("logs")), now
    )
    return failure


def waits(number: int, **pe: Any) -> list[float]:
    """Seconds before each of the first resets for one cause while no epoch completes."""
    units = [changed(UNIT, kind=A, tries=(Tries(A, tried, NOW),), attempts=tried) for tried in range(1, number)]
    return [0.0, *(failed(unit, NOW, kind=A, **pe).due_at - NOW for unit in units)]


def test_the_attempts_of_a_cause_span_at_least_ten_minutes_by_default():
    assert failed(UNIT, NOW, kind=A).due_at <= NOW, "the first one comes at once"
    assert sum(waits(UNIT.row.max_attempts)) >= 600.0
    assert waits(UNIT.row.max_attempts) == sorted(waits(UNIT.row.max_attempts))


def test_another_cause_neither_waits_for_the_first_one_nor_has_fewer_attempts():
    used_up = changed(UNIT, kind=A, tries=(Tries(A, 5, NOW),), attempts=5)
    assert failed(used_up, NOW, kind=A).exhausted
    other = failed(used_up, NOW, kind=B)
    assert not other.exhausted
    assert other.due_at <= NOW


def test_a_unit_that_is_given_up_stays_so_when_it_fails_for_another_cause():
    given_up = changed(UNIT, state="MAXIMUM_RESET_ATTEMPTS_REACHED", kind=HostKind(0), attempts=5)
    failure = failed(given_up, NOW, kind=B, outside=True)
    assert failure.hopeless == "5 of 5 resets in a row failed"
    assert "--force" in failure.remedy


@given(st.integers(0, 6), st.integers(1, 6), st.sampled_from((None, NOW - 1, NOW, NOW + 1)))
def test_a_report_gives_a_unit_up_if_and_only_if_its_machine_does(attempts: int, limit: int, give_up_at: float | None):
    unit = changed(UNIT, kind=A, attempts=attempts, max_attempts=limit, give_up_at=give_up_at)
    record = RegionRecord(limit, attempts=attempts, give_up_at=give_up_at)
    assert failed(unit, NOW, kind=A).exhausted == record.gives_up(NOW)


def test_an_outage_of_a_minute_is_answered_within_a_minute_of_its_end_and_an_outage_of_hours_is_not_given_up():
    assert max(waits(200, outside=True)) == DEFAULT_RESTART.pause <= 60.0
    for attempts in (5, 50, 500):
        unit = changed(UNIT, kind=A, tries=(Tries(A, attempts, NOW),), attempts=attempts, give_up_at=NOW + 86_400)
        failure = failed(unit, NOW + 86_000, kind=A, outside=True)
        assert not failure.exhausted
        late = failed(unit, NOW + 86_400, kind=A, outside=True)
        assert (
            late.hopeless == f"its cause has lasted for longer than the restart limit allows, after {attempts} resets"
        )
        assert "--force" in late.remedy


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("failure", "outside", "machine", "kind"),
    [
        (Failure("Kept: seven", "unknown", BOOM), False, None, NamedKind(BOOM.kind)),
        (Failure("Kept: no answer", "outside", BOOM), True, None, NamedKind(BOOM.kind)),
        (Failure("the storage is away", "outside", batch=5), True, "north", PeKind(0)),
        (Failure("a directory is broken", "disk"), True, None, PeKind(0)),
        (Failure("a directory is broken", "disk", BOOM), True, "north", FilesKind(0, "north")),
    ],
)
def test_a_cause_outside_takes_no_attempt_of_the_region_away(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Failure,
    outside: bool,
    machine: str | None,
    kind: CauseKind,
):
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=1)))
    joined(home)
    engine = IdleEngine()
    host = Host(home, "app", 0, "mine", engine)
    host.reconcile()
    with host.catalog.write() as connection:
        connection.execute(tables.host.update().values(machine=machine))
    engine.queries[-1].failed = failure
    host.reconcile()
    advance_units(host.catalog, "app")
    (reported,) = find_failures(read_units(Catalog(home), "app"), NOW)
    assert reported.cause.reason == f"PE 0 failed: {failure}"
    monkeypatch.setattr(claims, "launch_host", FakeHosts().launch)
    reset_unit(Catalog(home), "app", "region-0")
    (unit,) = read_units(Catalog(home), "app").units
    assert (unit.row.attempts, unit.row.max_attempts) == (1, 6 if outside else 5)
    assert (unit.row.give_up_at is not None) is outside
    assert unit.row.kind == kind
    assert record_of(unit.row).tried(kind, NOW).number == 1


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(("nature", "permanent"), [("unknown", True), ("outside", False)])
def test_a_host_stops_an_application_whose_pure_operator_fails_again_at_the_same_tuple(
    tmp_path: Path, nature: Nature, permanent: bool
):
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=1)))
    joined(home)
    engine = IdleEngine()
    host = Host(home, "app", 0, "mine", engine)
    errors = []
    for generation in (1, 2):
        with host.catalog.write() as connection:
            connection.execute(tables.unit.update().values(generation=generation))
            connection.execute(tables.pe.update().values(state="WANTED", error=None))
        host.reconcile()
        engine.queries[-1].failed = Failure("Kept: seven", nature, BOOM)
        host.reconcile()
        with host.catalog.read() as connection:
            errors.append(connection.execute(select(tables.pe.c.error, tables.pe.c.permanent)).one())
    assert [tuple(each) for each in errors] == [
        ("Kept: seven", False),
        ("Kept: seven; this error occurred 2 times in a row at the same tuples", permanent),
    ]
    reasons = [failure.hopeless for failure in find_failures(read_units(Catalog(home), "app"), NOW)]
    assert reasons == ["a reset would meet the same error again" if permanent else None]
