from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams_orchestration_tests.postgresql import Server, server, why_not


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One server for all tests; each takes schemas of its own."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with server() as started:
        yield started
