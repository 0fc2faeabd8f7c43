"""The process of a host: starts Spark before anything else, since the rest can be loaded meanwhile.

Run as `python -m streams_orchestration.runtime.hosts.host_process --home DIR --application NAME --host N
--incarnation ID`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streams_orchestration.runtime.hosts.host import Host

JVM_SECONDS = 1.0
"""A JVM whose connections break has ended by then, or does not end."""

ARCHIVE_SECONDS = 120.0
"""The JVM has written its classes by then, or does not."""
WANTED_SECONDS = 0.25
TERMINATION_SECONDS = 5.0
"""How long a host that was told to end waits for the catalog, to report that."""

log = logging.getLogger("streams.host")


def main(arguments: list[str] | None = None) -> int:
    """Run a host until it is done; its exit status is 0 unless it failed."""
    parser = argparse.ArgumentParser(description="Runs PEs of one application; started by `streams deploy`.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--application", required=True)
    parser.add_argument("--host", type=int, required=True)
    parser.add_argument("--incarnation", required=True)
    parser.add_argument("--memory", required=True)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    session = StartingSession(given)
    from streams_orchestration.runtime.catalog.outage import Outage
    from streams_orchestration.runtime.errors import CatalogMissingError, StreamsRuntimeError
    from streams_orchestration.runtime.hosts.host import Host
    from streams_orchestration.runtime.hosts.presence import UnwantedHostError
    from streams_orchestration.runtime.storage.home import Home

    host: Host | None = None
    try:
        host = Host(Home(given.home), given.application, given.host, given.incarnation)
        _listen(host)
        state = host.run(session.wait)
        said = "it was told to end (SIGTERM)" if state == "FAILED" else None
        outage = Outage(TERMINATION_SECONDS) if host.terminated else host.outage
        outage.through(functools.partial(host.presence.report, state=state, error=said))
        log.info("host %s of %s: %s", given.host, given.application, state)
        session.end()
        if state == "COMPLETED":
            session.archive(host.presence.wanted)
        return 0 if state != "FAILED" else 1
    except (UnwantedHostError, CatalogMissingError) as error:
        log.warning("%s; it ends", error)
        if host is not None:
            with contextlib.suppress(Exception):
                host.stop_all()
        return 0
    except Exception as error:
        log.exception("host %s of %s failed", given.host, given.application)
        if host is not None:
            with contextlib.suppress(Exception):
                said = str(error) if isinstance(error, StreamsRuntimeError) else f"{type(error).__name__}: {error}"
                host.presence.report(state="FAILED", error=host.jvm_end(JVM_SECONDS) or said.splitlines()[0])
        return 1


class StartingSession:
    """Spark's session, which starts on a thread with its JVM and its workers."""

    def __init__(self, given: argparse.Namespace) -> None:
        from streams_orchestration.runtime.engine.spark.class_archive import ClassArchive
        from streams_orchestration.runtime.engine.spark.fork_server import start_fork_server
        from streams_orchestration.runtime.engine.spark.java import java_program
        from streams_orchestration.runtime.engine.spark.owners import DIRECTORY
        from streams_orchestration.runtime.engine.spark.session import JAVA_OPTIONS, session_settings
        from streams_orchestration.runtime.storage.home import Home

        scratch = Home(given.home).data(given.application) / "spark"
        own = scratch / f"python-{given.host}-{given.incarnation}"
        self._forks = start_fork_server(own)
        # without that server the JVM's Python processes would work where the JVM does
        self._directory = own if self._forks is not None else None
        os.environ[DIRECTORY] = str(own / "workers")
        self._settings = session_settings(f"{given.application}-{given.host}", scratch, memory=given.memory)
        self._archive = ClassArchive.find(java_program(), self._settings[JAVA_OPTIONS])
        self._settings[JAVA_OPTIONS] += f" {self._archive.options}"
        self._over = threading.Event()
        self._session: SparkSession | None = None
        self._error: Exception | None = None
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        from streams_orchestration.runtime.engine.spark.session import spark_session, warm_up

        try:
            self._session = spark_session(self._settings, self._directory)
        except Exception as error:  # noqa: BLE001  raised by `wait`
            self._error = error
        self._over.set()
        if self._session is not None:
            with contextlib.suppress(Exception):  # workers start anyway, only later
                warm_up(self._session)

    def wait(self) -> SparkSession:
        """The session, once it is up; raises what went wrong."""
        self._over.wait()
        if self._session is None:
            assert self._error is not None
            raise self._error
        return self._session

    def end(self) -> None:
        """Stop it; its JVM lives as long as this process."""
        self.wait().stop()

    def archive(self, wanted: Callable[[], bool]) -> None:
        """Have the JVM archive its classes, unless that was done before, as long as `wanted` says so."""
        if self._archive.writes is None:
            return
        from pyspark import SparkContext

        from streams_orchestration.runtime.processes import kill, process_started

        gateway: Any = SparkContext._gateway
        jvm = gateway.proc.pid
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


def _listen(host: Host) -> None:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        host.terminated = True

    signal.signal(signal.SIGTERM, terminate)


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # py4j's threads and a dead JVM must not keep a finished host alive
    os._exit(status)
