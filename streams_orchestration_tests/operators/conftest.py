"""Fixtures that the tests of operators share: a table in each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration_tests.targets import KINDS, Target, target_of


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with target_of(request.param, tmp_path, request) as made:
        yield made
