"""Runs a solver in a separate process, which is killed when its time is over."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from streams_orchestration.compiler.decoupling.effort import solve_task
from streams_orchestration.compiler.decoupling.solver_task import SolverProgress, SolverTask

COMMAND = [sys.executable, "-m", "streams_orchestration.compiler.decoupling.solver_process"]
"""The command that starts the process of a solver."""
_MARGIN = 0.05
"""The fraction of its time that a solver keeps to stop by itself and to report its last progress."""
_MOST_MARGIN = 0.5
"""The upper limit, in seconds, of the time that a solver keeps to stop by itself and to report its last progress."""


class SolverFailedError(Exception):
    """A solver ended without an answer; the message is the last line of its error output, or else its exit status."""


def solve_apart(task: SolverTask, seconds: float, report: Callable[[SolverProgress], None]) -> None:
    """Run `solve_task` in a separate process, which is killed when the time is over.

    Args:
        task: the task of the process.
        seconds: the time limit, including the start of the process.
        report: called with all progress when the process has ended.

    Raises:
        SolverFailedError: the process ended with an error of its own.
        OSError: the process cannot be started.
    """
    request = pickle.dumps((task, time.monotonic() + seconds))
    failure: str | None = None
    try:
        # an interrupt from the terminal is for the process that started it, so this one has a session of its own
        done = subprocess.run(
            COMMAND, input=request, capture_output=True, timeout=seconds, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired as killed:
        output = killed.stdout
    else:
        output = done.stdout
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            failure = lines[-1] if lines else f"exit status {done.returncode}"
    for line in (output or b"").splitlines():
        with suppress(ValueError):  # the last line of a process that was killed may be incomplete
            assignment, bound, infeasible = json.loads(line)
            report(SolverProgress(None if assignment is None else tuple(assignment), bound, infeasible))
    if failure is not None:
        raise SolverFailedError(failure)


def _main() -> None:
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # solvers that print must not get between our lines

    def write(progress: SolverProgress) -> None:
        output.write(json.dumps(progress) + "\n")
        output.flush()

    task, deadline = pickle.load(sys.stdin.buffer)  # noqa: S301  from the process that started this one
    margin = min(_MOST_MARGIN, _MARGIN * task.seconds)
    # the deadline is a time of the machine's clock, so the start of this process counts
    solve_task(task._replace(seconds=max(0.0, deadline - margin - time.monotonic())), write)


if __name__ == "__main__":
    _main()
