"""A process is known by its pid and the time of its start."""

from __future__ import annotations

import os
import sys

import psutil
import pytest

from streams_orchestration.runtime.processes.processes import identify, is_alive, living, process_started


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


def test_no_process_has_no_start():
    assert process_started(2**22 + 1) is None
