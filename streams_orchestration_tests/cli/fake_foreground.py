"""An application in the foreground and its start, which only take note of the calls, in tests of its loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from streams_orchestration.cli.following import Foreground
from streams_orchestration.cli.interrupts import BackgroundCall
from streams_orchestration.cli.start import Start
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration_tests.cli.made_up import status
from streams_orchestration_tests.runtime.readings import changed


class FakeStart(Start):
    """A start of an application in the foreground that is noted, or that fails with an error."""

    def __init__(self, application: FakeForeground, error: Exception | None = None) -> None:
        self.application = application
        self.error = error
        self.launched = True

    def launch(self, say: Callable[[str], None]) -> api.Deployment:
        if self.error is not None:
            raise self.error
        self.application.calls.append("deploy")
        return api.Deployment()

    def await_running(self) -> None:
        pass


class FakeForeground(Foreground):
    """An application that is complete after some polls."""

    def __init__(self, polls: int = 2) -> None:
        super().__init__(Catalog(Home(Path("/nowhere"))), "flights")
        self.calls: list[str] = []
        self.polls = polls
        self.now = status()

    def cancel(self) -> None:
        self.calls.append("cancel")
        self.now = replace(self.now, state="STOPPED")

    def begin_reset(self, failure: UnitFailure) -> BackgroundCall[object]:
        self.calls.append(f"reset {failure.unit}")
        return BackgroundCall(lambda: None)

    def begin_recording(self, failure: UnitFailure) -> BackgroundCall[object]:
        self.calls.append(f"record {failure.unit}")
        return BackgroundCall(lambda: None)

    def ended(self) -> bool:
        return self.polls <= 1

    def advance_and_read(self) -> ApplicationStatus:
        self.polls -= 1
        alive = tuple(changed(each, heartbeat_at=api.now()) for each in self.now.hosts)
        return replace(self.now, hosts=alive, state="COMPLETED" if self.polls <= 0 else self.now.state)
