"""A clock in the place of the product's (`world`), which goes on when a test says so."""

from __future__ import annotations

import pytest


class SteppedClock:
    """A monotonic clock that a test moves on. A sleep moves it, too, and is noted."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let these seconds pass at once."""
        self.now += seconds
        self.pauses.append(seconds)


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    """The product's monotonic clock, which only the test moves on."""
    from streams_orchestration import world

    clock = SteppedClock()
    monkeypatch.setattr(world, "monotonic", clock.monotonic)
    return clock


@pytest.fixture
def stepped_sleep(stepped: SteppedClock, monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    """The product's monotonic clock, which the test and the product's own sleeps move on."""
    from streams_orchestration import world

    monkeypatch.setattr(world, "sleep", stepped.sleep)
    return stepped
