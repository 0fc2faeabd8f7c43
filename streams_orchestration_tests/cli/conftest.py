from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams_orchestration_tests.quick_storages import quick_storages


@pytest.fixture(autouse=True, scope="package")
def quickly() -> Iterator[None]:
    """Commands record in Dagster."""
    with quick_storages():
        yield
