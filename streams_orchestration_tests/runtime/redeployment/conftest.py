"""An application that is redeployed in the middle of its data."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.holding import hold_units
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import drained, run_some, set_rows, visits
from streams_orchestration_tests.runtime.running import FakeHosts


@pytest.fixture
def local(tmp_path: Path, hosts: FakeHosts) -> LocalApplication:
    """At a cut in the middle of its data."""
    application = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(application, 4)
    hold_units(application.held())
    drained(application, list(application.units))
    set_rows(application, tables.unit, held_until=None)
    return application
