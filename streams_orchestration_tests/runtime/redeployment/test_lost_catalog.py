"""A command that awaits a trial outlasts an outage of the catalog of minutes, and no longer one."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog.outage import OUTAGE_TIMEOUT_SECONDS
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.redeployment import trial_supervision
from streams_orchestration.runtime.redeployment.trial_supervision import supervise_trial
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.stepped_clock import SteppedClock


@pytest.mark.parametrize(("seconds", "given_up"), [(OUTAGE_TIMEOUT_SECONDS - 10.0, False), (1e9, True)])
def test_awaiting_a_trial_ends_if_the_catalog_stays_away(
    tmp_path: Path, stepped_sleep: SteppedClock, monkeypatch: pytest.MonkeyPatch, seconds: float, given_up: bool
):
    file = write_rows(tmp_path / "rows.parquet", 4)
    local = LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sink("Out", "Rows")]))
    began = stepped_sleep.now
    advance_and_read_units = trial_supervision.advance_and_read_units

    def observe_when_there(*_: object) -> UnitsStatus:
        if stepped_sleep.now - began < seconds:
            message = "the catalog does not answer"
            raise CatalogUnavailableError(message)
        return advance_and_read_units(local.catalog, local.name)

    monkeypatch.setattr(trial_supervision, "advance_and_read_units", observe_when_there)
    if given_up:
        with pytest.raises(CatalogUnavailableError):
            supervise_trial(local.catalog, local.name)
    else:
        assert supervise_trial(local.catalog, local.name) is None
    assert OUTAGE_TIMEOUT_SECONDS - 10.0 <= stepped_sleep.now - began < OUTAGE_TIMEOUT_SECONDS + 10.0
