"""The product as a user runs it, with its catalog watched from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from benchmarks.peers.answer import Point, steady
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home

COMMAND = (sys.executable, "-m", "streams_orchestration")
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Run:
    """A run of an application from its start to its end."""

    home: Home
    whole: float
    """Seconds from the start of the command to its end."""
    points: dict[str, list[Point]]
    """Commits of the PEs that were watched: when, and how many tuples they had read."""

    def steady(self, operator: str) -> float:
        """Return the tuples a second of one PE after start-up."""
        return steady(self.points[operator])

    def through(self, first: str, last: str) -> float:
        """Return the tuples a second from the first commit of one PE to the last commit of the other."""
        (began, before), (ended, tuples) = self.points[first][0], self.points[last][-1]
        return (tuples - before) / (ended - began)


def run(spec: Path, home: Home, watched: Sequence[str], *options: str) -> Run:
    """Run `streams run`, and note the commits of the PEs that hold some operators.

    Args:
        spec: the application.
        home: an empty state directory.
        watched: names of the operators.
        options: of the command.
    """
    command = [*COMMAND, "run", str(spec), *options]
    log = home.root.with_suffix(".log")
    points: dict[str, list[Point]] = {operator: [] for operator in watched}
    with log.open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(command, env=environment(home), stdout=output, stderr=output)
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            for operator, point in last_commits(home, watched).items():
                if point[1] > (points[operator][-1][1] if points[operator] else 0):
                    points[operator].append(point)
        whole = time.monotonic() - began
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return Run(home, whole, points)


def environment(home: Home) -> dict[str, str]:
    """Return the environment of a command with a state directory of its own."""
    given = {**os.environ, "STREAMS_HOME": str(home.root)}
    given.pop("DAGSTER_HOME", None)
    return given


def streams(home: Home, *arguments: str) -> str:
    """Return the output of a command of the product. Exits if it fails."""
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def last_commits(home: Home, watched: Sequence[str]) -> dict[str, Point]:
    """Return the time of each operator's last commit and the tuples that its PE has read; none before its first."""
    pe = tables.pe
    try:
        if not Catalog(home).exists:
            return {}
        with Catalog(home).read() as connection:
            rows = connection.execute(select(pe.c.committed_at, pe.c.rows_in, pe.c.operators)).all()
    except (SQLAlchemyError, StreamsRuntimeError):  # the catalog is just being made
        return {}
    return {
        operator: (at, tuples)
        for operator in watched
        for at, tuples, operators in rows
        if operator in operators and at is not None
    }
