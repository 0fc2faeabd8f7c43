"""The engine of production: a Spark session with a JVM of its own, in which every PE is a query."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams_orchestration.runtime.engine.port import EngineStart, QueryStart
from streams_orchestration.runtime.engine.spark.class_archive import ClassArchive
from streams_orchestration.runtime.engine.spark.cluster import PYTHON, cluster_settings, ship
from streams_orchestration.runtime.engine.spark.fork_server import expect_fork_server, start_fork_server
from streams_orchestration.runtime.engine.spark.java import java_program
from streams_orchestration.runtime.engine.spark.jvm import Jvm, start_jvm
from streams_orchestration.runtime.engine.spark.owners import DIRECTORY, forget_workers, take_silent
from streams_orchestration.runtime.engine.spark.private_directory import PrivateDirectory
from streams_orchestration.runtime.engine.spark.session_settings import AUTHENTICATE, JAVA_OPTIONS, session_settings
from streams_orchestration.runtime.engine.spark.spark_home import make_lean_home, spark_home
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.processes.processes import kill, process_started
from streams_orchestration.runtime.settings.settings import LOCAL, EngineSettings
from streams_orchestration.runtime.storage.in_use import use

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streams_orchestration.runtime.engine.spark.query import SparkQuery

ARCHIVE_SECONDS = 600.0
"""Seconds after which a JVM that still writes its archive is killed; writing takes minutes on a busy machine."""
WANTED_SECONDS = 0.25
SWITCH_SECONDS = 0.0005
"""The interval in which Python switches threads while a session is made, whose many short calls to the JVM wait for it.
"""

log = logging.getLogger("streams.spark")


class SparkEngine:
    """A Spark session, which starts on a thread with its JVM and its workers.

    Its creation starts the JVM, and removes directories of the host's earlier starts. It raises JavaError without a
    Java, SettingError if a file of Spark's properties cannot be used, StreamsRuntimeError if a host on a cluster cannot
    run programs from its directory, and OSError if Spark cannot be run or a directory cannot be written.
    """

    def __init__(self, start: EngineStart) -> None:
        scratch = start.home.data(start.application) / "spark"
        own = scratch / f"python-{start.host}-{start.incarnation}"
        self._private = PrivateDirectory.make()
        self._forking = expect_fork_server(own)
        self._mark = use(own)
        self._workers = own / "workers"
        self._forks: subprocess.Popen[bytes] | None = None
        # without that server the JVM's Python processes would work where the JVM does
        self._directory = own if self._forking is not None else None
        name, engine = f"{start.application}-{start.host}", start.settings
        settings = session_settings(name, own / "spark", memory=engine.memory, queries=engine.queries)
        self._master, self._elsewhere = start.settings.master, start.settings.cluster
        if start.settings.cluster:
            settings = self._for_cluster(settings, start.settings, own)
        else:
            settings |= start.settings.properties() | {AUTHENTICATE: "true"}
        home = spark_home() if engine.queries or engine.cluster else make_lean_home()
        self._archive = ClassArchive.find(java_program(), settings[JAVA_OPTIONS], home)
        settings[JAVA_OPTIONS] += f" {self._archive.options}"
        self._over = threading.Event()
        self._session: SparkSession | None = None
        self._error: Exception | None = None
        self._given_up = False
        """True if the cluster has ended the session's application."""
        environment = {DIRECTORY: str(self._workers)}
        private = self._private.path
        self._jvm = start_jvm(settings, home, private, self._directory, start.settings, environment, start.output)
        threading.Thread(target=self._begin, args=(settings, self._jvm), daemon=True).start()

    def _for_cluster(self, local: dict[str, str], engine: EngineSettings, own: Path) -> dict[str, str]:
        if self._forking is None:
            message = f"programs cannot be run from {own}, as a host on a cluster requires; mount its disk with `exec`"
            raise StreamsRuntimeError(message)
        shipped = ship(own / "shipped", engine.properties().get("spark.pyspark.python"))
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = PYTHON
        return cluster_settings(local, engine, shipped, own / "workers")

    def _begin(self, settings: Mapping[str, str], jvm: Jvm) -> None:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            from streams_orchestration.runtime.engine.spark.session import register_source, start_session

            gateway = jvm.await_gateway()
            # not before: its imports would slow the start of the JVM, and nothing needs the server so soon
            if self._forking is not None and self._directory is not None:
                self._forks = start_fork_server(self._forking, [self._directory, self._private.path])
            session = start_session(settings, gateway)
            threading.Thread(target=self._warm_up, args=(session,), daemon=True).start()
            register_source(session)
            self._session = session
        except Exception as error:  # noqa: BLE001  raised by `wait`
            self._error = no_session(self._master, error)
        sys.setswitchinterval(usual)
        self._over.set()

    def _warm_up(self, session: SparkSession) -> None:
        from streams_orchestration.runtime.engine.spark.session import warm_up

        with contextlib.suppress(Exception):  # workers start anyway, only later
            warm_up(session)

    def wait(self) -> str:
        """Wait until the session is up, and return Spark's name and version."""
        return f"Spark {self.session.version}"

    @property
    def session(self) -> SparkSession:
        """The session; reading this property waits until the session is up.

        Raises:
            Exception: the error that kept the session from starting.
        """
        self._over.wait()
        if self._session is None:
            assert self._error is not None
            raise self._error
        return self._session

    @property
    def pid(self) -> int:
        """The pid of the JVM."""
        return self._jvm.process.pid

    @property
    def process_name(self) -> str:
        """The name of the engine's process in messages: `JVM`."""
        return "JVM"

    @property
    def _context(self) -> Any:
        return self.session.sparkContext

    def ping(self) -> object:
        """Ask the JVM for the time of its start, and return it; wait until the session is up, and for the answer."""
        return self._context._jsc.startTime()

    def ended(self, patience: float = 0.0) -> str | None:
        """Return how the JVM or its Spark application has ended, in words; None if the JVM runs for `patience` seconds.

        The end of the Spark application, as on a cluster, is only known after `watch` has noticed it.
        """
        if self._given_up:
            return f"its Spark application on {self._master} has ended; see the host's log, and the cluster's"
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"its {self.process_name} (pid {self.pid}) has ended with status {self._jvm.process.wait(patience)}"
        return None

    def watch(self, wake: Callable[[], None]) -> None:
        """Start a thread that calls `wake` after each end of a query, and at last after the end of the JVM."""
        threading.Thread(target=self._await_ends, args=(wake,), name="query-ends", daemon=True).start()

    def _await_ends(self, wake: Callable[[], None]) -> None:
        streams = self.session.streams
        while self._jvm.process.poll() is None:
            try:
                streams.awaitAnyTermination()
            except Exception as error:  # noqa: BLE001  the host asks each query why it ended
                log.debug("a query has ended: %s", error)
            with contextlib.suppress(Exception):  # the JVM has ended
                self._given_up = bool(self._context._jsc.sc().isStopped())
            wake()
            with contextlib.suppress(Exception):  # the JVM has ended
                streams.resetTerminated()

    def query(self, start: QueryStart) -> SparkQuery:
        """Wait until the session is up, and start one of its queries; on a cluster, first give up lost executors.

        A query of `Sql` and `DataFrame` operators may have failed when it is returned; see `FrameQuery.start`.
        """
        if self._elsewhere:
            self._give_up_executors()
        if start.program.engine == "dataframe":
            from streams_orchestration.runtime.engine.spark.frames.query import FrameQuery

            return FrameQuery(self.session, start, apart=self._elsewhere)
        from streams_orchestration.runtime.engine.spark.query import SparkQuery

        return SparkQuery(self.session, start, apart=self._elsewhere)

    def _give_up_executors(self) -> None:
        """Keep tasks of new queries from lost executors and their Python workers, which may live on for a while.

        If the connections to an executor's workers show that it is lost, it is given up before Spark notices.
        """
        context = self._context._jsc.sc()
        with contextlib.suppress(Exception):  # the JVM may fail; the query then reports the error
            living = set(str(context.getExecutorIds().mkString(",")).split(","))
            for executor in living.intersection(take_silent(self._workers)):
                log.warning("executor %s does not answer, and is given up", executor)
                context.killAndReplaceExecutor(executor)
                living.discard(executor)
            forget_workers(self._workers, living)

    def stop(self) -> None:
        """Wait until the session is up, and stop it; its JVM lives as long as this process."""
        self.session.stop()

    def tidy(self, wanted: Callable[[], bool]) -> None:
        """Make the JVM archive its classes, and wait for it as long as `wanted` returns True.

        Do nothing if there is an archive or it cannot be written. When `wanted` returns False, or after
        `ARCHIVE_SECONDS`, the JVM is killed and the incomplete archive removed. A failure of the JVM is only logged.
        """
        if self._archive.writes is None:
            return
        from pyspark import SparkContext

        gateway: Any = SparkContext._gateway  # pyright: ignore[reportPrivateUsage] - there is no public way
        jvm = self.pid
        writing = threading.Thread(target=self._write_archive, args=(gateway,), daemon=True)
        writing.start()
        until = time.monotonic() + ARCHIVE_SECONDS
        while writing.is_alive() and wanted() and time.monotonic() < until:
            writing.join(WANTED_SECONDS)
        if writing.is_alive():
            kill(jvm, process_started(jvm))
            self._archive.drop()

    def _write_archive(self, gateway: Any) -> None:
        try:
            self._archive.write(gateway)
            self._archive.keep()
        except Exception as error:  # noqa: BLE001  the next JVM starts without an archive
            log.info("Spark's classes are not archived: %s", str(error).partition("\n")[0])


def no_session(master: str, error: Exception) -> Exception:
    """Return the error to raise in place of the error that kept a session from starting.

    With the master `local` it is the same error, else a StreamsRuntimeError that names the cluster and the reason.
    """
    if master == LOCAL:
        return error
    lines = [line.strip() for line in str(error).splitlines() if "Exception" in line or "Error" in line]
    reason = (lines or [str(error)])[-1].removeprefix(": ")
    message = (
        f"no Spark application could be started on {master}: {reason}. Start that cluster, or correct STREAMS_MASTER"
    )
    return StreamsRuntimeError(message)
