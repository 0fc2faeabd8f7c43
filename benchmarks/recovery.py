"""From `kill -9` to the first new commit: of a host, healed by Dagster's daemon, and of a worker whose host lives on.

Detecting ends when the sensor's run exists, deciding when the reset's transaction has begun, rolling back with the
generation that it writes, restarting with the first commit of that generation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import dagster as dg
import psutil

from benchmarks import graphs
from benchmarks.harness import Row
from streams_orchestration.orchestration.instance import LOCATION, dagster_home, dagster_instance
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.inspection import read_status
from streams_orchestration.runtime.status import ApplicationStatus

NAME = "recovery"
ROUNDS = 5
LIMIT = 120.0
LOOK_SECONDS = 0.02
WHOLE, ALIVE = 15.0, 5.0
"""Seconds: the aims."""


class Times(NamedTuple):
    """Seconds."""

    detect: float
    """From the kill to the run that the sensor asked for."""
    decide: float
    """To the generation that the reset has written, with the start of the run."""
    restart: float
    """To the first commit in that generation."""

    @property
    def whole(self) -> float:
        return sum(self)


def spec(directory: Path) -> Path:
    """A source that does not end, an operator with a state, and a sink: two PEs, an epoch every second."""
    source = graphs.beacon("Made")
    source["parameters"]["period"] = 1 / 2_000
    source["annotations"]["consistent"] |= {"period": 1.0, "maxConsecutiveResetAttempts": 100}
    apart = {"placement": {"partitionIsolation": True}}
    graph = [source, graphs.node("Counted", "Totals", "Made"), graphs.sink("Result", "Counted") | {"config": apart}]
    return graphs.write(directory, NAME, graph)


@contextmanager
def running(directory: Path) -> Iterator[Home]:
    """The application, and the daemon that watches it."""
    home = Home(directory / "home").prepare()
    specs = directory / "specs"
    specs.mkdir()
    path = spec(specs)
    with dagster_instance(home):
        pass
    workspace = dagster_home(home) / "workspace.yaml"
    module = "streams_orchestration.orchestration.definitions"
    workspace.write_text(
        f"load_from:\n  - python_module:\n      module_name: {module}\n      location_name: {LOCATION}\n"
    )
    environment = os.environ | {
        "STREAMS_HOME": str(home.root),
        "STREAMS_SPECS": str(specs),
        "DAGSTER_HOME": str(dagster_home(home)),
    }
    streams = (sys.executable, "-m", "streams_orchestration")
    with (directory / "daemon.log").open("wb") as output:
        subprocess.run([*streams, "deploy", str(path)], env=environment, check=True, stdout=output, stderr=output)
        daemon = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "--workspace", str(workspace)],
            env=environment, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        yield home
    finally:
        for process in [*psutil.Process(daemon.pid).children(recursive=True), daemon]:
            if isinstance(process, subprocess.Popen) or "host_process" not in " ".join(process.cmdline()):
                process.kill()
        daemon.wait()
        subprocess.run([*streams, "cancel", NAME], env=environment, check=True, capture_output=True)


def recovered(home: Home, victim: psutil.Process) -> Times:
    """Kill a process and see how the application comes back."""
    before = read_status(home, NAME)
    killed = time.time()
    victim.kill()
    after = _until(home, lambda status: status.units[0].generation > before.units[0].generation)
    written = time.time()
    goes_on = _until(home, lambda status: any((pe.committed_at or 0.0) > written for pe in status.pes))
    first = min(at for pe in goes_on.pes if (at := pe.committed_at or 0.0) > written)
    with dagster_instance(home) as instance:
        filters = dg.RunsFilter(tags={"streams/region": f"{NAME}/{after.units[0].name}"})
        asked = [record.create_timestamp.timestamp() for record in instance.get_run_records(filters, limit=1)]
    detected = min(max(asked[0], killed), written)
    _until(home, lambda status: status.units[0].completed_epoch > goes_on.units[0].completed_epoch)
    return Times(detected - killed, written - detected, first - written)


def _until(home: Home, condition: object) -> ApplicationStatus:
    assert callable(condition)
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        status = read_status(home, NAME)
        if condition(status):
            return status
        time.sleep(LOOK_SECONDS)
    message = f"it does not come back: {read_status(home, NAME)}"
    raise AssertionError(message)


def host(home: Home) -> psutil.Process:
    """The host."""
    (found,) = read_status(home, NAME).hosts
    return psutil.Process(found.pid)


def worker(home: Home) -> psutil.Process:
    """A worker: of the Python processes below the JVM the one that has worked most."""
    jvm = next(child for child in host(home).children(recursive=True) if child.name() == "java")
    return max(jvm.children(recursive=True), key=lambda process: process.cpu_times().user)


def rows(*, quick: bool = False) -> list[Row]:
    """Medians."""
    found: dict[str, list[Times]] = {"host": [], "worker": []}
    with TemporaryDirectory(prefix="bench-") as directory, running(Path(directory)) as home:
        _until(home, lambda status: status.units[0].completed_epoch > 2)
        for _ in range(2 if quick else ROUNDS):
            for name, victim in (("host", host), ("worker", worker)):
                times = recovered(home, victim(home))
                found[name].append(times)
                print(f"  {name}: {', '.join(f'{k} {v:.1f}' for k, v in times._asdict().items())}", file=sys.stderr)
    made = []
    for name, times in found.items():
        made.append(
            Row(f"kill -9 of a {name} to the first commit / 15 s", median(t.whole for t in times), "s", WHOLE, 1.0)
        )
        made += [
            Row(f"  {part}", median(getattr(t, part) for t in times), "s", WHOLE) for part in Times._fields
        ]  # fmt: skip
    alive = median(times.restart for times in found["worker"])
    return [*made, Row("from the decision to the first commit, host alive / 5 s", alive, "s", ALIVE, 1.0)]
