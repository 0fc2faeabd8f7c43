"""Ends executor processes whose tasks make no progress, since the host cannot see the processes of a cluster.

`runtime/hosts/hangs.py` does the same for the workers of the host's own machine, with the same meaning of progress. A
task whose code holds Python's global lock while it waits is not noticed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.processes.processes import kill, process_started, thread_runs

HANG_CHECK_SECONDS = 1.0

log = logging.getLogger("streams.hangs")


class ProgressWatchdog:
    """The tasks that this process runs, and for how many checks in a row none of its threads has run.

    Time is counted in checks, so a process that was stopped with all its threads gets its full time afterwards. `end`
    is called with the limit when the tasks make no progress for so long. By default that is logged, and the process is
    killed.
    """

    def __init__(self, end: Callable[[int], None] | None = None) -> None:
        self._end = _end if end is None else end
        self._tasks = 0
        self._limit = 0
        self._runs: int | None = None
        self._still = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def task(self, limit: int) -> Generator[None]:
        """Watch a task that runs within the block, by a thread that is started once and never ends.

        The limit of the task that began last holds for all tasks. It is in seconds without progress until the process
        is ended, and 0 for never.
        """
        if not limit:
            yield
            return
        with self._lock:
            self._tasks, self._limit = self._tasks + 1, limit
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._tasks -= 1

    def check_progress(self, runs: int | None) -> None:
        """Note whether the process has made progress since the last check, and end it after the limit without progress.

        A process without tasks counts as one that makes progress. `runs` is how often its threads have run so far; None
        if that is not known, which counts as progress.
        """
        moved = runs is None or runs != self._runs or not self._tasks
        self._runs, self._still = runs, 0 if moved else self._still + 1
        if self._still * HANG_CHECK_SECONDS >= self._limit > 0:
            self._still = 0
            self._end(self._limit)

    def _watch(self) -> None:
        errors = LoopErrors(log)
        while True:
            time.sleep(HANG_CHECK_SECONDS)
            with errors.survived("the watch for hanging tasks failed"):
                self.check_progress(thread_runs(os.getpid(), threading.get_native_id()))


def _end(limit: int) -> None:
    pid = os.getpid()
    log.error("pid %s has made no progress in its task for %s s and is killed", pid, limit)
    kill(pid, process_started(pid))
