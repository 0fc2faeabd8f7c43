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
from threading import Event, Thread

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
        report: called with all progress, by another thread.

    Raises:
        SolverFailedError: the process ended with an error of its own.
        OSError: the process cannot be started.
    """
    solver = _Solver(task, time.monotonic() + seconds, report)
    try:
        solver.start()
        solver.finished.wait(seconds)
    finally:
        failure = solver.end()
    if failure is not None:
        raise SolverFailedError(failure)


class _Solver:
    """One solver process, and the threads that write to it and read from it."""

    def __init__(self, task: SolverTask, deadline: float, report: Callable[[SolverProgress], None]) -> None:
        self._request = task, deadline
        self._report = report
        self.finished = Event()
        self._errors = b""
        self._process: subprocess.Popen[bytes] | None = None
        # writing is for a thread, too: a large task fills the pipe while the process is still starting
        self._threads = [
            Thread(target=each, daemon=True) for each in (self._write_request, self._read_progress, self._read_errors)
        ]

    def start(self) -> None:
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt from the terminal is for the process that started it
        )
        for thread in self._threads:
            thread.start()

    def end(self) -> str | None:
        """End the process if it still runs, and return its last error if it failed before that.

        The error is the last line that the process wrote to standard error, or its exit status if it wrote none.
        """
        process = self._process
        if process is None:
            return None
        if self.finished.is_set():  # the process has closed its output, so it is about to end
            with suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        cut_off = process.poll() is None
        process.kill()
        process.wait()
        for thread in self._threads:
            thread.join(1.0)
        if cut_off or process.returncode == 0:
            return None
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {process.returncode}"

    def _write_request(self) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin:
                pickle.dump(self._request, process.stdin)

    def _read_progress(self) -> None:
        try:
            for line in (self._process and self._process.stdout) or ():
                with suppress(ValueError):
                    assignment, bound, infeasible = json.loads(line)
                    self._report(SolverProgress(None if assignment is None else tuple(assignment), bound, infeasible))
        finally:
            self.finished.set()

    def _read_errors(self) -> None:
        if self._process is not None and self._process.stderr is not None:
            self._errors = self._process.stderr.read()


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
