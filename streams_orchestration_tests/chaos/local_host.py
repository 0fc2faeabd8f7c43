"""A host of the product whose queries run without Spark: everything is the product's but the JVM and its workers."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.engine.spark import query
from streams_orchestration.runtime.engine.spark.owners import owner_pids
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.hosts import host_process
from streams_orchestration.runtime.limits import SOURCE_LIMIT
from streams_orchestration.runtime.processes import is_alive, process_started
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.local_engine import STOP

STOP_SECONDS = 2.0


class LocalSession:
    """In the place of `StartingSession`."""

    def __init__(self, _given: argparse.Namespace) -> None:
        self._engine = subprocess.Popen(
            [sys.executable, "-m", "streams_orchestration_tests.chaos.local_engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        context = SimpleNamespace(
            _gateway=SimpleNamespace(proc=self._engine), _jsc=SimpleNamespace(startTime=time.time)
        )
        self._session = SimpleNamespace(version="(none: local engine)", sparkContext=context, fork=self._fork)
        self._lock = threading.Lock()

    def wait(self) -> Any:
        """What the product takes for Spark's session."""
        return self._session

    def end(self) -> None:
        """Stop it."""
        self._engine.kill()

    def archive(self, wanted: object) -> None:
        """There is nothing to archive."""

    def _fork(self, options: dict[str, str]) -> int:
        assert self._engine.stdin is not None
        assert self._engine.stdout is not None
        with self._lock:
            print(json.dumps(options), file=self._engine.stdin, flush=True)
            return int(self._engine.stdout.readline() or 0)


class LocalQuery:
    """In the place of `PeQuery`."""

    def __init__(
        self, spark: Any, home: Home, program: PeProgram, directories: Directories, generation: int,
        *, source_limit: int = SOURCE_LIMIT, measured: bool = True,
    ) -> None:  # fmt: skip
        self.spark, self.generation, self.permanent = spark, generation, False
        self.pe = program.pe
        path = home.data(program.application) / "spark" / f"pe-{program.pe}-g{generation}-{time.time_ns()}"
        self._scratch = Scratch.create(path, Launched(program, directories, measured))
        self._options = {
            "home": str(home.root),
            "scratch": self._scratch.path,
            "generation": str(generation),
            "limit": str(source_limit),
        }
        self._process: tuple[int, float | None] = (0, None)

    def start(self) -> None:
        """Start its process."""
        pid = self.spark.fork(self._options)
        self._process = pid, process_started(pid) if pid else None

    @property
    def active(self) -> bool:
        """Its process lives."""
        return is_alive(*self._process)

    @property
    def begun(self) -> bool:
        """Its planner knows where it stands."""
        return self._scratch.begun

    @property
    def starting(self) -> bool:
        """Its planner is not there yet."""
        return self.active and not self.begun

    def busy(self) -> list[int]:
        """Processes that have tasks of the batch under way to run."""
        return owner_pids(self._scratch.unanswered())

    @property
    def idle(self) -> bool:
        """No batch is under way and none will begin."""
        return not self.active or self._scratch.resting

    def failure(self) -> StreamsRuntimeError | None:
        """Why it ended by itself."""
        if self.active:
            return None
        told = self._scratch.failure
        if told is not None:
            message, self.permanent = told
            return StreamsRuntimeError(message)
        return StreamsRuntimeError(f"PE {self.pe}: its process has ended")

    def stop(self) -> None:
        """Tell it to end, and wait a little: who is paused ends later."""
        (Path(self._scratch.path) / STOP).touch()
        until = time.monotonic() + STOP_SECONDS
        while self.active and time.monotonic() < until:
            time.sleep(0.005)
        self._scratch.remove()


def main(arguments: list[str]) -> int:
    """Run a host."""
    patches: Any = (host_process, query)
    patches[0].StartingSession, patches[1].PeQuery = LocalSession, LocalQuery
    return host_process.main(arguments)
