"""Fixtures that the tests of SPL share: options that one of them sets are those of this test only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams_orchestration.model.spl_options import SplOptions, spl_options


@pytest.fixture(autouse=True)
def no_options() -> Iterator[None]:
    spl_options.set(SplOptions())
    yield
    spl_options.set(SplOptions())
