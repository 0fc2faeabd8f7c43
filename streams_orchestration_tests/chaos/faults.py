"""Faults: each does something to an application from outside, says what, and leaves nothing of its own behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.limits import HEARTBEAT_LIMIT
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.counterparts import Counterpart
from streams_orchestration_tests.chaos.healers import without_hosts
from streams_orchestration_tests.chaos.interrupted import PLACES
from streams_orchestration_tests.chaos.plans import Plans
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.servers.faulty_s3 import FaultyS3

EVERYTHING = "everything"
STORAGE = "an object store"
"""Holds the files that the catalog names."""
COUNTERPART = "a counterpart"
"""A server that the application reads from or writes to."""
SCHEMA = "chaos"
"""The schema of the catalog in PostgreSQL."""
NEEDS: dict[str, str] = {
    "fill disk": "a small disk",
    "end sessions of PostgreSQL": "PostgreSQL",
    "crash PostgreSQL": "PostgreSQL",
    "crash counterpart": COUNTERPART,
    "cut connections": COUNTERPART,
    "crash counterpart in a redeploy": COUNTERPART,
    "fill disk in a redeploy": "a small disk",
    "end sessions in a redeploy": "PostgreSQL",
    "crash PostgreSQL in a redeploy": "PostgreSQL",
    "kill healer": "a healer that is a process",
    **dict.fromkeys(
        ("refuse puts", "refuse puts for long", "hide puts", "hide puts for long", "slow gets", "stop storage"),
        STORAGE,
    ),
}
"""A map from each fault to its precondition."""
ENGINE = "streams_orchestration_tests.chaos.local_engine"
"""In the place of a JVM where there is no Spark."""
STARTERS = ("create_data_source", "plan_data_source_read")
"""Python processes that Spark needs when a query starts only."""
CATALOG_PATIENCE = 20.0
"""Seconds that the product waits for a locked catalog."""


@dataclass(frozen=True)
class Happened:
    """The effect of a fault."""

    what: str
    units: tuple[str, ...]
    """The units that may be reset because of the fault."""


@dataclass
class Scene:
    """The surroundings of faults: an application, its home and its servers."""

    home: Home
    application: str
    choose: random.Random
    small_disk: Path | None
    """The mount point of the home, when that has a disk of its own."""
    server: Server | None
    """PostgreSQL, when the catalog lies there."""
    counterpart: Counterpart | None
    """The server that the application reads from or writes to, if there is one."""
    healer: Callable[[], psutil.Process | None]
    """A function that returns the process that resets failed units, if it is a process."""
    plans: Plans
    """The plans that redeploys deploy."""
    place: Path
    """For files of faults."""
    calm: Callable[[], bool]
    """Returns True if all faults so far are healed."""
    storage: FaultyS3 | None = None
    """The storage of the files that the catalog names."""
    count: int = 0
    """Redeploys that were begun."""
    wrong: list[str] = field(default_factory=list)
    """The violations found so far."""

    def host(self) -> tuple[psutil.Process, tuple[str, ...]]:
        """Return a host that lives, and the units that have a PE there; raises LookupError when there is none."""
        status = read_status(Catalog(self.home), self.application)
        alive = [host for host in status.hosts if host.alive and host.row.pid is not None]
        if not alive:
            raise LookupError
        host = self.choose.choice(alive)
        units = {unit.name for unit in status.units for pe in status.pes if pe.id in unit.pes and pe.host == host.id}
        return psutil.Process(host.row.pid), tuple(sorted(units))

    def unit(self) -> str:
        """Return one that is not complete."""
        units = [
            unit.name for unit in read_status(Catalog(self.home), self.application).units if unit.state != "COMPLETED"
        ]
        if not units:
            raise LookupError
        return self.choose.choice(units)

    def jvm(self) -> tuple[psutil.Process, tuple[str, ...]]:
        """Return the JVM of a host."""
        host, units = self.host()
        jvms = [child for child in host.children() if child.name() == "java" or ENGINE in command_of(child)]
        if not jvms:
            raise LookupError
        return jvms[0], units

    def python(self) -> tuple[psutil.Process, tuple[str, ...]]:
        """Return a Python process of a host: a planner, a worker, their parent, or seldom the fork server."""
        jvm, units = self.jvm()
        host = jvm.parent()
        children = [child for child in host.children(recursive=True) if child.pid != jvm.pid] if host else []
        idle = [child for child in children if any(kind in " ".join(command_of(child)) for kind in STARTERS)]
        candidates = children if self.choose.random() < 0.1 else [child for child in children if child not in idle]
        if not candidates:
            raise LookupError
        return self.choose.choice(candidates), units


Fault = Callable[[Scene], Happened]


def command_of(process: psutil.Process) -> list[str]:
    """Return its command line; none of a process that has ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def kill_host(scene: Scene) -> Happened:
    host, units = scene.host()
    host.kill()
    return Happened(f"host {host.pid}", units)


def kill_jvm(scene: Scene) -> Happened:
    jvm, units = scene.jvm()
    jvm.kill()
    return Happened(f"JVM {jvm.pid}", units)


def kill_python(scene: Scene) -> Happened:
    process, units = scene.python()
    process.kill()
    return Happened(f"Python process {process.pid}", units)


def pause_host(scene: Scene) -> Happened:
    host, units = scene.host()
    return _pause(host, "host", scene.choose.uniform(1, 6), units)


def pause_host_for_dead(scene: Scene) -> Happened:
    host, units = scene.host()
    return _pause(host, "host", HEARTBEAT_LIMIT + scene.choose.uniform(3, 12), units)


def pause_jvm(scene: Scene) -> Happened:
    jvm, units = scene.jvm()
    return _pause(jvm, "JVM", scene.choose.uniform(1, 8), units)


def pause_python(scene: Scene) -> Happened:
    process, units = scene.python()
    return _pause(process, "Python process", scene.choose.uniform(1, 6), units)


def pause_python_across_a_reset(scene: Scene) -> Happened:
    """Make a zombie: its commit comes after the reset."""
    process, units = scene.python()
    unit = scene.choose.choice(units)
    process.suspend()
    try:
        request_reset(scene, unit)
        time.sleep(scene.choose.uniform(0.2, 3))
    finally:
        resume(process)
    return Happened(f"Python process {process.pid}, {unit}", units)


def pause_host_across_a_reset(scene: Scene) -> Happened:
    host, units = scene.host()
    unit = scene.choose.choice(units)
    host.suspend()
    try:
        request_reset(scene, unit)
        time.sleep(scene.choose.uniform(0.2, 3))
    finally:
        resume(host)
    return Happened(f"host {host.pid}, {unit}", units)


def reset_by_hand(scene: Scene) -> Happened:
    unit = scene.unit()
    request_reset(scene, unit)
    return Happened(unit, (unit,))


def two_resets_at_once(scene: Scene) -> Happened:
    unit = scene.unit()
    both = [_interrupted(scene, unit, "nowhere") for _ in range(2)]
    for each in both:
        each.wait()
    return Happened(unit, (unit,))


def kill_reset(scene: Scene) -> Happened:
    unit, place = scene.unit(), scene.choose.choice(PLACES[1:])
    _interrupted(scene, unit, place).wait()
    return Happened(f"{unit}, {place}", (unit,))


def kill_host_and_reset(scene: Scene) -> Happened:
    """Kill the host, and the reset that was to start it."""
    host, units = scene.host()
    host.kill()
    with contextlib.suppress(psutil.Error):
        host.wait(10)
    unit, place = scene.choose.choice(units), scene.choose.choice(PLACES[1:])
    _interrupted(scene, unit, place).wait()
    return Happened(f"host {host.pid}, reset of {unit} {place}", units)


def lock_catalog(scene: Scene) -> Happened:
    return _lock(scene, scene.choose.uniform(1, 8))


def lock_catalog_for_long(scene: Scene) -> Happened:
    return _lock(scene, CATALOG_PATIENCE + scene.choose.uniform(2, 6))


def end_sessions(scene: Scene) -> Happened:
    """End the sessions of the product with PostgreSQL."""
    assert scene.server is not None
    return Happened(f"{scene.server.end_sessions()} of them", (EVERYTHING,))


def crash_server(scene: Scene) -> Happened:
    """PostgreSQL ends at once and comes back."""
    assert scene.server is not None
    seconds = scene.choose.uniform(0, 8)
    scene.server.stop(signal.SIGQUIT)
    time.sleep(seconds)
    scene.server.start()
    return Happened(f"for {seconds:.1f} s", (EVERYTHING,))


def fill_disk(scene: Scene) -> Happened:
    """Let nothing be written for some seconds."""
    assert scene.small_disk is not None
    seconds = scene.choose.uniform(1, 8)
    ballast = scene.small_disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)
        time.sleep(seconds)
    finally:
        ballast.unlink(missing_ok=True)
    return Happened(f"for {seconds:.1f} s", (EVERYTHING,))


def crash_counterpart(scene: Scene) -> Happened:
    """Crash the server that the application reads from or writes to; it comes back."""
    assert scene.counterpart is not None
    return Happened(scene.counterpart.crash(scene.choose), (EVERYTHING,))


def cut_connections(scene: Scene) -> Happened:
    """To it: all, after some bytes, and then no new ones for a while."""
    assert scene.counterpart is not None
    return Happened(scene.counterpart.cut(scene.choose), (EVERYTHING,))


def kill_healer(scene: Scene) -> Happened:
    """Kill the process that resets failed units."""
    process = scene.healer()
    if process is None:
        raise LookupError
    for each in [*without_hosts(process), process]:
        with contextlib.suppress(psutil.Error):
            each.kill()
    return Happened(f"process {process.pid}", ())


FAULTS: dict[str, tuple[int, Fault]] = {
    "kill host": (4, kill_host),
    "kill JVM": (3, kill_jvm),
    "kill Python process": (5, kill_python),
    "pause Python process": (2, pause_python),
    "pause Python process across a reset": (4, pause_python_across_a_reset),
    "pause host": (2, pause_host),
    "pause host across a reset": (2, pause_host_across_a_reset),
    "pause host until it counts as dead": (1, pause_host_for_dead),
    "pause JVM": (2, pause_jvm),
    "reset by hand": (2, reset_by_hand),
    "two resets at once": (2, two_resets_at_once),
    "kill reset": (2, kill_reset),
    "kill host and reset": (2, kill_host_and_reset),
    "lock catalog": (2, lock_catalog),
    "lock catalog for long": (1, lock_catalog_for_long),
    "fill disk": (2, fill_disk),
    "end sessions of PostgreSQL": (4, end_sessions),
    "crash PostgreSQL": (3, crash_server),
    "crash counterpart": (5, crash_counterpart),
    "cut connections": (6, cut_connections),
    "kill healer": (1, kill_healer),
}
"""Name -> how often it comes, and what it does."""


def _pause(process: psutil.Process, kind: str, seconds: float, units: tuple[str, ...]) -> Happened:
    process.suspend()
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until and process.is_running():
            time.sleep(0.1)
    finally:
        resume(process)
    return Happened(f"{kind} {process.pid} for {seconds:.1f} s", units)


def resume(process: psutil.Process) -> None:
    """Let a process go on, if it is still there."""
    with contextlib.suppress(ProcessLookupError):  # somebody may have killed it meanwhile
        os.kill(process.pid, signal.SIGCONT)


def request_reset(scene: Scene, unit: str) -> None:
    """Begin a reset of a unit, whatever comes of it."""
    with contextlib.suppress(StreamsRuntimeError):
        reset_unit(Catalog(scene.home), scene.application, unit, force=True)


def _interrupted(scene: Scene, unit: str, place: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streams_orchestration_tests.chaos.interrupted"]
    return subprocess.Popen([*command, str(scene.home.root), scene.application, unit, place], stderr=subprocess.DEVNULL)


def _lock(scene: Scene, seconds: float) -> Happened:
    with _held_in(scene.server) if scene.server else _held(scene.home.catalog):
        time.sleep(seconds)
    return Happened(f"for {seconds:.1f} s", (EVERYTHING,))


@contextlib.contextmanager
def _held_in(server: Server) -> Iterator[None]:
    """Hold the catalog in PostgreSQL."""
    with server.connect() as connection, connection.transaction():
        connection.execute(f"LOCK TABLE {SCHEMA}.catalog_version IN EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def _held(catalog: Path) -> Iterator[None]:
    """Yield the catalog with a writer that does not end."""
    connection = sqlite3.connect(catalog, timeout=60, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()
