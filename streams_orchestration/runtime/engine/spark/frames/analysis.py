"""Spark's analysis of an application's queries before it is deployed, in a session of its own.

The queries are composed over empty inputs and analysed, but not run. So the functions of `DataFrame` operators are
called once more than in the run.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.compiler.query_columns import OperatorColumns
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.operators.tuples.arrow_types import ddl_without_unsigned
from streams_orchestration.runtime.clocks.load_adjusted_clock import LoadAdjustedClock, machine_load
from streams_orchestration.runtime.engine.query_analysis import QueryAnalysis, QueryRefusal
from streams_orchestration.runtime.engine.spark.class_archive import ClassArchive
from streams_orchestration.runtime.engine.spark.java import java_program
from streams_orchestration.runtime.engine.spark.jvm import start_jvm
from streams_orchestration.runtime.engine.spark.private_directory import PrivateDirectory
from streams_orchestration.runtime.engine.spark.session_settings import JAVA_OPTIONS, QUICK_COMPILER, session_settings
from streams_orchestration.runtime.engine.spark.spark_home import spark_home
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
from streams_orchestration.runtime.processes.open_files import require_open_files
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANALYSIS_SECONDS = 120.0
"""Seconds for the whole analysis on an idle machine; most of the few seconds that it needs go to the start of Spark."""
POLL_SECONDS = 0.25
PROGRESS_LOG_SECONDS = 10.0
"""Seconds between two messages on the progress of the analysis."""
_PROGRAMS, _ANSWER, _LOG, _PROGRESS = "programs.pickle", "answer.json", "log", "progress"
logger = logging.getLogger("streams.analysis")


class AnalysisError(StreamsRuntimeError):
    """Spark could not analyse the queries."""


def analyse_queries(programs: Iterable[PeProgram], base: Path, session: SparkSession | None = None) -> QueryAnalysis:
    """Have Spark analyse the queries of an application; without queries Spark is not started, and the result is empty.

    An operator whose query cannot run is a refusal in the result, not an error. Programs whose queries Spark cannot
    distinguish are analysed once. In a process of its own, the progress is logged every `PROGRESS_LOG_SECONDS`. Modules
    of the spec can be imported from its directory `base`. Without a session, the queries are analysed in a process of
    its own.

    Raises:
        AnalysisError: Spark does not start, fails, or takes more than `ANALYSIS_SECONDS`, in a process of its own.
        JavaError: there is no Java for that process.
        HostLaunchError: this process may have too few files open for that.
    """
    alike = _alike(program for program in programs if program.engine == "dataframe")
    if not alike:
        return QueryAnalysis()
    different = [first for first, *_ in alike]
    with PrivateDirectory.make() as private:
        if session is None:
            answer = _analyse_in_process(different, base, private.path)
        else:
            answer = _analyse_alone(session, different, str(base), private.path)
    return replace(answer, columns=dict(_shared_answers(alike, answer)))


def _analyse_in_process(programs: list[PeProgram], base: Path, directory: Path) -> QueryAnalysis:
    """Analyse programs in a process of its own, which gets and leaves files in a directory and is then killed."""
    java_program()
    require_open_files("Spark's analysis of the queries")
    (directory / _PROGRAMS).write_bytes(pickle.dumps((programs, str(base))))
    with (directory / _LOG).open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            await_analysis(child, directory)
        finally:
            child.kill()
            child.wait()
    try:
        return load(QueryAnalysis, (directory / _ANSWER).read_bytes())
    except FileNotFoundError as error:
        lines = (directory / _LOG).read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
        message = f"Spark could not analyse the queries: {last}. Check that `pyspark` starts"
        raise AnalysisError(message) from error


def await_analysis(child: subprocess.Popen[bytes], directory: Path) -> None:
    """Wait until the child process has ended, and log its progress every `PROGRESS_LOG_SECONDS`.

    Raises:
        AnalysisError: the child has used `ANALYSIS_SECONDS`, which are longer on a busy machine.
    """
    patience = LoadAdjustedClock(time.monotonic, machine_load)
    tell_at = PROGRESS_LOG_SECONDS
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(POLL_SECONDS)
            return
        passed = patience.advance()
        stands = _progress(directory)
        if patience.used > ANALYSIS_SECONDS:
            message = f"Spark has not analysed the queries within {passed:.0f} s ({stands}); try again"
            raise AnalysisError(message + describe_current_line(directory / _LOG))
        if passed >= tell_at:
            tell_at = passed + PROGRESS_LOG_SECONDS
            logger.warning("Spark has been analysing the queries for %.0f s: %s", passed, stands)


def _progress(directory: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return (directory / _PROGRESS).read_text(encoding="utf-8") or "it begins"
    return "it starts"


def describe_current_line(log: Path) -> str:
    """Return a clause with the current line of a process's main thread, from the stack in its log; empty if unknown."""
    main_thread = log.read_text(errors="replace").rpartition("(most recent call first):")[2]
    places = [line.strip() for line in main_thread.splitlines() if line.startswith("  File ")]
    return f". It was at {places[0]}" if places else ""


def _alike(programs: Iterable[PeProgram]) -> list[list[PeProgram]]:
    """Group programs whose queries Spark cannot distinguish, which usually are the channels of a parallel region."""
    alike: dict[str, list[PeProgram]] = {}
    for program in programs:
        parts = [
            (
                *(each.implementation, each.parameters, each.inputs, each.outputs, each.ports, each.region is None),
                *(each.event_time is not None and each.event_time.awaited, each.event_time),
            )
            for each in program.operators.values()
        ]
        alike.setdefault(json.dumps(parts, default=str), []).append(program)
    return list(alike.values())


def _shared_answers(alike: Iterable[list[PeProgram]], answer: QueryAnalysis) -> Iterator[tuple[int, OperatorColumns]]:
    """Yield the column origins of each operator for which they are known.

    A group of equal programs shares the answer for its first one.
    """
    for programs in alike:
        for operators in zip(*(program.operators for program in programs), strict=True):
            if operators[0] in answer.columns:
                yield from ((operator, answer.columns[operators[0]]) for operator in operators)


def _analyse_here(directory: Path) -> QueryAnalysis:
    """Analyse the programs in a directory with a new session of this process, whose JVM is started."""
    from streams_orchestration.runtime.engine.spark.session import start_session

    # from the process that started this one
    programs, base = pickle.loads((directory / _PROGRAMS).read_bytes())  # noqa: S301
    settings = session_settings("analysis", directory, memory="512m", cores=1, queries=True)
    archive = ClassArchive.find(java_program(), settings[JAVA_OPTIONS], spark_home())
    settings[JAVA_OPTIONS] += f" {QUICK_COMPILER} {archive.options}"
    session = start_session(settings, start_jvm(settings, spark_home(), directory, directory).await_gateway())
    return _analyse_alone(session, programs, base, directory)


def _analyse_alone(session: SparkSession, programs: list[PeProgram], base: str, directory: Path) -> QueryAnalysis:
    """Compose the query of each program in a session of its own, and note the progress in a directory.

    A query that cannot be composed is a refusal. If the plan of one cannot be followed, the origins of its columns are
    left out, with a warning in the log. The modules of the spec can be imported in this process from then on.
    """
    from py4j.protocol import Py4JError  # pyright: ignore[reportMissingTypeStubs]

    from streams_orchestration.runtime.engine.spark.frames.composing import Composition

    import_from(base)
    source = _EmptySource(directory / "empty")
    directories = directories_of(Home(directory), "analysis", 0, base)
    refusals: list[QueryRefusal] = []
    columns: dict[int, OperatorColumns] = {}
    for number, program in enumerate(programs, start=1):
        names = ", ".join(each.name for each in program.operators.values())
        (directory / _PROGRESS).write_text(f"query {number} of {len(programs)}, {names}", encoding="utf-8")
        composition = Composition(session.newSession(), program, directories, source)
        try:
            composition.compose()
            columns |= composition.columns()
        except OperatorError as error:
            refusals.append(QueryRefusal(error.operator, error.reason))
        except Py4JError as error:  # a plan of an unknown form; the query runs without a lineage
            logger.warning("the columns of PE %s cannot be followed: %s", program.pe, error)
    return QueryAnalysis(tuple(refusals), columns)


class _EmptySource:
    """A source of input ports for the analysis: they get no tuples. Its creation creates the directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = str(directory)

    def __call__(self, spark: SparkSession, program: OperatorProgram, port: int, attribute: str) -> DataFrame:
        from streams_orchestration.runtime.engine.spark.descriptor import MARKER

        ddl = ddl_without_unsigned(program.inputs[port])
        return spark.readStream.schema(f"{ddl}, {MARKER} int" if attribute else ddl).parquet(self._directory)


if __name__ == "__main__":
    hide_secrets()
    faulthandler.dump_traceback_later(ANALYSIS_SECONDS / 2, repeat=True)
    place = Path(sys.argv[1])
    try:
        write_whole(place / _ANSWER, dump(_analyse_here(place)), durably=False)
    except StreamsRuntimeError as error:
        print(error)  # the last line of the log is the reason
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)  # the JVM ends with this process, and the session is no longer needed
