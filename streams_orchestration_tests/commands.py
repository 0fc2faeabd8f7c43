"""The `streams` command as a user runs it, with what it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.waiting import until

SPECS = Path(__file__).parents[1] / "specs"
TIMEOUT_SECONDS = 400.0
"""Seconds that a condition is waited for."""
POLL_SECONDS = 0.1
"""Between two polls; each takes processor time from the polled process."""


@contextmanager
def streams(home: Home, *arguments: str, limit: int = 65_536) -> Iterator[subprocess.Popen[str]]:
    """Yield a `streams` command that runs; it is ended afterwards, but not the hosts that it has started."""
    environment = os.environ | {
        "STREAMS_HOME": str(home.root),
        "STREAMS_SOURCE_LIMIT": str(limit),
        "PYTHONPATH": os.pathsep.join([str(SPECS.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    environment.pop("DAGSTER_HOME", None)
    command = [sys.executable, "-m", "streams_orchestration", *arguments]
    with subprocess.Popen(
        command, env=environment, cwd=home.root.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                print(process.communicate()[0])  # for the report of the test that has failed


def finish(process: subprocess.Popen[str]) -> str:
    """Return the output of the command; it must have ended well."""
    output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, output
    return output


def wait_for(
    home: Home, condition: Callable[[ApplicationStatus], bool], application: str = "flights"
) -> ApplicationStatus:
    """Return the first status that meets the condition."""

    def met() -> ApplicationStatus | None:
        status = read_status(Catalog(home), application)
        return status if condition(status) else None

    def otherwise() -> str:
        return f"the condition is not met: {read_status(Catalog(home), application)}"

    until(
        lambda: application in list_applications(Catalog(home)),
        f"{application} is not deployed",
        TIMEOUT_SECONDS,
        POLL_SECONDS,
    )
    return until(met, otherwise, TIMEOUT_SECONDS, POLL_SECONDS)


def kill_host(status: ApplicationStatus) -> None:
    pid = status.hosts[0].row.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def hosts(directory: Path) -> Iterator[psutil.Process]:
    """Yield the hosts whose state directory is below a directory, and what they have started that names it, too."""
    for process in psutil.process_iter(["cmdline"]):
        if any(f"{directory}/" in argument for argument in process.info["cmdline"] or ()):
            yield process


def end_hosts(directory: Path) -> None:
    """End the hosts whose state directory is below a directory, with all that they have started."""
    for process in hosts(directory):
        with suppress(psutil.NoSuchProcess):
            for each in (process, *process.children(recursive=True)):
                each.kill()
