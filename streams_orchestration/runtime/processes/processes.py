"""Processes, identified by machine, pid, start time and command line, so that no process is taken for another.

Only processes of this machine, boot and process namespace can be inspected and ended. Other processes are known from
the catalog only.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from streams_orchestration import world

_SAME_START = 0.05
"""Seconds by which two readings of one process's start time may differ."""
KILL_SECONDS = 10.0
"""The most seconds to wait for the ends of killed processes."""
_POLL_SECONDS = 0.01
"""Seconds between two checks of processes that were killed."""
BACKGROUND = "jemalloc_bg_thd"
"""The name of a thread of Arrow's that wakes up now and then even in a process that hangs, and so does not count."""
MACHINE = "STREAMS_MACHINE"
"""Environment variable with the name of this machine; its agent sets it for the hosts that it starts."""


def machine_name() -> str:
    """Return the name of this machine: the value of `STREAMS_MACHINE`, or else its host name."""
    return os.environ.get(MACHINE) or socket.gethostname()


def place_for_others(path: str | Path) -> str:
    """Name a file of this machine for readers on any machine: with the machine's name, if it is registered."""
    name = os.environ.get(MACHINE)
    return f"{path} on {name}" if name else str(path)


def process_space() -> str:
    """Return a text for the space in which a pid names one process: the boot and the process namespace of this machine.

    A namespace is identified by its number and by the start of its first process, since numbers are reused. A system
    without /proc has one space for each boot.
    """
    return _space(world.boot())


@cache
def _space(boot: str) -> str:
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
        first = Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):  # a system without /proc
        return f"{socket.gethostname()}-{psutil.boot_time():.0f}"
    return f"{boot}-{namespace}-{first}"


def is_here(space: str | None) -> bool:
    """Return True if this process can see the processes of a process space; None means its own space."""
    return space is None or space == process_space()


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, which differs from every later process with the same pid."""

    pid: int
    started: float
    """The time of its start; see `process_started`."""
    command: str
    """Command line of the process."""


def process_started(pid: int) -> float | None:
    """Return when a process started, which tells it apart from others with its pid.

    None if it is gone, is a zombie, or may not be inspected. On Linux the time is in seconds since the boot, so that it
    does not change when somebody sets the clock. On other systems it is in unix seconds.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return _since_boot(pid) if sys.platform == "linux" else process.create_time()
    except (psutil.Error, FileNotFoundError, ProcessLookupError):
        return None


def _since_boot(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def read_process_start() -> float:
    """Return the start time of this process in unix seconds, exact to some 0.01 s."""
    if sys.platform != "linux":
        return psutil.Process().create_time()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - _since_boot(os.getpid())
    return world.now() - age


def is_alive(pid: int | None, started: float | None) -> bool:
    """Return True if a process with this pid and this start time runs on this machine; a zombie does not run.

    False if one of the arguments is None.
    """
    if pid is None or started is None:
        return False
    actual = process_started(pid)
    return actual is not None and abs(actual - started) < _SAME_START


def identify(pid: int) -> ProcessIdentity | None:
    """Return the current process with a pid; None if there is none or a zombie, or this user may not inspect it."""
    started = process_started(pid)
    try:
        return None if started is None else ProcessIdentity(pid, started, " ".join(psutil.Process(pid).cmdline()))
    except psutil.Error:
        return None


def family(pid: int) -> tuple[ProcessIdentity, ...]:
    """Return a process and its living descendants, without those that this user may not inspect.

    The result is empty if the process is gone.
    """
    try:
        pids = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return ()
    return tuple(identity for each in pids if (identity := identify(each)) is not None)


def living(known: Iterable[ProcessIdentity], patience: float = 0.0) -> tuple[ProcessIdentity, ...]:
    """Wait at most `patience` seconds for processes to end.

    Return those that still exist with the same command line.
    """
    with contextlib.suppress(psutil.Error):
        waiting = [psutil.Process(each.pid) for each in known if patience and identify(each.pid) is not None]
        psutil.wait_procs(waiting, timeout=patience)
    return tuple(
        each
        for each in known
        if is_alive(each.pid, each.started) and (now := identify(each.pid)) and now.command == each.command
    )


def kill(pid: int | None, started: float | None) -> None:
    """Kill the process with this pid and start time, and all its descendants, such as the JVM and its workers.

    Wait at most `KILL_SECONDS` for their ends. Do nothing if the process does not exist; descendants that this user may
    not kill stay.
    """
    if not is_alive(pid, started):
        return
    assert pid is not None
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        members = [*process.children(recursive=True), process]
        for member in members:
            with contextlib.suppress(psutil.Error):
                member.kill()
        _await_ends(members)


def _await_ends(killed: Sequence[psutil.Process]) -> None:
    """Wait at most `KILL_SECONDS` until processes have ended; a zombie has, even if its parent never collects it."""
    until = world.monotonic() + KILL_SECONDS
    while any(process_started(each.pid) is not None for each in killed) and world.monotonic() < until:
        psutil.wait_procs(killed, timeout=_POLL_SECONDS)
    psutil.wait_procs(killed, timeout=0.0)  # collects those that are children of this process


def reap_adopted() -> None:
    """Collect the exit status of all children that have ended.

    The first process of a container adopts the orphans of other processes, such as the workers of a killed host.
    Without this they would stay in the table of processes until the container ends.
    """
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def thread_runs(pid: int, but: int | None = None) -> int | None:
    """Return how often the threads of a process were scheduled, without thread `but` and threads named `BACKGROUND`.

    None if the system cannot tell, or a thread has ended meanwhile.
    """
    runs = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if thread.name == str(but) or (thread / "comm").read_text().strip() == BACKGROUND:
                continue
            status = (thread / "status").read_text()
            runs += sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)
    except (OSError, ValueError):
        return None
    return runs
