"""What Spark says of the queries of an application before it is deployed, in a process and a session of its own.

The queries are composed over empty inputs and analysed; nothing is run. So the functions of `DataFrame` operators are
called here once more.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.implementation import import_from
from streams_orchestration.runtime.engine.spark.class_archive import ClassArchive
from streams_orchestration.runtime.engine.spark.java import java_program
from streams_orchestration.runtime.engine.spark.jvm import start_jvm
from streams_orchestration.runtime.engine.spark.session_settings import JAVA_OPTIONS, session_settings
from streams_orchestration.runtime.errors import OperatorError, StreamsRuntimeError
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECONDS = 120.0
"""For the whole of it; a quiet machine needs some seconds, most of them to start Spark."""
_PROGRAMS, _REFUSALS, _LOG = "programs.pickle", "refusals.json", "log"


class AnalysisError(StreamsRuntimeError):
    """Spark could not be asked."""


def query_refusals(programs: Iterable[PeProgram], base: Path) -> list[str]:
    """Why queries of Spark's cannot run, each with the name of its operator; none where there is no query.

    Args:
        programs: of all PEs.
        base: directory of the spec, whose modules can be imported.

    Raises:
        AnalysisError: Spark does not start.
        JavaError: there is no Java.
    """
    queries = _different(program for program in programs if program.engine == "dataframe")
    if not queries:
        return []
    java_program()
    with tempfile.TemporaryDirectory(prefix="streams-analysis-") as place:
        directory = Path(place)
        (directory / _PROGRAMS).write_bytes(pickle.dumps((queries, str(base))))
        with (directory / _LOG).open("wb") as log:
            try:
                subprocess.run(
                    [sys.executable, "-m", __name__, place], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    timeout=SECONDS, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired as error:
                message = f"Spark has not looked at the queries within {SECONDS:.0f} s; try again"
                raise AnalysisError(message + where_it_stood(Path(log.name))) from error
        try:
            return json.loads((directory / _REFUSALS).read_bytes())
        except FileNotFoundError as error:
            lines = (directory / _LOG).read_text(errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "it has said nothing")
            message = f"Spark could not look at the queries: {last}. See that it starts: `pyspark`"
            raise AnalysisError(message) from error


def where_it_stood(log: Path) -> str:
    """Where the main thread of a process stood after half of its time, as its log says; empty if that says nothing."""
    main_thread = log.read_text(errors="replace").rpartition("(most recent call first):")[2]
    places = [line.strip() for line in main_thread.splitlines() if line.startswith("  File ")]
    return f". After {SECONDS / 2:.0f} s it stood at {places[0]}" if places else ""


def _different(programs: Iterable[PeProgram]) -> list[PeProgram]:
    """One of those that Spark sees as the same, as channels of a parallel region mostly are."""
    known: dict[str, PeProgram] = {}
    for program in programs:
        parts = [
            (each.implementation, each.parameters, each.inputs, each.outputs, each.ports, each.region is None)
            for each in program.operators.values()
        ]
        known.setdefault(json.dumps(parts, default=str), program)
    return list(known.values())


def _analyse(directory: Path) -> list[str]:
    from streams_orchestration.runtime.engine.spark.frames.composing import Composition
    from streams_orchestration.runtime.engine.spark.session import spark_session

    programs, base = pickle.loads((directory / _PROGRAMS).read_bytes())  # noqa: S301  of the process that has started this one
    import_from(base)
    settings = session_settings("analysis", directory, memory="512m", cores=1)
    settings[JAVA_OPTIONS] += f" {ClassArchive.find(java_program(), settings[JAVA_OPTIONS]).options}"
    session = spark_session(settings, start_jvm(settings, directory))
    source = _EmptySource(directory / "empty")
    directories = directories_of(Home(directory), "analysis", 0, base)
    refusals: list[str] = []
    for program in programs:
        try:
            Composition(session.newSession(), program, directories, source).compose()
        except OperatorError as error:
            refusals.append(str(error))
    return refusals


class _EmptySource:
    """Input ports into which nothing comes."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = str(directory)

    def __call__(self, spark: SparkSession, program: OperatorProgram, port: int, time: str) -> DataFrame:
        from streams_orchestration.runtime.engine.spark.descriptor import MARKER

        ddl = program.inputs[port]
        return spark.readStream.schema(f"{ddl}, {MARKER} int" if time else ddl).parquet(self._directory)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(SECONDS / 2)
    place = Path(sys.argv[1])
    answer = place / f"{_REFUSALS}.part"
    answer.write_text(json.dumps(_analyse(place)))
    answer.replace(place / _REFUSALS)
    sys.stdout.flush()
    os._exit(0)  # the JVM ends with this process, and nothing of the session is needed any more
