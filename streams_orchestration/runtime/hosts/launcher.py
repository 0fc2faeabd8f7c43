"""Launching of hosts on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streams_orchestration.runtime.engine.spark.java import java_program, require_java
from streams_orchestration.runtime.engine.spark.session_settings import ONE_THREAD
from streams_orchestration.runtime.errors.errors import HostStartError
from streams_orchestration.runtime.processes.open_files import require_open_files
from streams_orchestration.runtime.processes.processes import ProcessIdentity, identify, place_for_others
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class HostStart:
    """The arguments of one start of a host."""

    home: Home
    application: str
    host: int
    incarnation: str
    """Id of this start. A host whose incarnation is not the one in the catalog ends by itself."""
    base: Path
    """The directory of the spec."""
    engine: EngineSettings
    """Settings of its engine. They are arguments because the engine starts before the catalog is read."""


def launch_host(start: HostStart) -> ProcessIdentity:
    """Start a host process on this machine, in a session of its own, so that it outlives the terminal; return at once.

    Its output is appended to the host's log.

    Raises:
        JavaError: there is no usable Java.
        HostLaunchError: the process could not be started or ended at once, or its limit of open files is too low.
    """
    _require_java(java_program())
    require_open_files(f"host {start.host} of {start.application}")
    log = start.home.host_log(start.application, start.host)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            child = subprocess.Popen(
                [*host_command(start)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=host_environment(start.home, start.base),
            )
    except OSError as error:
        reason = f"could not be started: {error}"
        raise HostStartError(start.host, start.application, reason) from error
    process = identify(child.pid)
    if process is None:
        raise HostStartError(start.host, start.application, "ended at once", place_for_others(log))
    return process


@cache
def _require_java(_program: Path | None) -> None:
    """Raise JavaError if this machine has no Java that Spark can use; each path of its program is checked once."""
    require_java()


def host_command(start: HostStart) -> tuple[str, ...]:
    """Return the command that runs a host."""
    return (
        *process_command(start.home, start.engine),
        *("--application", start.application, "--host", str(start.host), "--incarnation", start.incarnation),
    )


def process_command(home: Home, engine: EngineSettings) -> tuple[str, ...]:
    """Return the command that runs a standby. `host_command` appends the arguments of a host."""
    return (
        *(sys.executable, "-m", "streams_orchestration.runtime.hosts.host_process"),
        *("--home", str(home.root), "--memory", engine.memory, "--master", engine.master),
        *(("--spark-conf", engine.conf) if engine.conf else ()),
        *(("--queries",) if engine.queries else ()),
    )


def host_environment(home: Home, base: Path | None = None) -> dict[str, str]:
    """Return a host's environment.

    Modules of the user are imported from the working directory and from `base`, the directory of the spec, if it is
    given; then from the present `PYTHONPATH`.
    """
    paths = [
        str(Path.cwd()),
        *([] if base is None else [str(base)]),
        *filter(None, home.environment.get("PYTHONPATH", "").split(os.pathsep)),
    ]
    return {
        **home.environment,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        **ONE_THREAD,
    }
