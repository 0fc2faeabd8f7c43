"""The state of units is read from a catalog that other machines share."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


def test_units_can_be_read_before_the_state_directory_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_CATALOG", f"sqlite:///{tmp_path / 'shared.db'}")
    local = LocalApplication(Home(tmp_path / "one"), totals(write_rows(tmp_path / "rows.parquet", 5)))
    other = Home(tmp_path / "two")
    assert read_units(Catalog(other), local.name).units == read_units(local.catalog, local.name).units
    assert not other.root.exists()
