from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from streams_orchestration.runtime.hosts.heartbeat import STALL_SECONDS, Stalls
from streams_orchestration.runtime.processes.processes import ProcessIdentity, identify

WORKER = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def workers() -> Iterator[list[ProcessIdentity]]:
    """Two processes that wait; the second one is stopped."""
    started = [subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE) for _ in range(2)]
    identities = []
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
        identities.append(identify(process.pid))
    stop(identities[1])
    yield identities
    for process in started:
        process.kill()
        process.wait()


def stop(process: ProcessIdentity) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        pass


def test_a_process_that_is_stopped_for_long_is_ended_and_no_other(workers: list[ProcessIdentity]):
    stalls = Stalls()
    assert stalls.kill_stalled(workers, 0.0) == ()
    assert stalls.kill_stalled(workers, STALL_SECONDS - 0.1) == ()
    assert stalls.kill_stalled(workers, STALL_SECONDS) == (workers[1],)
    assert identify(workers[0].pid) == workers[0]
    assert identify(workers[1].pid) is None


def test_a_process_that_went_on_meanwhile_is_left_alone(workers: list[ProcessIdentity]):
    stalls = Stalls()
    stalls.kill_stalled(workers, 0.0)
    os.kill(workers[1].pid, signal.SIGCONT)
    while psutil.Process(workers[1].pid).status() == psutil.STATUS_STOPPED:
        pass
    stalls.kill_stalled(workers, STALL_SECONDS / 2)
    stop(workers[1])
    assert stalls.kill_stalled(workers, STALL_SECONDS) == ()
