"""The judgement whether an application has failed, as a table of cases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.settings.limits import AGENT_LIMIT, ENTERED_LIMIT, HEARTBEAT_LIMIT, START_LIMIT
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.health import explain_host_failure, health_of
from streams_orchestration.runtime.units.status import HostStatus, PeStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration_tests.runtime.readings import changed, host_status, pe_status, unit_status

NOW = 1_000_000.0
HOST = host_status(launched_at=NOW - 500, heartbeat_at=NOW - 1)
PE = pe_status(generation=3)
UNIT = unit_status(generation=3, completed_epoch=1, open_epoch=2, attempts=1, completed_at=NOW - 5, period=2.0)


def status(
    host: HostStatus = HOST, pe: PeStatus = PE, unit: UnitStatus = UNIT, state: Any = "RUNNING"
) -> ApplicationStatus:
    return ApplicationStatus("app", state, "f", "life", NOW - 600, (host,), (pe,), (unit,), Path("logs"), ())


NEW = changed(HOST, state="STOPPED", alive=False, pid=None, heartbeat_at=None)
"""A host that nobody has started yet."""
FAILED_PE = changed(PE, state="FAILED", error="operator Op: boom")

SOUND: dict[str, ApplicationStatus] = {
    "all well": status(),
    "just deployed": status(changed(NEW, launched_at=0.0)),
    "a new host of a redeploy": status(changed(NEW, launched_at=NOW - ENTERED_LIMIT)),
    "starting": status(changed(HOST, state="STARTING", heartbeat_at=None, launched_at=NOW - START_LIMIT + 1)),
    "a late heartbeat": status(changed(HOST, heartbeat_at=NOW - HEARTBEAT_LIMIT + 0.5)),
    "host completed": status(changed(HOST, state="COMPLETED", alive=False, heartbeat_at=NOW - 9999)),
    "application stopped": status(changed(HOST, alive=False), FAILED_PE, state="STOPPED"),
    "application completed": status(changed(HOST, alive=False), FAILED_PE, state="COMPLETED"),
    "unit completed": status(changed(HOST, alive=False), unit=changed(UNIT, state="COMPLETED")),
    "unit stopped": status(pe=FAILED_PE, unit=changed(UNIT, state="STOPPED")),
}

FAILED: dict[str, tuple[ApplicationStatus, str, str]] = {
    "a new host that nobody starts": (
        status(changed(NEW, launched_at=NOW - 2 * ENTERED_LIMIT)),
        f"the new host 0 was not started in {2 * ENTERED_LIMIT:.0f} s",
        "host-0.log",
    ),
    "an operator": (status(pe=FAILED_PE), "PE 0 failed: operator Op: boom", "pe-0.log"),
    "host killed": (status(changed(HOST, alive=False)), "host 0 (pid 4711) is gone", "host-0.log"),
    "host gone at the start": (
        status(changed(HOST, state="STARTING", alive=False, heartbeat_at=None)),
        "host 0 (pid 4711) is gone",
        "host-0.log",
    ),
    "host failed": (status(changed(HOST, state="FAILED", error="no Java")), "host 0 failed: no Java", "host-0.log"),
    "host hangs": (
        status(changed(HOST, heartbeat_at=NOW - 30)),
        "host 0 gave no heartbeat for 30 s",
        "host-0.log",
    ),
    "host never came up": (
        status(changed(HOST, state="STARTING", heartbeat_at=None, launched_at=NOW - 100)),
        "host 0 gave no heartbeat in 100 s",
        "host-0.log",
    ),
}


@pytest.mark.parametrize("case", SOUND)
def test_nothing_has_failed(case: str):
    assert find_failures(SOUND[case], NOW) == ()


@pytest.mark.parametrize("case", FAILED)
def test_a_failure_is_named_with_its_reason_and_log(case: str):
    judged, reason, log = FAILED[case]
    (failure,) = find_failures(judged, NOW)
    assert (failure.cause.reason, failure.log) == (reason, Path(log))
    assert (failure.application, failure.unit, failure.generation) == ("app", "region-0", 3)
    assert not failure.exhausted


@pytest.mark.parametrize("waited", [0.0, AGENT_LIMIT, HEARTBEAT_LIMIT, START_LIMIT, 2 * START_LIMIT])
@pytest.mark.parametrize(("pid", "heard"), [(None, False), (4711, False), (4711, True)])
def test_a_host_of_another_machine_is_alive_as_long_as_it_has_not_failed(pid: int | None, heard: bool, waited: float):
    state = "STARTING" if not heard else "RUNNING"
    launched, heartbeat = (NOW - 999, NOW - waited) if heard else (NOW - waited, None)
    row = HostRow(
        "app", 0, "mine", pid, NOW - 999, state, None, launched, None, heartbeat, None, 0, None, "north", "elsewhere",
        None, None,
    )  # fmt: skip
    host = HostStatus.of(row, NOW)
    assert host.alive == (explain_host_failure(host, NOW) is None)


def test_a_unit_with_several_failed_pes_is_reported_once():
    judged = status(pe=FAILED_PE, unit=changed(UNIT, pes=(0, 1)))
    judged = replace(judged, pes=(FAILED_PE, changed(FAILED_PE, id=1)))
    assert len(find_failures(judged, NOW)) == 1


def test_a_dead_host_fails_every_unit_that_has_a_pe_there():
    other = changed(UNIT, name="pe-1", region=None, pes=(1,))
    judged = status(changed(HOST, alive=False))
    judged = replace(judged, pes=(PE, changed(PE, id=1, unit="pe-1")), units=(UNIT, other))
    assert [failure.unit for failure in find_failures(judged, NOW)] == ["region-0", "pe-1"]


def test_the_dead_host_that_a_report_names_is_the_cause_that_its_unit_records():
    dead = changed(HOST, alive=False)
    judged = replace(
        status(unit=changed(UNIT, pes=(0, 1))),
        hosts=(dead, changed(dead, id=1)),
        pes=(changed(PE, host=1), changed(PE, id=1, host=0)),
    )
    (failure,) = find_failures(judged, NOW)
    recorded = health_of(judged.hosts, (), NOW).failure
    assert recorded is not None
    assert failure.cause.reason == recorded.reason == "host 0 (pid 4711) is gone"
    assert [number for number, _ in failure.gone] == [0, 1]


@pytest.mark.parametrize(
    ("attempts", "permanent", "exhausted"), [(0, False, False), (4, False, False), (5, False, True), (0, True, True)]
)
def test_no_reset_is_tried_in_vain(attempts: int, permanent: bool, exhausted: bool):
    judged = status(pe=changed(FAILED_PE, permanent=permanent), unit=changed(UNIT, attempts=attempts))
    (failure,) = find_failures(judged, NOW)
    assert (failure.exhausted, failure.permanent) == (exhausted, permanent)
