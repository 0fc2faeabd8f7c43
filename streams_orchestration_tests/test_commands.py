"""Leftovers of tests of the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams_orchestration_tests.commands import end_hosts


@pytest.mark.slow
def test_hosts_below_a_directory_are_ended_and_no_others(tmp_path: Path):
    command = [sys.executable, "-c", "import signal; signal.pause()", "--home"]
    hosts = [subprocess.Popen([*command, str(tmp_path / name / "home")]) for name in ("one", "one other")]
    end_hosts(tmp_path / "one")
    assert hosts[0].wait() < 0
    assert hosts[1].poll() is None
    end_hosts(tmp_path)
    assert hosts[1].wait() < 0
