"""The machines of a simulation: their agents, their standby hosts, and what happens to a machine as a whole.

All machines share one state directory, as over a network. A machine that dies or stands still takes nothing from it.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from unittest.mock import patch

from streams_orchestration.runtime.engine.port import Engine, EngineStart
from streams_orchestration.runtime.hosts import host_process
from streams_orchestration.runtime.machines import agent, standbys
from streams_orchestration.runtime.machines.agent import Agent, Machine
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.redeployment.host_rescheduling import HostRescheduler
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.simulation.catalogs import opened
from streams_orchestration_tests.simulation.scheduler import (
    GIVEN,
    Scheduler,
    Signal,
    SimulatedMachine,
    SimulatedProcess,
)

NAMES = ("north", "south", "west")
CORES = 4
OFFSETS = (0.0, 300.0, -300.0, 7.0)
"""Seconds by which the wall clock of a machine is ahead when it starts."""
DRIFTS = (0.0, 1e-4, -1e-4)
RETURN_SECONDS = (1.0, 5.0, 25.0)
"""Seconds after which a machine that died is there again."""
AGAIN_SECONDS = 1.0
"""Seconds after which an agent that has ended is started again."""


@dataclass
class Machines:
    """The machines that take hosts, apart from the one of those who deploy and heal."""

    scheduler: Scheduler
    home: Home
    machines: tuple[SimulatedMachine, ...]
    broken: set[str] = field(default_factory=set[str])
    """Names of the machines that never come back."""

    @classmethod
    def of(cls, scheduler: Scheduler, home: Home, count: int) -> Machines:
        """Make some machines, each with a clock of its own."""
        made = tuple(SimulatedMachine(name, takes_hosts=True) for name in NAMES[:count])
        for machine in made:
            machine.offset = OFFSETS[scheduler.choices.pick("offset", (1,) * len(OFFSETS))]
            machine.drift = DRIFTS[scheduler.choices.pick("drift", (1,) * len(DRIFTS))]
        return cls(scheduler, home, made)

    def start(self) -> None:
        """Start the agents."""
        for machine in self.machines:
            self.start_agent(machine)

    def registered(self) -> list[str]:
        """Return the names of the machines that are registered; asked by nobody who takes part."""
        with contextlib.closing(opened(self.home.catalog)) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM machine")]

    def start_agent(self, machine: SimulatedMachine) -> SimulatedProcess | None:
        """Start the agent of a machine, and start it again when it ends; its service manager does that."""
        if machine.name in self.broken:
            return None

        def run() -> None:
            settings = EngineSettings("1g")
            launcher = Standbys(self.home, machine.name, 1, settings)
            tending = HostRescheduler(self.home, machine.name)
            tending.start()
            Agent(self.home, Machine(machine.name, (), CORES), launcher).run()

        process = self.scheduler.spawn(f"agent {machine.name}", run, parent=None, machine=machine)
        boots = machine.boots

        def watch() -> None:
            if process.alive:
                self.scheduler.wait(process.ended)
            self.scheduler.sleep(AGAIN_SECONDS)
            if machine.boots == boots:
                self.start_agent(machine)

        self.scheduler.later(0.0, watch)
        return process

    @property
    def sound(self) -> list[SimulatedMachine]:
        """The machines that are not broken for good."""
        return [machine for machine in self.machines if machine.name not in self.broken]

    def choose(self) -> SimulatedMachine | None:
        """Choose a machine that is not broken; None if there is none."""
        there = self.sound
        return there[self.scheduler.choices.pick("machine", (1,) * len(there))] if there else None

    def die(self, machine: SimulatedMachine) -> str:
        """End all processes of a machine; it comes back with another clock."""
        self.scheduler.lose_power(machine)
        seconds = RETURN_SECONDS[self.scheduler.choices.pick("seconds", (1,) * len(RETURN_SECONDS))]
        machine.offset = OFFSETS[self.scheduler.choices.pick("offset", (1,) * len(OFFSETS))]
        self.scheduler.later(seconds, partial(self.start_agent, machine))
        return f"back after {seconds:g} s"

    def freeze(self, machine: SimulatedMachine, seconds: float) -> list[SimulatedProcess]:
        """Let all processes of a machine stand still."""
        frozen = [process for process in machine.table.values() if process.alive]
        for process in frozen:
            self.scheduler.stop(process, seconds)
        return frozen


@dataclass(eq=False)
class SimulatedStandby:
    """A host process without a host: stands for its `Popen`, its pipe and its standard input."""

    scheduler: Scheduler
    process: SimulatedProcess | None = None
    line: str | None = None
    said: Signal = field(default_factory=Signal)
    agent: SimulatedProcess | None = None
    """The process that has written the line."""
    ready: bool = False

    @property
    def pid(self) -> int:
        """Its pid."""
        assert self.process is not None
        return self.process.pid

    def poll(self) -> int | None:
        """Return None while it lives."""
        assert self.process is not None
        return None if self.process.alive else 1

    @property
    def stdin(self) -> _Input:
        """Its standard input."""
        return _Input(self)


class _Input(io.StringIO):
    """The standard input of a standby: what its agent has written is read when it is flushed, or closed."""

    def __init__(self, standby: SimulatedStandby) -> None:
        super().__init__()
        self._standby = standby

    def flush(self) -> None:
        """Hand over the text."""
        if self._standby.poll() is not None:
            raise BrokenPipeError
        self._standby.line = self.getvalue()
        current = self._standby.scheduler.current
        self._standby.agent = current and current.process
        if self._standby.process is not None:
            self._standby.process.state[GIVEN] = self._standby.scheduler.steps
        self._standby.scheduler.notify(self._standby.said)

    def close(self) -> None:
        """Hand over the end."""
        if self._standby.line is None:
            self._standby.line = ""
            self._standby.scheduler.notify(self._standby.said)


class Pipes:
    """Stands for `subprocess` and `os` in the module of standbys.

    Args:
        scheduler: of the simulation.
        engine: makes the engine of a host.
    """

    PIPE, DEVNULL = -1, -3

    def __init__(self, scheduler: Scheduler, engine: Callable[[EngineStart], Engine]) -> None:
        self._scheduler, self._engine = scheduler, engine
        self._standbys: dict[int, SimulatedStandby] = {}
        self._next = 1_000

    def pipe(self) -> tuple[int, int]:
        """Return two ends of a pipe, which have one number here."""
        self._next += 1
        self._standbys[self._next] = SimulatedStandby(self._scheduler)
        return self._next, self._next

    def set_blocking(self, descriptor: int, blocking: bool) -> None:
        """Do nothing."""

    def close(self, descriptor: int) -> None:
        """Do nothing."""

    def read(self, descriptor: int, _count: int) -> bytes:
        """Return a byte if the standby is ready."""
        if not self._standbys[descriptor].ready:
            raise BlockingIOError
        return b"1"

    def Popen(self, command: list[str], **_: Any) -> SimulatedStandby:  # noqa: N802  as in subprocess
        """Start a standby."""
        descriptor = int(command[command.index("--ready") + 1])
        standby = self._standbys[descriptor]
        options = command[command.index("--home") :]
        standby.process = self._scheduler.spawn(
            "host on standby", lambda: host_process.main(options, self._engine), parent=None, command=tuple(command)
        )
        return standby

    def say_ready(self, engine: Engine, descriptor: int) -> None:
        """Wait for the engine of a standby, and tell its agent."""
        engine.wait()
        self._standbys[descriptor].ready = True

    def assigned(self, start: EngineStart) -> EngineStart | None:
        """Wait for the host that a standby becomes; None if its agent has ended."""
        current = self._scheduler.current
        assert current is not None
        standby = next(each for each in self._standbys.values() if each.process is current.process)
        while standby.line is None:
            self._scheduler.wait(standby.said)
        if not standby.line:
            return None
        wanted = json.loads(standby.line)
        current.process.name = f"host {wanted['host']}"
        self._scheduler.on_host(current.process, wanted["incarnation"], standby.agent)
        return replace(start, application=wanted["application"], host=wanted["host"], incarnation=wanted["incarnation"])

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let standbys within a block be simulated ones."""
        with (
            patch.object(standbys, "subprocess", self),
            patch.object(standbys, "os", self),
            patch.object(standbys, "require_open_files", lambda _what: None),
            patch.object(host_process, "_say_ready", self.say_ready),
            patch.object(host_process, "_await_assignment", self.assigned),
            patch.object(agent, "reap_adopted", lambda: None),
        ):
            yield
