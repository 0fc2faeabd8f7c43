"""The table of simulated processes, as the product sees it: `psutil` and `fcntl` stand for those of the system."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any
from unittest.mock import patch

import psutil

from streams_orchestration.runtime.catalog import start_lock
from streams_orchestration.runtime.hosts import heartbeat
from streams_orchestration.runtime.processes import processes
from streams_orchestration.runtime.storage import in_use
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess
from streams_orchestration_tests.simulation.worlds import EPOCH


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Let the product see the processes of a scheduler within a block."""
    table, locks = Psutil(scheduler), Fcntl(scheduler)
    with (
        patch.object(processes, "psutil", table),
        patch.object(processes, "_since_boot", table.since_boot),
        patch.object(heartbeat, "psutil", table),
        patch.object(in_use, "fcntl", locks),
        patch.object(start_lock, "fcntl", locks),
    ):
        yield


class Psutil:
    """Stands for the module `psutil`."""

    Error = psutil.Error
    STATUS_ZOMBIE = psutil.STATUS_ZOMBIE
    STATUS_STOPPED = psutil.STATUS_STOPPED

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def Process(self, pid: int | None = None) -> Process:  # noqa: N802  as in psutil
        """Return a process that lives.

        Raises:
            psutil.NoSuchProcess: it does not.
        """
        current = self._scheduler.current
        process = (
            current.process if pid is None and current is not None else self._scheduler.machine.table.get(pid or 0)
        )
        if process is None or not process.alive:
            raise psutil.NoSuchProcess(pid or 0)
        return Process(self._scheduler, process)

    def since_boot(self, pid: int) -> float:
        """Return when a process started, in seconds since the boot of its machine."""
        machine = self._scheduler.machine
        return machine.table[pid].started - machine.booted

    def wait_procs(self, waited: Sequence[Process], timeout: float | None = None) -> None:
        """Wait until processes have ended."""
        until = None if timeout is None else self._scheduler.now + timeout
        for each in waited:
            if each.process.alive:
                self._scheduler.wait(each.process.ended, None if until is None else max(until - self._scheduler.now, 0))


class Process:
    """Stands for `psutil.Process`."""

    def __init__(self, scheduler: Scheduler, process: SimulatedProcess) -> None:
        self._scheduler, self.process, self.pid = scheduler, process, process.pid

    def status(self) -> str:
        """Return whether it is stopped."""
        return psutil.STATUS_STOPPED if self.process.is_stopped else psutil.STATUS_SLEEPING

    def create_time(self) -> float:
        """Return when it started, in unix seconds by the wall clock as it is set now."""
        return EPOCH + self.process.started + self.process.machine.ahead(self._scheduler.now)

    def cmdline(self) -> list[str]:
        """Return its command."""
        return list(self.process.command)

    def children(self, recursive: bool = False) -> list[Process]:
        """Return its living children, or all its descendants."""
        return [
            Process(self._scheduler, each)
            for each in self._scheduler.machine.table.values()
            if each.alive and (self.process in each.ancestors if recursive else each.parent is self.process)
        ]

    def kill(self) -> None:
        """End it at once."""
        self._scheduler.on_kill(self.process)
        self._scheduler.end(self.process)


class Fcntl:
    """Stands for the module `fcntl`: a lock on a file belongs to a process and goes with it."""

    LOCK_EX, LOCK_NB = fcntl.LOCK_EX, fcntl.LOCK_NB

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._holders: dict[int, tuple[SimulatedProcess, IO[Any]]] = {}

    def flock(self, file: IO[Any], _operation: int) -> None:
        """Take a lock that is free.

        Raises:
            BlockingIOError: another living process has it.
        """
        current = self._scheduler.current
        if current is None:
            return
        inode = os.fstat(file.fileno()).st_ino
        holder = self._holders.get(inode)
        if holder is not None and holder[0].alive and not holder[1].closed and holder[1] is not file:
            raise BlockingIOError
        self._holders[inode] = current.process, file
