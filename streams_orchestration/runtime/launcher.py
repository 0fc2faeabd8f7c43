"""Starts hosts. A launcher for a cluster would do the same through `spark-submit`, with another kind of handle."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from streams_orchestration.runtime.errors import HostLaunchError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.java import require_java
from streams_orchestration.runtime.processes import process_started


@dataclass(frozen=True, slots=True)
class HostProcess:
    """A host that was started."""

    pid: int
    started: float
    """Unix seconds, as the system knows it."""


class HostLauncher(Protocol):
    """Starts one host, detached from the caller."""

    def launch(self, home: Home, application: str, host: int, base: Path) -> HostProcess:
        """Start the host and return at once."""
        ...


class LocalLauncher:
    """A host as a process of this machine, in a session of its own: it outlives the terminal and the Dagster run."""

    def launch(self, home: Home, application: str, host: int, base: Path) -> HostProcess:
        """Start `python -m streams_orchestration.runtime.host`.

        Raises:
            JavaError: there is no usable Java.
            HostLaunchError: the process could not be started.
        """
        require_java()
        log = home.logs(application) / f"host-{host}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = [sys.executable, "-m", "streams_orchestration.runtime.host"]
        arguments += ["--home", str(home.root), "--application", application, "--host", str(host)]
        try:
            with log.open("ab") as output:
                child = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    env=_environment(base),
                )
        except OSError as error:
            message = f"host {host} of {application} could not be started: {error}"
            raise HostLaunchError(message) from error
        started = process_started(child.pid)
        if started is None:
            message = f"host {host} of {application} ended at once (log: {log})"
            raise HostLaunchError(message)
        return HostProcess(child.pid, started)


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
