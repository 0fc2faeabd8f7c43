from __future__ import annotations

import os

import pytest

from streams_orchestration.runtime.deployment import claims, control
from streams_orchestration.runtime.hosts import orphans
from streams_orchestration.runtime.machines import agent as agents
from streams_orchestration.runtime.machines import standbys
from streams_orchestration.runtime.units import status
from streams_orchestration_tests.runtime.running import FakeHosts

OURS = os.getpid()


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> FakeHosts:
    fake = FakeHosts()
    for module in (agents, status):
        monkeypatch.setattr(module, "is_alive", lambda pid, started: pid == OURS or fake.alive(pid, started))
    for module in (agents, claims, control, orphans):
        monkeypatch.setattr(module, "kill", fake.kill)
    monkeypatch.setattr(standbys, "launch_host", fake.launch)
    monkeypatch.setenv("STREAMS_MACHINE", "before")
    return fake
