"""A program in the place of Java, for commands that only ask whether Java is installed."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def java_is_installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let JAVA_HOME have a program that says its version, and does nothing else."""
    home = tmp_path_factory.mktemp("java")
    program = Path(home, "bin", "java")
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
