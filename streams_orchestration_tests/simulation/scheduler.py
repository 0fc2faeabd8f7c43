"""One thread that runs the threads of all simulated processes as greenlets, in simulated time.

A greenlet goes on until it steps, sleeps or waits; then the earliest of all goes on. A killed process is put aside and
never runs again, so that no `finally` of it does anything, as after SIGKILL.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from asyncio import AbstractEventLoop, _set_running_loop
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

from greenlet import greenlet

from streams_orchestration_tests.simulation.choices import Choices

STEP_SECONDS = (0.0002, 0.002, 0.02, 0.3)
"""Seconds of simulated time that a step can take."""
STEP_WEIGHTS = (70, 22, 7, 1)
ORPHAN_SECONDS = 0.01
"""Seconds from the end of a process to that of its children."""
SAME_SECONDS = 1.0
"""Seconds after the start of a process in which no other one gets its number, even if it has ended."""
FIRST_PID = 10_000_000
"""Greater than any pid of the machine that runs the simulation."""
TRACE_LINES = 400
GIVEN = "step at which it was given a host"
"""The key of a process's state for the step at which an agent, or a command, has made it a host."""


@dataclass(eq=False)
class SimulatedMachine:
    """A machine: its processes, its clock, and what it reaches."""

    name: str
    takes_hosts: bool = False
    """True if an agent starts hosts on the machine."""
    boots: int = 1
    """Number of times that it was started."""
    booted: float = 0.0
    """Simulated time of the last start."""
    offset: float = 0.0
    """Seconds by which its wall clock is ahead."""
    drift: float = 0.0
    """Seconds by which its wall clock gains in a second."""
    catalog_away_until: float = 0.0
    """Simulated time until which it does not reach the catalog."""
    storage_away_until: float = 0.0
    """Simulated time until which it does not reach the files."""
    bad_disk: str = ""
    """The directory whose disk is broken on this machine; empty if none is."""
    table: dict[int, SimulatedProcess] = field(default_factory=dict[int, "SimulatedProcess"])
    """The processes since its last start, by pid."""

    def ahead(self, now: float) -> float:
        """Return the seconds by which its wall clock is ahead."""
        return self.offset + self.drift * now


@dataclass(eq=False)
class SimulatedProcess:
    """A simulated process: its place in the table of processes, and its threads."""

    pid: int
    name: str
    parent: SimulatedProcess | None
    started: float
    command: tuple[str, ...]
    machine: SimulatedMachine
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values of module variables that each process has for itself."""
    threads: list[SimulatedThread] = field(default_factory=list["SimulatedThread"])
    alive: bool = True
    is_stopped: bool = False
    """True if a signal has stopped the process."""
    frozen: list[SimulatedThread] = field(default_factory=list["SimulatedThread"])
    """Threads that go on when it is no longer stopped."""
    ended: Signal = field(default_factory=lambda: Signal())  # noqa: PLW0108  it is defined below

    @property
    def ancestors(self) -> tuple[SimulatedProcess, ...]:
        """Its parent, the parent of that, and so on."""
        return () if self.parent is None else (self.parent, *self.parent.ancestors)


class Signal:
    """Something that threads wait for."""

    def __init__(self) -> None:
        self.waiting: deque[SimulatedThread] = deque()


@dataclass(eq=False)
class SimulatedThread:
    """A thread of a simulated process."""

    process: SimulatedProcess
    name: str
    greenlet: greenlet
    ticket: int = 0
    """Number of its valid entry in the queue; an entry with another number is out of date."""
    notified: bool = False
    finished: bool = False
    done: Signal = field(default_factory=Signal)
    loop: AbstractEventLoop | None = None
    """The event loop that the thread runs."""


Switch = Callable[[SimulatedProcess, SimulatedProcess | None], None]


class Scheduler:
    """Runs simulated processes.

    Args:
        choices: of the run.
        switch: called with a process before it goes on, and with the one that ran before, if that is another one.
        is_expected: returns True for an error that may end a thread.
    """

    def __init__(
        self,
        choices: Choices,
        switch: Switch = lambda _process, _before: None,
        is_expected: Callable[[Exception], bool] = lambda _: False,
    ) -> None:
        self.choices = choices
        self.now = 0.0
        """Simulated seconds since the beginning."""
        self.steps = 0
        self.here = SimulatedMachine("here")
        """The machine of processes that nobody has started on another one."""
        self.names = 0
        """Number of random names that were given."""
        self.ticks = itertools.count()
        """Nanoseconds that tell apart what happens at one moment."""
        self.current: SimulatedThread | None = None
        self.kernel = SimulatedProcess(1, "kernel", None, 0.0, ("kernel",), self.here)
        """Runs what happens without a process; nothing ends it."""
        self.processes: list[SimulatedProcess] = []
        self.any_end = Signal()
        """Notified when a process ends."""
        self.crashes: list[tuple[str, Exception]] = []
        """Names of processes, each with the error that has ended a thread of it."""
        self.unexpected: list[Exception] = []
        """The errors among them that must not come."""
        self.on_step: Callable[[str], None] = lambda _: None
        """Called at each step of a thread with the name of the step; it may raise, or kill the thread's process."""
        self.on_host: Callable[[SimulatedProcess, str, SimulatedProcess | None], None] = lambda *_: None
        """Called with a process that becomes a host, with its incarnation and the process that starts it."""
        self.on_kill: Callable[[SimulatedProcess], None] = lambda _: None
        """Called when the product kills a process."""
        self.on_end: Callable[[SimulatedProcess], None] = lambda _: None
        self.trace: deque[str] = deque(maxlen=TRACE_LINES)
        self.place = "\0"
        """The directory of all files, which has another name in each run, so that the trace leaves it out."""
        self.mark = 0
        """A checksum of all lines of the trace."""
        self.tell: Callable[[str], None] | None = None
        self._switch = switch
        self._is_expected = is_expected
        self._last: SimulatedProcess | None = None
        self._hub = greenlet.getcurrent()
        self._queue: list[tuple[float, int, SimulatedThread]] = []
        self._tickets = 0
        self._until = 0.0
        self._aside: list[greenlet] = []

    @property
    def machine(self) -> SimulatedMachine:
        """The machine of the process that runs."""
        return self.here if self.current is None else self.current.process.machine

    def spawn(
        self, name: str, target: Callable[[], object], *, parent: SimulatedProcess | None,
        command: tuple[str, ...] = (), machine: SimulatedMachine | None = None,
    ) -> SimulatedProcess:  # fmt: skip
        """Start a process, by default on the machine of the caller; it ends with its first thread."""
        machine = machine or self.machine
        pid = self._free_pid(machine)
        process = SimulatedProcess(pid, name, parent, self.now, command or (name,), machine)
        self.processes.append(process)
        machine.table[pid] = process

        def run() -> None:
            target()
            self.end(process)

        self.note(f"start {pid} {name}")
        self.start(process, run, "main")
        if parent is not None and not parent.alive:
            self.later(ORPHAN_SECONDS, partial(self.end, process))
        return process

    def _free_pid(self, machine: SimulatedMachine) -> int:
        """Return the lowest number that no process has, or had that started a moment ago."""
        for pid in itertools.count(FIRST_PID):
            before = machine.table.get(pid)
            if before is None or (not before.alive and self.now - before.started > SAME_SECONDS):
                return pid
        raise AssertionError

    def start(self, process: SimulatedProcess, target: Callable[[], object], name: str) -> SimulatedThread:
        """Start a thread of a process."""

        def run() -> None:
            try:
                target()
            except Exception as error:  # noqa: BLE001  a simulated thread ends with it, as a real one would
                self.crashes.append((process.name, error))
                if not self._is_expected(error):
                    self.unexpected.append(error)
                self.note(f"{process.pid} {process.name} {name} ends with {type(error).__name__}: {error}")
                if name == "main":
                    self.end(process)
            thread.finished = True
            self.notify(thread.done)
            self._hub.switch()

        thread = SimulatedThread(process, name, greenlet(run, parent=self._hub))
        process.threads.append(thread)
        self._enter(thread, self.now)
        return thread

    def end(self, process: SimulatedProcess, *, leave: bool = True) -> None:
        """End a process at once, and its descendants a little later.

        Args:
            process: the process.
            leave: if the caller belongs to it, never return.
        """
        if not process.alive:
            return
        process.alive = False
        self.note(f"end {process.pid} {process.name}")
        for thread in process.threads:
            thread.ticket = -1
            self._aside.append(thread.greenlet)
        self.on_end(process)
        self.notify(process.ended)
        self.notify(self.any_end)
        for child in tuple(self.processes):
            if child.parent is process and child.alive:
                self.later(ORPHAN_SECONDS, partial(self.end, child))
        if leave and self.current is not None and not self.current.process.alive:
            self.leave()

    def leave(self) -> None:
        """Never return to the caller, whose process has ended."""
        self._hub.switch()

    def lose_power(self, machine: SimulatedMachine, lost: Callable[[], object] = lambda: None) -> None:
        """End all processes of a machine at one moment, call `lost`, and start the machine again without any."""
        for process in tuple(machine.table.values()):
            self.end(process, leave=False)
        with self.outside():
            lost()
        machine.boots += 1
        machine.booted = self.now
        machine.table = {} if machine is not self.here else machine.table

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Let a block happen without any process."""
        thread, self.current = self.current, None
        try:
            yield
        finally:
            self.current = thread

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something after some simulated seconds, whatever happens to the caller."""
        thread = self.start(self.kernel, action, "kernel")
        self._enter(thread, self.now + seconds)

    def stop(self, process: SimulatedProcess, seconds: float) -> None:
        """Stop a process for some time, as SIGSTOP does, unless `resume` lets it go on before."""
        process.is_stopped = True
        self.note(f"stop {process.pid} {process.name}")
        self.later(seconds, partial(self.resume, process))

    def resume(self, process: SimulatedProcess) -> None:
        """Let a process go on, as SIGCONT does."""
        if process.is_stopped:
            self.note(f"go on {process.pid} {process.name}")
        process.is_stopped = False
        while process.frozen:
            self._enter(process.frozen.pop(), self.now)

    def note(self, line: str) -> None:
        """Add a line to the trace."""
        text = f"{self.now:10.4f} {line.replace(self.place, '')}"
        self.trace.append(text)
        self.mark = crc32(text.encode(), self.mark)
        if self.tell is not None:
            self.tell(text)

    def step(self, name: str) -> None:
        """Let a little time pass, and others go on; the place where faults come."""
        thread = self.current
        if thread is None:  # before the simulation begins, or after its end
            return
        self.steps += 1
        self.on_step(name)
        until = self.now + STEP_SECONDS[self.choices.pick("schedule", STEP_WEIGHTS)]
        text = f"{self.now:10.4f} {thread.process.pid} {thread.name} {name}"
        self.trace.append(text)
        self.mark = crc32(text.encode(), self.mark)
        if self.tell is not None:
            self.tell(text)
        self._sleep_until(thread, until)

    def sleep(self, seconds: float) -> None:
        """Let this thread go on after some simulated seconds."""
        self._sleep_until(self._running(), self.now + max(seconds, 0.0))

    def _sleep_until(self, thread: SimulatedThread, until: float) -> None:
        queue = self._queue
        if (not queue or queue[0][0] > until) and not thread.process.is_stopped and until <= self._until:
            self.now = until
            return
        self._enter(thread, until)
        self._hub.switch()

    def pause(self, seconds: float) -> None:
        """Sleep as a thread of the product does; before the simulation begins this does nothing."""
        if self.current is not None:
            self.step("sleep")
            self.sleep(seconds)

    def wait(self, signal: Signal, seconds: float | None = None) -> bool:
        """Wait until a signal is notified; return False if that took longer than some seconds."""
        thread = self._running()
        thread.notified = False
        signal.waiting.append(thread)
        if seconds is not None:
            self._enter(thread, self.now + max(seconds, 0.0))
        else:
            thread.ticket = -1
        self._hub.switch()
        if not thread.notified:
            signal.waiting.remove(thread)
        return thread.notified

    def notify(self, signal: Signal, count: int | None = None) -> None:
        """Let threads that wait for a signal go on: all, or the first ones."""
        while signal.waiting and count != 0:
            thread = signal.waiting.popleft()
            if thread.process.alive:
                thread.notified = True
                self._enter(thread, self.now)
                count = None if count is None else count - 1

    def run(self, done: Callable[[], bool], limit: float) -> bool:
        """Run all processes until something is done, or for some simulated seconds; return True if it is done.

        The seconds pass also if no process is left.
        """
        self._until = until = self.now + limit
        while self._queue and not done():
            at, ticket, thread = heapq.heappop(self._queue)
            process = thread.process
            if ticket != thread.ticket or not process.alive:
                continue
            if process.is_stopped:
                process.frozen.append(thread)
                continue
            if at > until:
                self._enter(thread, at)
                break
            self.now = max(self.now, at)
            if process is not self._last:
                self._switch(process, self._last)
                self._last = process
            self.current = thread
            if thread.loop is not None:
                _set_running_loop(thread.loop)
            thread.greenlet.switch()
            if thread.loop is not None:
                _set_running_loop(None)
            self.current = None
        if not done():
            self.now = max(self.now, until)
        return done()

    def _running(self) -> SimulatedThread:
        assert self.current is not None, "only a simulated thread can wait"
        return self.current

    def _enter(self, thread: SimulatedThread, at: float) -> None:
        self._tickets += 1
        thread.ticket = self._tickets
        heapq.heappush(self._queue, (at, self._tickets, thread))
