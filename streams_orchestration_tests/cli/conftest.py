from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams_orchestration.runtime import api
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.quick_storages import quick_storages


@pytest.fixture(autouse=True, scope="package")
def quickly() -> Iterator[None]:
    """Commands record in Dagster."""
    with quick_storages():
        yield


@pytest.fixture
def no_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let deploying start no host, which would outlive the test."""
    replace_function(monkeypatch, api, "launch_hosts", lambda *_, **__: ())


@pytest.fixture
def running_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a deployment not wait for engines and PEs, which do not start."""
    replace_function(monkeypatch, api, "await_engines", lambda *_: None)
    replace_function(monkeypatch, api, "await_running_pes", lambda *_: None)
