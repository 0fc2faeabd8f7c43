"""A host of the product whose queries run without Spark: everything is the product's but the JVM and its workers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from streams_orchestration.runtime.engine.port import EngineStart, QueryStart
from streams_orchestration.runtime.engine.spark.query import ScratchQuery
from streams_orchestration.runtime.hosts import host_process
from streams_orchestration.runtime.processes.processes import is_alive, process_started
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration_tests.chaos.local_engine import STOP

STOP_SECONDS = 2.0
POLL_SECONDS = 0.05


class LocalEngine:
    """An engine that runs no JVM: a process that forks another one for every query."""

    def __init__(self, _start: EngineStart) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streams_orchestration_tests.chaos.local_engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()
        self._queries: list[LocalQuery] = []

    def wait(self) -> str:
        """It is up at once."""
        return "the local engine"

    @property
    def pid(self) -> int:
        """The pid of the process that forks."""
        return self._process.pid

    @property
    def process_name(self) -> str:
        """It forks."""
        return "fork server"

    def ping(self) -> object:
        """It answers always."""
        return None

    def ended(self, patience: float = 0.0) -> str | None:
        """Return the words for the end of the process, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"its {self.process_name} (pid {self.pid}) has ended with status {self._process.wait(patience)}"
        return None

    def watch(self, wake: Callable[[], None]) -> None:
        """Look at the processes of the queries again and again."""
        threading.Thread(target=self._await_ends, args=(wake,), daemon=True).start()

    def _await_ends(self, wake: Callable[[], None]) -> None:
        ended: set[int] = set()
        while self._process.poll() is None:
            now = {id(query) for query in tuple(self._queries) if not query.active}
            if now - ended:
                wake()
            ended = now
            time.sleep(POLL_SECONDS)
        wake()

    def query(self, start: QueryStart) -> LocalQuery:
        """Fork a process for it."""
        query = LocalQuery(self._fork, start)
        self._queries.append(query)
        return query

    def stop(self) -> None:
        """End the process."""
        self._process.kill()

    def tidy(self, wanted: object) -> None:
        """There is nothing to do."""

    def _fork(self, options: dict[str, str]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            print(json.dumps(options), file=self._process.stdin, flush=True)
            return int(self._process.stdout.readline() or 0)


class LocalQuery(ScratchQuery):
    """A query of the local engine."""

    def __init__(self, fork: Callable[[dict[str, str]], int], start: QueryStart) -> None:
        super().__init__(start)
        self.pe = start.program.pe
        pid = fork(start.planner_options(self._scratch))
        self._process = pid, process_started(pid) if pid else None

    @property
    def active(self) -> bool:
        """Its process lives."""
        return is_alive(*self._process)

    def find_failure_or_restart(self) -> Failure | None:
        """Return the failure with which the process ended by itself."""
        if self.active:
            return None
        return self._scratch.failure or Failure("its process has ended")

    def stop(self) -> None:
        """Tell it to end, and wait a little: who is paused ends later."""
        (Path(self._scratch.path) / STOP).touch()
        until = time.monotonic() + STOP_SECONDS
        while self.active and time.monotonic() < until:
            time.sleep(0.005)
        self._scratch.remove()


def main(arguments: list[str]) -> int:
    """Run a host."""
    return host_process.main(arguments, LocalEngine)
