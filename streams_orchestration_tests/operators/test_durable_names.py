"""The names of directories that are on disk are known to all threads of a process."""

from __future__ import annotations

from pathlib import Path, PosixPath
from typing import Any

import pytest

from streams_orchestration.operators import durable_files


class Met(PosixPath):
    """A directory beside which another thread makes one while it is looked at."""

    def is_relative_to(self, *other: Any) -> bool:
        durable_files._named.add(Path(f"{self}-new"))
        return super().is_relative_to(*other)


def test_names_are_forgotten_while_another_thread_makes_directories(monkeypatch: pytest.MonkeyPatch):
    named = {Met("/results/a"), Met("/results/b"), Met("/other")}
    monkeypatch.setattr(durable_files, "_named", named)
    durable_files.forget_names(Path("/results"))
    assert {str(each) for each in named} == {"/other", "/results/a-new", "/results/b-new", "/other-new"}
