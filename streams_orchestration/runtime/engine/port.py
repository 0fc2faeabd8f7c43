"""The engine port: the interface of a host to the engine that runs its PEs.

Spark is the engine of production (`engine/spark/`). The chaos tests have one of their own, which runs no JVM.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.errors import OperatorFailure, StreamsRuntimeError
from streams_orchestration.runtime.limits import SOURCE_LIMIT
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.settings import EngineSettings
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class EngineStart:
    """The settings to start an engine with: the host that it serves, and the memory that it may take."""

    home: Home
    application: str
    host: int
    incarnation: str
    """Names this start of the host."""
    settings: EngineSettings
    """Memory of the engine, and where its tasks run."""
    output: Path | None = None
    """The file that gets what the engine's processes write; the streams of this process when None."""


@dataclass(frozen=True, slots=True)
class QueryStart:
    """The parts of a query that an engine is to run: one generation of one PE."""

    home: Home
    program: PeProgram
    directories: Directories
    generation: int
    source_limit: int = SOURCE_LIMIT
    """Tuples that a source may produce in one batch."""
    measured: bool = True
    """True if tasks count and time."""
    relayed: bool = False
    """The host listens to the catalog for the planner, and rings the bell in its scratch directory."""
    hang_limit: int = 0
    """Seconds without progress of a task until it is ended; 0: never."""
    at: int = field(default_factory=lambda: world.now_ns())  # noqa: PLW0108  `world` may be another one later
    """Nanoseconds: names the scratch directory."""

    @property
    def scratch(self) -> Scratch:
        """Return its scratch directory, which `make_scratch` makes."""
        name = f"pe-{self.program.pe}-g{self.generation}-{self.at}"
        return Scratch(str(self.home.data(self.program.application) / "spark" / name))

    def make_scratch(self, *, apart: bool = False) -> Scratch:
        """Return a directory for the query, in which the host, the planner and the tasks meet.

        Args:
            apart: its tasks need not be on one machine.
        """
        path = Path(self.scratch.path)
        for left in path.parent.glob(f"pe-{self.program.pe}-g*"):
            if left != path:  # of a host that was killed
                shutil.rmtree(left, ignore_errors=True)
        limit = self.hang_limit if apart else 0
        return Scratch.create(path, Launched(self.program, self.directories, self.measured, apart, limit))

    def planner_options(self, scratch: Scratch) -> dict[str, str]:
        """Return the options from which the query's `Planner` is made."""
        return {
            "home": str(self.home.root),
            "scratch": scratch.path,
            "generation": str(self.generation),
            "limit": str(self.source_limit),
            **({"relayed": "true"} if self.relayed else {}),
        }


class Query(Protocol):
    """One generation of one PE. It ends by itself only when it fails; `stop` ends it."""

    permanent: bool
    """The failure comes from the data: the same input would fail again."""

    cause: OperatorFailure | None
    """The failure of an operator that ended it."""

    @property
    def generation(self) -> int:
        """The generation of the PE's unit that it runs in."""
        ...

    @property
    def begun(self) -> bool:
        """True if its planner knows where the PE stands."""
        ...

    @property
    def starting(self) -> bool:
        """True if it is started and has not begun."""
        ...

    @property
    def idle(self) -> bool:
        """True if no batch is under way and none will begin, because the application is not wanted any more."""
        ...

    def busy(self) -> list[int]:
        """Return the pids of the processes that have tasks of the batch under way to run; answers at once."""
        ...

    def failure(self) -> StreamsRuntimeError | None:
        """Why it ended by itself; None while it runs."""
        ...

    def stop(self) -> None:
        """End it, and remove what only it needed; an uncommitted batch leaves nothing but garbage."""
        ...


class Engine(Protocol):
    """Runs the queries of one host. It starts when it is made, while the host does something else."""

    def wait(self) -> str:
        """Wait until it is up.

        Returns:
            Its name and version.

        Raises:
            Exception: what kept it from starting.
        """
        ...

    @property
    def pid(self) -> int:
        """The process that all queries depend on, once the engine is up."""
        ...

    @property
    def process_name(self) -> str:
        """Return the name of that process in messages, such as `JVM`."""
        ...

    def ping(self) -> object:
        """Return as soon as that process answers."""
        ...

    def ended(self, patience: float = 0.0) -> str | None:
        """Return how that process has ended, in words; None when it has not within `patience` seconds."""
        ...

    def watch(self, wake: Callable[[], None]) -> None:
        """From now on call `wake`, on any thread, when a query or the engine has ended by itself."""
        ...

    def query(self, start: QueryStart) -> Query:
        """Start a query."""
        ...

    def stop(self) -> None:
        """Stop all work; what is left ends with the host."""
        ...

    def tidy(self, wanted: Callable[[], bool]) -> None:
        """Make the next start quicker, when the application is complete, as long as `wanted` returns True."""
        ...
