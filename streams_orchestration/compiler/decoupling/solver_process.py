"""A solver in a process of its own, which ends when its time is over, whatever the solver is doing."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from streams_orchestration.compiler.decoupling.effort import work
from streams_orchestration.compiler.decoupling.task import Step, Task

_COMMAND = [sys.executable, "-m", "streams_orchestration.compiler.decoupling.solver_process"]
_GRACE = 0.5
"""Seconds that a solver gets to stop by itself."""


class SolverFailedError(Exception):
    """A solver ended without an answer; the message is what it said."""


def solve_apart(task: Task, report: Callable[[Step], None]) -> None:
    """As `work`, in another process that is ended when `task.seconds` are over.

    Raises:
        SolverFailedError: the process ended with an error of its own.
    """
    deadline = time.monotonic() + task.seconds + _GRACE
    process = subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    said: list[bytes] = []
    threads = [Thread(target=_listen, args=(process, report), daemon=True)]
    threads.append(Thread(target=lambda: said.append(process.stderr.read() if process.stderr else b""), daemon=True))
    try:
        for thread in threads:
            thread.start()
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(pickle.dumps(task))
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        cut_off = process.poll() is None
        # the session, since CBC runs in a process below
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join(1.0)
    if not cut_off and process.returncode != 0:
        lines = b"".join(said).decode("utf-8", "replace").strip().splitlines()
        raise SolverFailedError(lines[-1] if lines else f"exit status {process.returncode}")


def _listen(process: subprocess.Popen[bytes], report: Callable[[Step], None]) -> None:
    for line in process.stdout or ():
        with suppress(ValueError):
            assignment, bound, infeasible = json.loads(line)
            report(Step(None if assignment is None else tuple(assignment), bound, infeasible))


def _main() -> None:
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # solvers that print must not get between our lines

    def tell(step: Step) -> None:
        output.write(json.dumps(step) + "\n")
        output.flush()

    work(pickle.load(sys.stdin.buffer), tell)


if __name__ == "__main__":
    _main()
