"""Starts hosts, and knows them again: the place where a launcher of a cluster would fit in."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from streams_orchestration.runtime.engine.spark.java import java_program, require_java
from streams_orchestration.runtime.errors import HostLaunchError
from streams_orchestration.runtime.processes import ProcessIdentity, identify, is_alive, kill
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class HostStart:
    """A host to be started."""

    home: Home
    application: str
    host: int
    incarnation: str
    """Names this start. A host whose incarnation is not the one in the catalog ends by itself."""
    base: Path
    """Directory of the spec."""
    memory: str
    """Heap of its JVM, which it starts before it can read its settings."""


class HostLauncher(Protocol):
    """Starts hosts that outlive the caller, and can say later whether one lives.

    A host needs nothing but its arguments and the state directory: what is wanted of it and what it does goes through
    the catalog. So a launcher of a cluster submits the same command, and has its own way to look for it and to end it.
    """

    def launch(self, start: HostStart) -> ProcessIdentity:
        """Start the host and return at once.

        Raises:
            HostLaunchError: it could not be started.
        """
        ...

    def alive(self, pid: int | None, started: float | None) -> bool:
        """Does exactly this host still exist."""
        ...

    def kill(self, pid: int | None, started: float | None) -> None:
        """End exactly this host and all that it started, at once; nothing when it is gone."""
        ...


class LocalLauncher:
    """A host as a process of this machine, in a session of its own: it outlives the terminal and the Dagster run."""

    def __init__(self) -> None:
        self._java: Path | None = None  # was tried, and works

    def launch(self, start: HostStart) -> ProcessIdentity:
        """Start `python -m streams_orchestration.runtime.hosts.host_process`.

        Raises:
            JavaError: there is no usable Java.
            HostLaunchError: the process could not be started.
        """
        self._require_java()
        log = start.home.logs(start.application) / f"host-{start.host}.log"
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as output:
                child = subprocess.Popen(
                    [*host_command(start)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    env=_environment(start.base),
                )
        except OSError as error:
            message = f"host {start.host} of {start.application} could not be started: {error}"
            raise HostLaunchError(message) from error
        process = identify(child.pid)
        if process is None:
            message = f"host {start.host} of {start.application} ended at once (log: {log})"
            raise HostLaunchError(message)
        return process

    def _require_java(self) -> None:
        if self._java is None or self._java != java_program():
            self._java = require_java()

    def alive(self, pid: int | None, started: float | None) -> bool:
        """The process with this pid and this start time exists."""
        return is_alive(pid, started)

    def kill(self, pid: int | None, started: float | None) -> None:
        """Kill it with its JVM and workers."""
        kill(pid, started)


LAUNCHER: HostLauncher = LocalLauncher()
"""Of this installation."""


def host_command(start: HostStart) -> tuple[str, ...]:
    """What a launcher runs."""
    return (
        *(sys.executable, "-m", "streams_orchestration.runtime.hosts.host_process"),
        *("--home", str(start.home.root), "--application", start.application),
        *("--host", str(start.host), "--incarnation", start.incarnation, "--memory", start.memory),
    )


def _environment(base: Path) -> dict[str, str]:
    """The host's environment: operators of the user are found beside the spec and in the working directory."""
    paths = [str(Path.cwd()), str(base), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        # tasks are the unit of parallelism; libraries that thread on their own would oversubscribe the cores
        "POLARS_MAX_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "ARROW_NUM_THREADS": "1",
    }
