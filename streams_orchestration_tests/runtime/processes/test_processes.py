"""A process is known by its pid and the time of its start."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import psutil
import pytest

from streams_orchestration.runtime.processes import processes
from streams_orchestration.runtime.processes.processes import identify, is_alive, kill, living, process_started

PARENT = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""
"""Starts a process, and never collects it."""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the start is known by the wall clock only")
@pytest.mark.parametrize("seconds", [-600.0, 1.0])
def test_a_process_is_the_same_one_after_the_clock_was_set(monkeypatch: pytest.MonkeyPatch, seconds: float):
    started, identity = process_started(os.getpid()), identify(os.getpid())
    assert identity is not None
    create_time = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: create_time(process) + seconds)
    assert is_alive(os.getpid(), started)
    assert living([identity]) == (identity,)
    assert not is_alive(os.getpid(), started and started + 1.0)


@pytest.mark.slow
def test_a_killed_process_that_its_parent_never_collects_has_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "KILL_SECONDS", 600.0)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            killing = threading.Thread(target=kill, args=(pid, process_started(pid)), daemon=True)
            killing.start()
            killing.join(30.0)
            assert not killing.is_alive()
            assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        finally:
            parent.kill()


def test_no_process_has_no_start():
    assert process_started(2**22 + 1) is None
