"""The archive of Spark's classes, written before the tests, whose many JVMs start in half the processor time with it.

`python -m streams_orchestration_tests.spark_classes` does nothing if there is an archive. Without it each host that
completes would begin to write one, and most tests end their hosts before it is written.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from streams_orchestration.runtime.engine.spark.class_archive import ClassArchive
from streams_orchestration.runtime.engine.spark.java import java_program
from streams_orchestration.runtime.engine.spark.session_settings import JAVA_OPTIONS, OF_TASKS
from streams_orchestration.runtime.engine.spark.spark_home import make_lean_home

SPEC = """\
specVersion: 1
application: classes
schemas: {Number: "n bigint"}
graph:
  - name: Numbers
    operator: Beacon
    parameters: {iterations: 10}
    outputs: [{stream: Numbers, schema: Number}]
  - name: Written
    operator: FileSink
    inputs: [Numbers]
    parameters: {file: numbers.csv, format: csv}
"""
TIMEOUT_SECONDS = 900.0
"""Seconds; a busy machine needs minutes to write it."""
POLL_SECONDS = 0.5


def archive() -> ClassArchive:
    """Return the archive that hosts without Spark queries use."""
    return ClassArchive.find(java_program(), OF_TASKS[JAVA_OPTIONS], make_lean_home())


def write() -> None:
    """Run an application, and wait until its host has written the archive, or has given up."""
    from streams_orchestration.runtime.storage.home import Home
    from streams_orchestration_tests.commands import end_hosts, finish, hosts, streams
    from streams_orchestration_tests.waiting import until

    with tempfile.TemporaryDirectory(prefix="streams-classes-") as place:
        directory = Path(place)
        spec = directory / "classes.yaml"
        spec.write_text(SPEC, encoding="utf-8")
        try:
            with streams(Home(directory / "home"), "run", str(spec)) as command:
                finish(command)
            until(lambda: not list(hosts(directory)), "the host does not end", TIMEOUT_SECONDS, POLL_SECONDS)
        finally:
            end_hosts(directory)


if __name__ == "__main__" and archive().writes is not None:
    print("Archiving Spark's classes, once, for a quicker start of JVMs ...", file=sys.stderr)
    write()
