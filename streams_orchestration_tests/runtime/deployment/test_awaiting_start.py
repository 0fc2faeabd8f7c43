"""A command that awaits a start is told that the PEs run only if no unit needs a reset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import awaiting
from streams_orchestration.runtime.deployment.awaiting import FAILING_SECONDS, await_running_pes
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import FailedAgainError
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration_tests.cli.made_up import NOW, status, unit
from streams_orchestration_tests.runtime.readings import changed

RUNS = status()
CATALOG: Catalog = SimpleNamespace(home=Home(Path("nowhere")))  # pyright: ignore[reportAssignmentType]


class Started:
    """An application that was started, whose status is `seen`, or the one of a sound application after a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seen: ApplicationStatus, recovered_at: float) -> None:
        self.now = 0.0
        self.seen, self.recovered_at = seen, recovered_at
        monkeypatch.setattr(world, "now", lambda: NOW + self.now)
        monkeypatch.setattr(world, "monotonic", lambda: self.now)
        monkeypatch.setattr(world, "sleep", self.sleep)
        monkeypatch.setattr(awaiting, "advance_units_and_trial", lambda *_: None)
        monkeypatch.setattr(awaiting, "read_units", self.read)

    def sleep(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 3)

    def read(self, *_: object) -> ApplicationStatus:
        seen = self.seen if self.now < self.recovered_at else RUNS
        return replace(seen, hosts=tuple(changed(each, heartbeat_at=NOW + self.now) for each in seen.hosts))


GIVEN_UP = replace(RUNS, units=(unit(state=LIMIT, cause="it hangs"),))


def test_a_unit_that_is_given_up_fails_the_start_although_its_pes_run(monkeypatch: pytest.MonkeyPatch):
    started = Started(monkeypatch, GIVEN_UP, recovered_at=1e9)
    with pytest.raises(FailedAgainError, match="region-0 of flights needs a reset: it hangs"):
        await_running_pes(CATALOG, "flights", 60.0)
    assert FAILING_SECONDS < started.now < FAILING_SECONDS + 1.0


def test_a_unit_that_is_reset_soon_delays_the_start(monkeypatch: pytest.MonkeyPatch):
    started = Started(monkeypatch, GIVEN_UP, recovered_at=2.0)
    assert await_running_pes(CATALOG, "flights", 60.0).state == "RUNNING"
    assert started.now == 2.0
