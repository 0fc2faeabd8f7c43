"""Recovery from `kill -9` to the first new commit: of a host, healed by Dagster, and of a planner whose host lives on.

The catalog keeps the moments of an outage: some process has seen it, some process has taken up the reset, all hosts are
up and the unit is at its cut, every PE runs, the first batch is committed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import dagster as dg
import psutil

from benchmarks import graphs
from benchmarks.application import COMMAND, environment
from benchmarks.harness import Row
from streams_orchestration.orchestration.instance import LOCATION, dagster_home, dagster_instance
from streams_orchestration.orchestration.ui import script
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.unit_status import PHASES

NAME = "recovery"
ROUNDS = 5
TIMEOUT_SECONDS = 120.0
POLL_SECONDS = 0.1
WHOLE, ALIVE = 15.0, 5.0
"""The aims in seconds: for a killed host, and for the time after the decision while the host lives."""


class Times(NamedTuple):
    """The seconds of each phase of a recovery."""

    detect: float
    """From the kill until some process has seen it."""
    decide: float
    """Until the reset is taken up, and missing hosts are started."""
    hosts: float
    """Until all hosts are up, and the unit is at its cut."""
    restart: float
    """Until every PE runs."""
    first: float
    """Until the first commit."""

    @property
    def whole(self) -> float:
        return sum(self)

    @property
    def after_decision(self) -> float:
        return self.hosts + self.restart + self.first


PARTS = Times._fields


def words(times: Times) -> str:
    """Return a line of text with the seconds of each phase."""
    return ", ".join(f"{part} {seconds:.1f}" for part, seconds in times._asdict().items())


def spec(directory: Path) -> Path:
    """Write the spec of an endless source, an operator with a state, and a sink: two PEs, an epoch every second."""
    source = graphs.beacon("Made")
    source["parameters"]["period"] = 1 / 2_000
    source["annotations"]["consistent"] |= {"period": 1.0, "maxConsecutiveResetAttempts": 100}
    apart = {"placement": {"partitionIsolation": True}}
    graph = [source, graphs.node("Counted", "Totals", "Made"), graphs.sink("Result", "Counted") | {"config": apart}]
    return graphs.write(directory, NAME, graph)


@contextmanager
def running(directory: Path) -> Iterator[Home]:
    """Deploy the application under Dagster's daemon, yield its state directory, and cancel it."""
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
    given = environment(home) | {"STREAMS_SPECS": str(specs), "DAGSTER_HOME": str(dagster_home(home))}
    with (directory / "daemon.log").open("wb") as output:
        subprocess.run([*COMMAND, "deploy", str(path)], env=given, check=True, stdout=output, stderr=output)
        daemon = subprocess.Popen(
            [script("dagster-daemon"), "run", "--workspace", str(workspace)],
            env=given, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        yield home
    finally:
        subprocess.run([*COMMAND, "cancel", NAME], env=given, check=True, capture_output=True)
        for process in [*psutil.Process(daemon.pid).children(recursive=True), daemon]:
            process.kill()
        daemon.wait()


def recovered(home: Home, victims: list[psutil.Process]) -> Times:
    """Kill processes and see how the application comes back; then let an epoch complete."""
    before = read_status(Catalog(home), NAME).units[0]
    killed = time.time()
    for victim in victims:
        victim.kill()

    def back(status: ApplicationStatus) -> bool:
        unit = status.units[0]
        return unit.generation > before.generation and {"done", "committed"} <= set(unit.row.outage or {})

    after = _until(home, back).units[0]
    moments = after.row.outage or {}
    at = [killed, *(moments[name] for name in PHASES[1:])]
    at = list(itertools.accumulate(at, max))  # a batch may be committed before the last PE runs
    _until(home, lambda status: status.units[0].completed_epoch > after.completed_epoch)
    return Times(*(later - earlier for earlier, later in itertools.pairwise(at)))


def _until(home: Home, condition: Callable[[ApplicationStatus], bool]) -> ApplicationStatus:
    until = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < until:
        status = read_status(Catalog(home), NAME)
        if condition(status):
            return status
        time.sleep(POLL_SECONDS)
    message = f"it does not come back: {read_status(Catalog(home), NAME)}"
    raise AssertionError(message)


def settle(home: Home) -> None:
    """Wait until the application runs and the daemon is up: its sensor has recorded the deployment once more."""
    _until(home, lambda status: status.units[0].completed_epoch > 2)
    until = time.monotonic() + TIMEOUT_SECONDS
    deployment = dg.AssetKey([NAME, "deployment"])
    with dagster_instance(home) as instance:
        while time.monotonic() < until:
            if len(instance.fetch_observations(deployment, limit=2).records) == 2:
                return
            time.sleep(POLL_SECONDS)
    message = "Dagster's daemon does not ask the sensor"
    raise AssertionError(message)


def host(home: Home) -> list[psutil.Process]:
    """Return the process of the host."""
    (status,) = read_status(Catalog(home), NAME).hosts
    return [psutil.Process(status.row.pid)]


def planner(home: Home) -> list[psutil.Process]:
    """Return the process that plans the batches of one PE. It is forked like the others, and has no children."""
    (process,) = host(home)
    forked = [child for server in process.children() if server.name() != "java" for child in server.children()]
    return [next(child for child in forked if not child.children())]


def rows(*, quick: bool = False) -> list[Row]:
    """Return the medians of the recoveries of a host and of a planner."""
    recoveries: dict[str, list[Times]] = {"host": [], "planner": []}
    with TemporaryDirectory(prefix="bench-") as directory, running(Path(directory)) as home:
        settle(home)
        for _ in range(2 if quick else ROUNDS):
            for name, victim in (("host", host), ("planner", planner)):
                times = recovered(home, victim(home))
                recoveries[name].append(times)
                print(f"  {name}: {words(times)}", file=sys.stderr)
    made = []
    for name, times in recoveries.items():
        made.append(
            Row(f"kill -9 of {name} to the first commit / 15 s", median(t.whole for t in times), "s", WHOLE, 1.0)
        )
        made += [Row(f"  {part}", median(getattr(t, part) for t in times), "s", WHOLE) for part in PARTS]
    alive = median(times.after_decision for times in recoveries["planner"])
    return [*made, Row("from the decision to the first commit, host alive / 5 s", alive, "s", ALIVE, 1.0)]
