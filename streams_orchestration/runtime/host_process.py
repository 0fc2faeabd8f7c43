"""The process of a host: starts the JVM before anything else, since the rest can be loaded meanwhile.

Run as `python -m streams_orchestration.runtime.host_process --home DIR --application NAME --host N --incarnation ID`.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams_orchestration.runtime.host import Host

JVM_SECONDS = 1.0
"""A JVM whose connections break has ended by then, or does not end."""

ARCHIVE_SECONDS = 60.0
"""The JVM has written its classes by then, or is left alone."""

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
    jvm = Jvm(given)
    from streams_orchestration.runtime.errors import StreamsRuntimeError
    from streams_orchestration.runtime.home import Home
    from streams_orchestration.runtime.host import Host
    from streams_orchestration.runtime.presence import UnwantedHostError

    host: Host | None = None
    try:
        host = Host(Home(given.home), given.application, given.host, given.incarnation)
        _listen(host)
        state = host.run(jvm.wait)
        host.presence.report(state=state, error="it was told to end (SIGTERM)" if state == "FAILED" else None)
        log.info("host %s of %s: %s", given.host, given.application, state)
        if host.spark is not None:
            host.spark.stop()
            jvm.end()
        return 0 if state != "FAILED" else 1
    except UnwantedHostError as error:
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


class Jvm:
    """The JVM of this process, which starts on a thread."""

    def __init__(self, given: argparse.Namespace) -> None:
        from streams_orchestration.runtime.class_archive import ClassArchive
        from streams_orchestration.runtime.home import Home
        from streams_orchestration.runtime.java import java_program
        from streams_orchestration.runtime.session import JAVA_OPTIONS, session_settings, start_jvm

        scratch = Home(given.home).data(given.application) / "spark"
        settings = session_settings(f"{given.application}-{given.host}", scratch, memory=given.memory)
        self._archive = ClassArchive.find(java_program(), settings[JAVA_OPTIONS])
        settings[JAVA_OPTIONS] += f" {self._archive.options}"
        self._failed: list[Exception] = []

        def start() -> None:
            try:
                start_jvm(settings)
            except Exception as error:
                self._failed.append(error)

        self._thread = threading.Thread(target=start, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until it is there; raises what went wrong."""
        self._thread.join()
        if self._failed:
            raise self._failed[0]

    def end(self) -> None:
        """Have it end, and wait for the archive of its classes if it writes one."""
        if self._archive.writes is not None:
            from pyspark import SparkContext

            gateway: Any = SparkContext._gateway
            process = gateway.proc
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ARCHIVE_SECONDS)
                self._archive.keep()


def _listen(host: Host) -> None:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        host.terminated = True

    signal.signal(signal.SIGTERM, terminate)


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # py4j's threads and a dead JVM must not keep a finished host alive
    os._exit(status)
