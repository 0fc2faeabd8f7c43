"""The engine of simulated hosts: a process, and below it one for each query, which plans, runs tasks and commits."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from streams_orchestration import world
from streams_orchestration.operators.storage import durable_files
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import claims
from streams_orchestration.runtime.engine.port import EngineStart, QueryStart
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.engine.spark.query import ScratchQuery
from streams_orchestration.runtime.engine.spark.rows import PLAN, Row, requests
from streams_orchestration.runtime.hosts import host_process
from streams_orchestration.runtime.hosts.launcher import HostStart, host_command
from streams_orchestration.runtime.machines import standbys
from streams_orchestration.runtime.processes.processes import MACHINE, ProcessIdentity, identify
from streams_orchestration.runtime.programs.codecs import plan_codec
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.tasks import meter
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal, SimulatedProcess

PLANNER_WAIT_SECONDS = 2.0
"""Seconds that a planner waits before its query checks whether it is to end."""
STOP_SECONDS = 3.0
"""Seconds that a stop waits for the batch under way."""
PING_SECONDS = 0.5
"""Seconds between two checks of an engine that is stopped by a signal."""
START_SECONDS = 2.0
"""Seconds in which the engine starts."""


@dataclass(frozen=True)
class Cluster:
    """Starts the processes of an application."""

    scheduler: Scheduler

    def launch(self, start: HostStart) -> ProcessIdentity:
        """Start a host, in place of `launch_host`."""
        arguments = host_command(start)
        options = list(arguments[arguments.index("--home") :])
        self.scheduler.step("launch")
        current = self.scheduler.current
        process = self.scheduler.spawn(
            f"host {start.host}", lambda: host_process.main(options, self.engine), parent=None, command=arguments
        )
        self.scheduler.on_host(process, start.incarnation, current and current.process)
        identity = identify(process.pid)
        assert identity is not None
        return identity

    def engine(self, start: EngineStart) -> SimulatedEngine:
        """Start the engine of a host."""
        return SimulatedEngine(self.scheduler, start)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let all hosts within a block be simulated ones."""
        with (
            patch.object(claims, "launch_host", self.launch),
            patch.object(standbys, "launch_host", self.launch),
            patch.object(host_process, "_listen", lambda _host: None),
            patch.object(host_process, "hide_secrets", lambda: None),
            patch.object(host_process, "raise_open_files", lambda: None),
            patch.object(meter, "clock", lambda: int(self.scheduler.now * 1e9)),
        ):
            yield


class SimulatedEngine:
    """The engine of one host."""

    process_name = "simulated engine"

    def __init__(self, scheduler: Scheduler, start: EngineStart) -> None:
        assert scheduler.current is not None
        self._scheduler = scheduler
        self._host = scheduler.current.process
        self._over = Signal()
        name = f"engine {start.host}"
        self._process = scheduler.spawn(name, lambda: scheduler.wait(self._over), parent=self._host)

    @property
    def pid(self) -> int:
        """The pid of its process."""
        return self._process.pid

    def wait(self) -> str:
        """Wait until it is up."""
        world.sleep(START_SECONDS)
        return "the simulated engine"

    def ping(self) -> object:
        """Answer as soon as its process is not stopped."""
        while self._process.is_stopped:
            self._scheduler.sleep(PING_SECONDS)
        return None

    def ended(self, patience: float = 0.0) -> str | None:
        """Return how its process has ended."""
        if self._process.alive and patience:
            self._scheduler.wait(self._process.ended, patience)
        return None if self._process.alive else f"its {self.process_name} (pid {self.pid}) has ended"

    def watch(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever a process has ended."""

        def wake_after_ends() -> None:
            while self._scheduler.wait(self._scheduler.any_end):
                wake()

        world.Thread(target=wake_after_ends, name="watch", daemon=True).start()

    def query(self, start: QueryStart) -> SimulatedQuery:
        """Start a query."""
        return SimulatedQuery(self._scheduler, self._process, start)

    def stop(self) -> None:
        """End its process."""
        self._scheduler.end(self._process)

    def tidy(self, wanted: Callable[[], bool]) -> None:
        """Do nothing."""


class SimulatedQuery(ScratchQuery):
    """A query whose planner and tasks run in one process."""

    def __init__(self, scheduler: Scheduler, engine: SimulatedProcess, start: QueryStart) -> None:
        super().__init__(start)
        self.pe = start.program.pe
        self._scheduler = scheduler
        self._stopping = False
        options = start.planner_options(self._scratch)
        name = f"query {self.pe} g{start.generation}"
        self._process = scheduler.spawn(name, lambda: self._run(options), parent=engine)

    @property
    def active(self) -> bool:
        """True if its process lives."""
        return self._process.alive

    def find_failure_or_restart(self) -> Failure | None:
        """Return why it ended by itself."""
        if self.active:
            return None
        return self._scratch.failure or Failure("its process has ended")

    def stop(self) -> None:
        """Have it end behind its batch; a process that is stopped by a signal ends later."""
        self._stopping = True
        if self._process.alive:
            self._scheduler.wait(self._process.ended, STOP_SECONDS)
        self._scratch.remove()

    def _run(self, options: dict[str, str]) -> None:
        try:
            self._run_batches(options)
        except OSError:
            if Path(options["scratch"]).exists():
                raise  # otherwise the query was stopped, or its host was replaced

    def _run_batches(self, options: dict[str, str]) -> None:
        planner = Planner(options, PLANNER_WAIT_SECONDS)
        at = planner.start()
        while not self._stopping:
            then = planner.commit_and_plan(at)
            if then != at:
                run_levels(self._scheduler, Scratch(options["scratch"]), planner.begin_batch(then))
                at = then
        planner.stop()


def run_levels(scheduler: Scheduler, scratch: Scratch, plans: list[tuple[int, bytes]]) -> None:
    """Run the tasks of a batch, one after the other, and hand on what they exchange."""
    program = scratch.launched.program
    handed: dict[int, list[Row]] = defaultdict(list)
    handed[0] = [(partition, 0, PLAN, 0, 0, plan) for partition, plan in plans]
    for level, tasks in enumerate(program.levels):
        for request in requests(scratch, level, handed[level]):
            scheduler.step("task")
            plan = plan_codec.validate_json(request.plan)
            for row in stages.run_task(scratch, tasks[request.partition], plan, request.items):
                handed[row[1]].append(row)


def switch(process: SimulatedProcess, before: SimulatedProcess | None) -> None:
    """Give a process the state of modules that it has for itself, and keep that of the one before."""
    if before is not None:
        before.state["clock"] = clock.last_reading
    clock.last_reading = process.state.get("clock")
    if before is None or before.machine is not process.machine:
        if process.machine.takes_hosts:
            os.environ[MACHINE] = process.machine.name
        else:
            os.environ.pop(MACHINE, None)
    if "instances" not in process.state:
        process.state |= {"instances": InstanceCache(), "directories on disk": set[Path]()}
    stages.INSTANCES = process.state["instances"]
    durable_files.flushed_names = process.state["directories on disk"]
