from __future__ import annotations

import pytest

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.hosts import receivers


@pytest.fixture
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a receiver that has failed begin again at once."""
    monkeypatch.setattr(receivers, "PAUSES", Pauses(0.001, 30.0))
