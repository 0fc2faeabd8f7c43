from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from streams_orchestration_tests.postgresql import Server, server, why_not


def pytest_configure() -> None:
    """Who is told to end cleans up first, as with Ctrl-C: a server would stay otherwise."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One server for all tests; each takes schemas of its own."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with server() as started:
        yield started
