"""A PE as a Structured Streaming query of its host's Spark session."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark.owners import owner_pids
from streams_orchestration.runtime.engine.spark.source import PeSource
from streams_orchestration.runtime.engine.spark.stages import AGAIN, pe_query
from streams_orchestration.runtime.logs.logs import open_pe_logger
from streams_orchestration.runtime.programs.failure import Failure, Nature
from streams_orchestration.runtime.storage.in_use import use

PROGRESS = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "3600000"}
"""Settings that reduce what Spark writes about the position of a query, since the catalog records the position."""
SLOW_START = "Python worker failed to connect back"
"""Part of Spark's message that a Python process of a source took more than 10 seconds to start, as on a busy machine.
"""
CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] ")
"""Matches the beginning of an error of Spark's, as in `[DIVIDE_BY_ZERO] Division by zero. ...`."""
FULL = "No space left on device"
"""Part of Spark's message on a full disk, an error that passes by itself."""
MOST_STARTS = 7
"""The most starts of a query that cannot start because Python is slow."""
START_PAUSES = Pauses(first=1.0, longest=32.0)
"""Seconds before each new start of a query that could not start; such a query has done nothing yet."""


class ScratchQuery(ABC):
    """A query whose tasks run in `stages.py`; subclasses start it, stop it and return its failure.

    Its creation makes the scratch directory, and marks it as used by this process.
    """

    def __init__(self, start: QueryStart, *, apart: bool = False) -> None:
        self.generation = start.generation
        self._apart = apart
        self._scratch = start.make_scratch(apart=apart)
        self._mark = use(Path(self._scratch.path))

    @property
    @abstractmethod
    def active(self) -> bool:
        """True if the query is started and has not ended."""

    @property
    def begun(self) -> bool:
        """True if the query's planner knows the PE's position."""
        return self._scratch.begun

    @property
    def starting(self) -> bool:
        """True if the query is started and its planner is not ready yet."""
        return self.active and not self.begun

    @property
    def idle(self) -> bool:
        """True if the query does not run; or no batch runs, and its planner plans no more."""
        return not self.active or self._scratch.resting

    def busy(self) -> list[int]:
        """Return the pids of the processes that still have tasks of the current batch to run.

        The method only reads files, so it never hangs. On a cluster the result is empty: a task may wait there for an
        executor that is yet to come, while its owner is idle.
        """
        return [] if self._apart else owner_pids(self._scratch.unanswered())


class SparkQuery(ScratchQuery):
    """One generation of one PE, which starts a query at its creation and knows why it ended.

    The planner commits its batches. The creation opens the log of the PE; for errors see `start`.
    """

    def __init__(self, spark: SparkSession, start: QueryStart, *, apart: bool = False) -> None:
        super().__init__(start, apart=apart)
        self.spark = spark
        self.program = start.program
        self.directories = start.directories
        self._failure: Failure | None = None
        self.log = open_pe_logger(self.directories.log, self.directories.log_size)
        self._query: StreamingQuery | None = None
        self._starts = 0
        self._again_at: float | None = None
        self._options = start.planner_options(self._scratch)
        self.start()

    def start(self) -> None:
        """Start the query with the checkpoint directory of its scratch directory, and count and log the start.

        An error of Spark's is raised as it is.
        """
        self._starts += 1
        self._again_at = None
        self._query = self._begin()
        self.log.info("generation %s started", self.generation)

    def _begin(self) -> StreamingQuery:
        first = self.spark.readStream.format(PeSource.name()).options(**self._options).load()
        return (
            pe_query(first, self._scratch)
            .writeStream.queryName(f"{self.program.application} PE {self.program.pe}")
            .option("checkpointLocation", self._scratch.checkpoint)
            .options(**PROGRESS)
            .format("noop")
            .start()
        )

    @property
    def active(self) -> bool:
        """True if the query runs."""
        return self._query is not None and self._query.isActive

    def find_failure_or_restart(self) -> Failure | None:
        """Return why the query ended, None if it has not; if it could not start, start it again instead when due.

        The reason that the planner has recorded has priority over Spark's. Spark's reason is logged once.

        A query that could not start because Python was slow to start is started again by this call, after a pause, up
        to `MOST_STARTS` times.
        """
        if self.active or self._query is None:
            return None
        if self._failure is None:
            self._failure = self._scratch.failure
            if self._failure is not None:
                return self._failure
            exception = self._query.exception()
            if self._start_again(str(exception)):
                return None
            why = reason(str(exception)) if exception else "the query stopped by itself"
            nature: Nature = "outside" if FULL in str(exception) else "unknown"
            self._failure = Failure(f"{self._whose()}{why}", nature, batch=self._scratch.planned)
            self.log.error("%s\n%s", self._failure, exception)
        return self._failure

    def _whose(self) -> str:
        """Return words that name the failed part of the application in an error message; empty by default."""
        return ""

    def _start_again(self, why: str) -> bool:
        """Plan another start if the query could not start because Python was slow, and make it once it is due.

        Return False if that is not the cause, or the query was started `MOST_STARTS` times.
        """
        if SLOW_START not in why or self._starts >= MOST_STARTS:
            return False
        now = time.monotonic()
        if self._again_at is None:
            self._again_at = now + START_PAUSES.after(self._starts)
            self.log.warning("Python was slow to start (%s); retrying soon", SLOW_START)
        elif now >= self._again_at:
            self.start()
        return True

    def stop(self) -> None:
        """End the query and remove its files; an uncommitted batch leaves only files that are removed later."""
        if self._query is not None and self._query.isActive:
            self._query.stop()
        self._scratch.remove()
        self.log.info("generation %s stopped", self.generation)


def reason(text: str) -> str:
    """Return the line of a Spark exception that names the cause, at most 500 characters; `unknown` without text.

    The loss of an executor or of a Python process is put in words instead.
    """
    if "ExecutorLostFailure" in text or "FetchFailed" in text or AGAIN in text:
        return "an executor of the Spark cluster that had run its tasks was lost"
    if "Python worker exited unexpectedly" in text:
        return (
            "a Python process that ran its tasks has ended: out of memory, or killed, perhaps by its host, since an "
            "operator made no progress for longer than STREAMS_HANG_LIMIT; the host's log has details"
        )
    text = text.partition("=== Streaming Query ===")[0]  # the rest names the query, not the error
    if "(no cause message)" in text:
        return "the Python process that planned its batches has ended: killed, or out of memory; see the host's log"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    # the line after such a line is code, and may name errors, too
    code = {number + 1 for number, line in enumerate(lines) if line.startswith('File "')}
    lines = [line for number, line in enumerate(lines) if number not in code]
    telling = [line for line in lines if "Error" in line or "Exception" in line or "crashed" in line]
    conditions = [line for line in lines if CONDITION.match(line)]  # a part of the query with marks below may follow
    return (telling or conditions[:1] or lines or ["unknown"])[-1][:500]
