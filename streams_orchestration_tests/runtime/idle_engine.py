"""An engine whose queries run and do nothing, for tests of the host."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.programs.failure import Failure


class IdleQuery:
    """Runs until it is stopped."""

    def __init__(self, start: QueryStart) -> None:
        self.pe, self.generation = start.program.pe, start.generation
        self.begun = self.idle = True
        self.starting = False
        self.failed: Failure | None = None

    def busy(self) -> list[int]:
        return []

    def find_failure_or_restart(self) -> Failure | None:
        return self.failed

    def stop(self) -> None:
        """Do nothing."""


class IdleEngine:
    """Its queries run and do nothing; its process is one of the test's, if any."""

    def __init__(
        self, process: subprocess.Popen[bytes] | None = None, ping: Callable[[], object] = lambda: None,
        *, begun: bool = True,
    ) -> None:  # fmt: skip
        self.process, self.ping, self.begun = process, ping, begun
        self.queries: list[IdleQuery] = []
        self.started = threading.Event()

    def wait(self) -> str:
        return "the idle engine"

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None else 1

    @property
    def process_name(self) -> str:
        return "idle process"

    def ended(self, patience: float = 0.0) -> str | None:
        return None

    def watch(self, wake: Callable[[], None]) -> None:
        """Watch nothing, since none of its queries ends by itself."""

    def query(self, start: QueryStart) -> IdleQuery:
        query = IdleQuery(start)
        query.begun, query.starting = self.begun, not self.begun
        self.queries.append(query)
        self.started.set()
        return query

    def stop(self) -> None:
        """There is nothing to stop."""

    def tidy(self, wanted: Callable[[], bool]) -> None:
        """There is nothing to do."""
