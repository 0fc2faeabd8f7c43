"""The cost of a start: from `streams run` to the first commit, against bare PySpark to its first batch.

Both start a JVM with a session for the cores of this machine. Bare PySpark then reads a rate source; the product runs
an application of a Beacon and a FileSink, compiled, deployed, and shown in Dagster by the same command. They take
turns, and the quickest of each counts. The archive of Spark's classes exists, as from the second application on.

The commands that only read are measured against the imports that they cannot do without.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.application import COMMAND, environment, streams
from benchmarks.harness import Row, answer_of
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home

SPEC = """
specVersion: 1
application: start
schemas: {Number: "n bigint"}
graph:
  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: Number}], parameters: {iterations: 1000}}
  - {name: Kept, operator: FileSink, inputs: [Made], parameters: {file: kept, format: csv}}
"""
PHASES = ("command", "imports", "session", "queries", "workers", "first batch")
ROUNDS = 5
TARGET = 1.3
LOOKS = {"status": 1.0, "run": 2.0}
"""Command -> the most seconds that it may take beyond its imports."""
ARCHIVE_SECONDS = 120.0
IMPORTS = (sys.executable, "-c", "import sqlalchemy, rich")


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the first commit, its phases, and the commands that only read."""
    with TemporaryDirectory(prefix="bench-") as directory:
        spec, home = archive_classes(Path(directory))
        ours, bare = [], []
        for _ in range(2 if quick else ROUNDS):
            bare.append(bare_seconds())
            ours.append(started(spec, home))
        looks = {
            "status": (*COMMAND, "status", "start"),
            "run": (*COMMAND, "run", str(spec)),
        }
        least = wall(
            looks["status"], looks["run"], IMPORTS, environment=environment(home), repeat=2 if quick else ROUNDS
        )
    quickest, yardstick = min(ours, key=lambda phases: sum(phases.values())), min(bare)
    what = "start: `streams run` to the first commit"
    return [
        Row(f"{what} / bare PySpark to its first batch", sum(quickest.values()), "s", yardstick, TARGET),
        *(Row(f"of it {phase}", quickest[phase], "s", yardstick) for phase in PHASES if phase in quickest),
        *(
            Row(
                f"`streams {name}` of a complete application, beyond its imports / {limit:g} s",
                seconds - least[-1],
                "s",
                limit,
                1.0,
            )
            for (name, limit), seconds in zip(LOOKS.items(), least[:-1], strict=True)
        ),
    ]


def archive_classes(directory: Path) -> tuple[Path, Home]:
    """Run a first application, whose JVM writes the archive of Spark's classes if it does not exist.

    Args:
        directory: an empty directory.

    Returns:
        The spec of the application, and its state directory.
    """
    spec, home = directory / "start.yaml", Home(directory / "home")
    spec.write_text(SPEC, encoding="utf-8")
    started(spec, home)
    for host in read_status(Catalog(home), "start").hosts:
        if host.row.pid is not None and psutil.pid_exists(host.row.pid):
            psutil.wait_procs([psutil.Process(host.row.pid)], timeout=ARCHIVE_SECONDS)
    return spec, home


def started(spec: Path, home: Home) -> dict[str, float]:
    """Run the application without its former state. Return the phases of its start in seconds."""
    streams(home, "run", str(spec), "--fresh")
    (host,) = read_status(Catalog(home), "start").hosts
    assert host.row.start_up is not None
    return dict(host.row.start_up)


def bare_seconds() -> float:
    """Return the seconds from the start of a script to the end of its first batch."""
    began = time.time()
    return answer_of("benchmarks.peers.spark_start")["at"] - began


def wall(*commands: Sequence[str], environment: dict[str, str], repeat: int) -> list[float]:
    """Return the least seconds of each command; the commands take turns."""
    least = [float("inf")] * len(commands)
    for _ in range(repeat):
        for number, each in enumerate(commands):
            began = time.monotonic()
            subprocess.run(each, env=environment, check=True, capture_output=True)
            least[number] = min(least[number], time.monotonic() - began)
    return least
