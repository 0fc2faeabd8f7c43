"""The answers that commands get in tests, in place of the real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from streams_orchestration.cli import deploying, jobs
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog.catalog import Catalog


class FakeJobs:
    """Takes note of what it is asked for."""

    asked: ClassVar[list[Any]] = []
    """The calls of all jobs in the test at hand; `replace_jobs` empties it."""

    def __init__(self, _catalog: Catalog, application: str) -> None:
        self.application = application

    def record_deployment(self, spec: Path, compilation: PlannedCompilation) -> None:
        self.asked.append(("record", spec.name, compilation.options))

    def record_revert(self) -> None:
        self.asked.append(("record revert", self.application))

    def cancel(self, timeout: float) -> None:
        self.asked.append(("cancel", self.application, timeout))

    def reset(self, unit: str, *, force: bool) -> None:
        self.asked.append(("reset", self.application, unit, force))


def replace_jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let commands use `FakeJobs`, and return the list of its calls."""
    monkeypatch.setattr(FakeJobs, "asked", [])
    for module in (deploying, jobs):
        monkeypatch.setattr(module, "Jobs", FakeJobs)
    return FakeJobs.asked
