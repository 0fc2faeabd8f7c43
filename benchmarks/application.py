"""The product as a user runs it, with its catalog watched from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from benchmarks.peers.answer import Point, steady
from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.home import Home

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Run:
    """A run of an application from its start to its end."""

    home: Home
    whole: float
    """Seconds from the start of the command to its end."""
    points: list[Point]
    """Commits of the PE that was watched: when, and how many tuples it had read."""

    @property
    def steady(self) -> float:
        """Tuples a second after start-up."""
        return steady(self.points)

    @property
    def tuples(self) -> int:
        """Tuples that the PE has read."""
        return self.points[-1][1]


def run(spec: Path, home: Home, watched: str, *options: str) -> Run:
    """`streams run`, with the commits of the PE that holds an operator.

    Args:
        spec: the application.
        home: an empty state directory.
        watched: name of the operator.
        options: of the command.
    """
    command = [sys.executable, "-m", "streams_orchestration", "run", str(spec), *options]
    log = home.root.with_suffix(".log")
    points: list[Point] = []
    with log.open("wb") as output:
        began = time.monotonic()
        environment = os.environ | {"STREAMS_HOME": str(home.root)}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            point = last_commit(home, watched)
            if point is not None and point[1] > (points[-1][1] if points else 0):
                points.append(point)
        whole = time.monotonic() - began
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return Run(home, whole, points)


def last_commit(home: Home, watched: str) -> Point | None:
    """When the PE with an operator made its last commit, and how many tuples it has read; None before the first."""
    pe = tables.pe
    if not home.catalog.exists():
        return None
    try:
        with Catalog(home).read() as connection:
            rows = connection.execute(select(pe.c.committed_at, pe.c.rows_in, pe.c.operators)).all()
    except (SQLAlchemyError, StreamsRuntimeError):  # it is just being made
        return None
    return next(((row[0], row[1]) for row in rows if watched in row[2] and row[0] is not None), None)
