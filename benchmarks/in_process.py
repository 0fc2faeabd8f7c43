"""A host in this process: its queries run in a session that others measure in, too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from pyspark.sql import SparkSession
from sqlalchemy import update

from benchmarks.application import POLL_SECONDS, last_commits
from benchmarks.peers.answer import Point
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import claims, control
from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark.frames.query import FrameQuery
from streams_orchestration.runtime.engine.spark.query import SparkQuery
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.processes.processes import ProcessIdentity, identify
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.locked import deploy

TIMEOUT_SECONDS = 600.0


class ThisProcess:
    """A launcher that starts nothing: the host is a thread here, so that its queries can be inspected."""

    incarnation = ""

    def launch(self, start: HostStart) -> ProcessIdentity:
        process = identify(os.getpid())
        assert process is not None
        self.incarnation = start.incarnation
        return process


class ThisSession:
    """The engine of a host: a session that is up already."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.frames: list[FrameQuery] = []
        """Queries of Spark's that were started; each has a session of its own."""

    def wait(self) -> str:
        return f"Spark {self._spark.version}"

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def process_name(self) -> str:
        return "benchmark"

    def ping(self) -> object:
        return None

    def ended(self, patience: float = 0.0) -> str | None:
        return None

    def watch(self, wake: Callable[[], None]) -> None:
        """Do nothing, since nobody waits for the end of the session."""

    def query(self, start: QueryStart) -> SparkQuery:
        if start.program.engine != "dataframe":
            return SparkQuery(self._spark, start)
        self.frames.append(FrameQuery(self._spark, start))
        return self.frames[-1]

    def stop(self) -> None:
        pass

    def tidy(self, wanted: Callable[[], bool]) -> None:
        pass


class HostThread(threading.Thread):
    """A host that runs."""

    def __init__(self, host: Host, engine: ThisSession) -> None:
        super().__init__(target=host.run)
        self.engine = engine


@contextmanager
def hosted(spark: SparkSession, home: Home, compilation: PlannedCompilation) -> Iterator[HostThread]:
    """Deploy an application and start its only host, which ends with the application, or with this context."""
    name = compilation.logical.application
    deploy(home, deployable(compilation), fresh=True, asks_spark=False)
    launcher = ThisProcess()
    with patch.object(claims, "launch_host", launcher.launch):
        control.launch_hosts(Catalog(home), name)
    engine = ThisSession(spark)
    thread = HostThread(Host(home, name, 0, launcher.incarnation, engine), engine)
    thread.start()
    try:
        yield thread
    finally:
        a = tables.application
        with Catalog(home).write() as connection:
            connection.execute(update(a).where(a.c.name == name).values(wanted="STOPPED", state="STOPPED"))
        thread.join()


def commits(spark: SparkSession, home: Home, compilation: PlannedCompilation, operator: str) -> list[Point]:
    """Run an application to its end: the commits of the PE with an operator, and how many tuples it had read."""
    points: list[Point] = []
    until = time.monotonic() + TIMEOUT_SECONDS
    with hosted(spark, home, compilation) as thread:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            point = last_commits(home, [operator]).get(operator)
            if point is not None and point[1] > (points[-1][1] if points else 0):
                points.append(point)
            if time.monotonic() > until:
                message = f"{compilation.logical.application} has not come to its end"
                raise AssertionError(message)
    return points
