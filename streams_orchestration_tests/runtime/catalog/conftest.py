"""A home with an empty catalog, in each kind of database."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.storage.home import Home


@pytest.fixture
def home(tmp_path: Path, database: str) -> Home:
    home = Home(tmp_path / "home")
    create_catalog(home).close()
    return home
