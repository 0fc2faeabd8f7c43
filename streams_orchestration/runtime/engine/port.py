"""The engine port: the interface through which a host uses the engine that runs its PEs.

Spark is the engine of production (`engine/spark/`). The chaos tests have an engine of their own, which runs no JVM.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.settings.limits import SOURCE_LIMIT
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class EngineStart:
    """The settings to start an engine with: the host that it serves, and the memory that it may take."""

    home: Home
    application: str
    host: int
    incarnation: str
    """The id of this start of the host."""
    settings: EngineSettings
    """The memory of the engine, and where its tasks run."""
    output: Path | None = None
    """The file that gets the output of the engine's processes; None for the streams of this process."""


@dataclass(frozen=True, slots=True)
class QueryStart:
    """All data that an engine needs to start a query, which runs one generation of one PE."""

    home: Home
    program: PeProgram
    directories: Directories
    generation: int
    source_limit: int = SOURCE_LIMIT
    """The most tuples that a source may produce in one batch."""
    measured: bool = True
    """True if tasks count tuples and measure times."""
    relayed: bool = False
    """True if the host listens to the catalog for the planner, which it notifies by a file in the scratch directory."""
    hang_limit: int = 0
    """Seconds without progress after which a task is ended; 0 for never."""
    at: int = field(default_factory=lambda: world.now_ns())  # noqa: PLW0108  `world` may be another one later
    """The time of the start in nanoseconds, which is part of the scratch directory's name."""

    @property
    def scratch(self) -> Scratch:
        """The query's scratch directory, which `make_scratch` creates."""
        name = f"pe-{self.program.pe}-g{self.generation}-{self.at}"
        return Scratch(str(self.home.data(self.program.application) / "spark" / name))

    def make_scratch(self, *, apart: bool = False) -> Scratch:
        """Create the query's directory, in which the host, the planner and the tasks exchange files.

        The program and the settings of the query are written there. Directories of all earlier queries of the PE, which
        killed hosts have left, are removed.

        Args:
            apart: True if the tasks need not be on one machine; only then their processes watch `hang_limit`.

        Raises:
            FileExistsError: the directory exists, since this was called before.
        """
        path = Path(self.scratch.path)
        for left in path.parent.glob(f"pe-{self.program.pe}-g*"):
            if left != path:  # left by a host that was killed
                shutil.rmtree(left, ignore_errors=True)
        limit = self.hang_limit if apart else 0
        return Scratch.create(path, Launched(self.program, self.directories, self.measured, apart, limit))

    def planner_options(self, scratch: Scratch) -> dict[str, str]:
        """Return the options from which the query's `Planner` is made, as texts."""
        return {
            "home": str(self.home.root),
            "scratch": scratch.path,
            "generation": str(self.generation),
            "limit": str(self.source_limit),
            **({"relayed": "true"} if self.relayed else {}),
        }


class Query(Protocol):
    """A running query: one generation of one PE. It ends by itself only if it fails; `stop` ends it."""

    @property
    def generation(self) -> int:
        """The generation of the PE's unit that the query runs in."""
        ...

    @property
    def begun(self) -> bool:
        """True if the query's planner has read the PE's position from the catalog."""
        ...

    @property
    def starting(self) -> bool:
        """True if the query is started and has not begun."""
        ...

    @property
    def idle(self) -> bool:
        """True if no batch runs and none will begin: the query has ended, or its planner plans no more."""
        ...

    def busy(self) -> list[int]:
        """Return the pids of the processes that still have tasks of the current batch to run, without waiting.

        The result is empty if no batch runs, or if the tasks may be on other machines.
        """
        ...

    def find_failure_or_restart(self) -> Failure | None:
        """Return why the query ended, None if it has not; if it could not start, start it again instead when due."""
        ...

    def stop(self) -> None:
        """End the query and remove its files; an uncommitted batch leaves only files that are removed later."""
        ...


class Engine(Protocol):
    """The engine that runs the queries of one host.

    It starts in the background when the object is created.
    """

    def wait(self) -> str:
        """Wait until the engine is up.

        Returns:
            Its name and version.

        Raises:
            Exception: the error that kept it from starting.
        """
        ...

    @property
    def pid(self) -> int:
        """The pid of the process that all queries depend on, once the engine is up."""
        ...

    @property
    def process_name(self) -> str:
        """The name of the engine's process in messages, such as `JVM`."""
        ...

    def ping(self) -> object:
        """Ask the engine's process for a sign of life, and return as soon as it answers, which may be never.

        Raises:
            Exception: the engine could not start, or its process has failed.
        """
        ...

    def ended(self, patience: float = 0.0) -> str | None:
        """Return how the engine's process has ended, in words; None if it still runs after `patience` seconds."""
        ...

    def watch(self, wake: Callable[[], None]) -> None:
        """Call `wake` from now on, on any thread, when a query or the engine has ended by itself."""
        ...

    def query(self, start: QueryStart) -> Query:
        """Wait until the engine is up, and start a query.

        An error of the query that a reset cannot mend may be left to `Query.poll`.

        Raises:
            Exception: the error that kept the engine from starting, or that keeps the query from starting.
        """
        ...

    def stop(self) -> None:
        """Wait until the engine is up, and stop all work; the engine's processes end with the host.

        Raises:
            Exception: the error that kept the engine from starting.
        """
        ...

    def tidy(self, wanted: Callable[[], bool]) -> None:
        """Prepare a quicker next start when the application is complete, and wait for that while `wanted` returns True.

        If `wanted` returns False first, the preparation is dropped, and the engine's process may be killed.
        """
        ...
