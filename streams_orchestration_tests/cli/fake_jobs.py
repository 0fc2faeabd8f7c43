"""The answers that commands get in tests, in place of the real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from streams_orchestration.cli import jobs
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog.catalog import Catalog


class FakeJobs(jobs.Jobs):
    """Takes note of what it is asked for."""

    asked: ClassVar[list[Any]] = []
    """The calls of all jobs in the test at hand; `replace_jobs` empties it."""

    def __init__(self, _catalog: Catalog, application: str) -> None:
        self.application = application

    def record_deployment(self, spec: Path, compilation: PlannedCompilation) -> None:
        self.asked.append(("record", spec.name, compilation.options))

    def record_revert(self) -> None:
        self.asked.append(("record revert", self.application))

    def record_cancel(self) -> None:
        self.asked.append(("record cancel", self.application))

    def record_reset(self, unit: str, generation: int) -> None:
        self.asked.append(("record reset", self.application, unit, generation))


def replace_jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let commands use `FakeJobs`, and return the list of its calls."""
    monkeypatch.setattr(FakeJobs, "asked", [])
    monkeypatch.setattr(jobs, "Jobs", FakeJobs)
    return FakeJobs.asked
