"""The process that awaits a trial resets failed units as any other process does: when they are due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.catalog.cause_kinds import NamedKind
from streams_orchestration.runtime.deployment.reset import NotResetError
from streams_orchestration.runtime.errors.errors import HostLaunchError
from streams_orchestration.runtime.redeployment import trial_supervision
from streams_orchestration.runtime.redeployment.trial_supervision import supervise_trial
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.trial import revert_open
from streams_orchestration.runtime.units.failures import BACK_OFF, UnitFailure
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.region_record import Tries
from streams_orchestration.runtime.units.reset_decisions import RETRIES
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.readings import changed
from streams_orchestration_tests.runtime.redeployed import begin, undecided

pytestmark = pytest.mark.slow

AWAY = NamedKind("no answer")
TRIED = 4
"""The resets of the unit before, which did not help."""


class OnTrial:
    """A redeploy on trial whose unit fails as often as it is reset, by a cause outside; a check takes half a second."""

    def __init__(self, local: LocalApplication, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
        self.local, self.errors = local, [*errors]
        self.failed_at = self.now = world.now()
        self.resets: list[float] = []
        with undecided():
            begin(local)
        monkeypatch.setattr(trial_supervision, "POLL_SECONDS", 0.0)
        monkeypatch.setattr(trial_supervision, "advance_and_read_units", self.observe)
        monkeypatch.setattr(trial_supervision, "reset_failed_unit", self.reset)
        monkeypatch.setattr(world, "now", lambda: self.now)

    def observe(self, *_: object) -> UnitsStatus:
        self.now += 0.5
        seen = read_units(self.local.catalog, self.local.name)
        failing = changed(
            seen.units[0],
            state="UNHEALTHY",
            kind=AWAY,
            tries=(Tries(AWAY, TRIED, self.failed_at),),
            outage={"detected": self.failed_at},
        )
        pes = tuple(changed(pe, state="FAILED", kind=AWAY, outside=True, error="no answer") for pe in seen.pes)
        return replace(seen, state="RUNNING", hosts=(), units=(failing,), pes=pes)

    def reset(self, _home: Home, _failure: UnitFailure) -> None:
        self.resets.append(self.now - self.failed_at)
        if self.errors:
            raise self.errors.pop()
        revert_open(self.local.catalog, self.local.name, "enough was seen")

    def cause(self) -> str | None:
        trial = supervise_trial(self.local.catalog, self.local.name)
        assert trial is not None
        return trial.cause


def test_a_unit_that_fails_again_during_a_trial_is_reset_after_its_pause(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    on_trial = OnTrial(local, monkeypatch)
    assert on_trial.cause() == "enough was seen"
    assert on_trial.resets == [BACK_OFF.after(TRIED)]


def test_a_unit_that_cannot_be_reset_during_a_trial_is_tried_again(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    on_trial = OnTrial(local, monkeypatch, NotResetError("a file of its cut is missing"))
    assert on_trial.cause() == "enough was seen"
    assert on_trial.resets == [BACK_OFF.after(TRIED), BACK_OFF.after(TRIED) + RETRIES.first]


def test_a_host_that_cannot_be_started_for_a_reset_reverts_the_trial(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    on_trial = OnTrial(local, monkeypatch, HostLaunchError("there is no Java"))
    assert on_trial.cause() == "there is no Java"
