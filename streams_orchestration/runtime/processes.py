"""Processes of hosts: found again by pid and start time, so that a reused pid is never taken for a host."""

from __future__ import annotations

import contextlib

import psutil

_SAME_START = 0.05
"""Seconds by which two readings of one process's start time may differ."""


def process_started(pid: int) -> float | None:
    """Start time of a process in unix seconds, None when there is none (or only its corpse)."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def is_alive(pid: int | None, started: float | None) -> bool:
    """Does exactly this process still exist."""
    if pid is None or started is None:
        return False
    found = process_started(pid)
    return found is not None and abs(found - started) < _SAME_START


def kill(pid: int | None, started: float | None) -> None:
    """End exactly this process with all its children (the JVM and its workers), at once."""
    if not is_alive(pid, started):
        return
    assert pid is not None
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        family = [*process.children(recursive=True), process]
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()
        psutil.wait_procs(family, timeout=10)
