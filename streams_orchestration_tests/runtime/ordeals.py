"""Applications to which anything happens, in any order: hosts die, zombies commit late, units are reset."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.errors.errors import OutputError, StaleGenerationError
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.sinks import delivering
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration.runtime.units.garbage import collect_garbage, sweep
from streams_orchestration_tests.runtime.applications import expected_of_network, published
from streams_orchestration_tests.runtime.local import LocalApplication

COUNT = 30
"""Rows of every source."""


class Ordeal:
    """An application to which things happen; `batches in flight` were executed and not committed."""

    def __init__(self, home: Home, compilation: PlannedCompilation) -> None:
        self.local = LocalApplication(home, compilation, source_limit=5)
        self.in_flight: list[tuple[PeProgram, BatchPlan, list[TaskResult]]] = []
        self.seen: dict[Path, bytes] = {}

    def step(self, number: int) -> None:
        self.local.step(self._program(number))

    def turn(self, number: int) -> None:
        """Bring every PE as far as the next: without that few tuples would ever come to the sinks."""
        self._program(number)
        for program in self.local.programs:
            self.local.step(program)

    def execute_only(self, number: int) -> None:
        """Kill a host after the tasks have run; its zombie may still try to commit."""
        program = self._program(number)
        plan = self.local.plan(program)
        if plan is not None:
            self.in_flight.append((program, plan, self.local.execute(program, plan)))

    def commit_only(self, number: int) -> None:
        """Kill a host after a commit, before it publishes."""
        program = self._program(number)
        plan = self.local.plan(program)
        if plan is not None:
            commit_batch(self.local.catalog, program, plan, self.local.execute(program, plan), 0.0)

    def commit_late(self, number: int) -> None:
        """Commit a batch in flight: it is refused unless nothing has happened to its PE meanwhile."""
        if self.in_flight:
            program, plan, results = self.in_flight.pop(number % len(self.in_flight))
            current = self.local.plan(program)
            try:
                commit_batch(self.local.catalog, program, plan, results, 0.0)
            except StaleGenerationError:
                assert current is None or (current.generation, current.batch) != (plan.generation, plan.batch)

    def reset(self, number: int) -> None:
        units = sorted(self.local.units)
        reset_unit(self.local.catalog, self.local.name, units[number % len(units)], force=True)

    def trigger(self, _number: int) -> None:
        self.local.trigger()

    def collect(self, _number: int) -> None:
        collect_garbage(self.local.catalog, self.local.name, self.local.programs)

    def sweep(self, _number: int) -> None:
        """Hosts start anew, so that nothing is in flight any more."""
        self.in_flight.clear()
        stages.INSTANCES = InstanceCache()
        programs = self.local.programs
        sweep(self.local.catalog, self.local.name, [program.pe for program in programs], programs)

    def publish(self, _number: int) -> None:
        publish(self.local.catalog, self.local.name)

    def finish(self) -> None:
        self.local.run()
        self.collect(0)
        self.sweep(0)

    def check(self) -> None:
        """Check that published files stay as they were."""
        now = {path: path.read_bytes() for path in self.local.home.results(self.local.name).glob("*/part-*")}
        for path, content in self.seen.items():
            assert now.get(path) == content, path
        self.seen = now

    def results(self) -> dict[str, Any]:
        return {name: published(self.local.published(name)) for name in expected_of_network(COUNT)}

    def left(self) -> list[Path]:
        """Pending files of sinks, and files of states that are no longer needed."""
        with self.local.catalog.read() as connection:
            needed = state_files(connection, self.local.name)
        states = set(self.local.home.store.below(f"data/{self.local.name}/states"))
        assert needed <= states
        return [*sorted(self.local.home.results(self.local.name).glob("*/_pending/*")), *map(Path, states - needed)]

    def _program(self, number: int) -> PeProgram:
        # a replay need not have the batches of the first time
        self.local.source_limit = 2 + number % 9
        return self.local.programs[number % len(self.local.programs)]


class DeliveringOrdeal(Ordeal):
    """The same with sinks that deliver to something else; hosts die behind a delivery, before the catalog knows."""

    def step(self, number: int) -> None:
        self.commit_only(number)

    def turn(self, number: int) -> None:
        self.commit_only(number)
        self.publish(number)

    def publish(self, _number: int) -> None:
        with suppress(OutputError):
            self.local.publish()

    def forget_delivery(self, _number: int) -> None:
        """Kill a host after a delivery; its successor has deliverers of its own."""

        def die(*_: object, **__: object) -> bool:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delivering, "count_output", die)
            with suppress(KeyboardInterrupt, OutputError):
                self.local.publish()
        local = self.local
        for former in local.deliverers.values():
            former.close()
        local.deliverers = make_deliverers(local.catalog, local.name, local.programs)


class DatabaseServer(Protocol):
    """A server of the tests' own."""

    def start(self) -> None: ...

    def stop(self, how: signal.Signals | None = None) -> None: ...

    def end_sessions(self) -> int: ...


class ServerOrdeal(Ordeal):
    """The same beside a server that crashes, is away, and ends sessions."""

    server: DatabaseServer
    crash_signal: signal.Signals
    away = False

    def crash(self, _number: int) -> None:
        if not self.away:
            self.server.stop(self.crash_signal)
            self.server.start()

    def leave(self, _number: int) -> None:
        if not self.away:
            self.server.stop()
            self.away = True

    def come_back(self, _number: int) -> None:
        if self.away:
            self.server.start()
            self.away = False

    def end_sessions(self, _number: int) -> None:
        if not self.away:
            self.server.end_sessions()


ACTIONS = ["step"] * 4 + ["turn"] * 3 + ["execute_only", "commit_only", "commit_late", "reset", "trigger", "trigger"]
ACTIONS += ["collect", "sweep", "publish"]
