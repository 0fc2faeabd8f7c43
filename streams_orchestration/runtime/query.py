"""A PE as a Structured Streaming query of its host's Spark session."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streams_orchestration.runtime.directories import Directories
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.logs import pe_logger
from streams_orchestration.runtime.pacing import MOST
from streams_orchestration.runtime.program import PeProgram
from streams_orchestration.runtime.scratch import Launched, Scratch
from streams_orchestration.runtime.source import PeSource
from streams_orchestration.runtime.stages import pe_query

PROGRESS = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "3600000"}
"""Spark need not write down where the query stands: the catalog is the authority on that."""


class PeQuery:
    """One generation of one PE: starts a query and knows why it ended. Batches are committed by its planner."""

    def __init__(
        self, spark: SparkSession, home: Home, program: PeProgram, directories: Directories, generation: int,
        *, source_limit: int = MOST, measured: bool = True,
    ) -> None:  # fmt: skip
        self.spark = spark
        self.home = home
        self.program = program
        self.directories = directories
        self.generation = generation
        self.source_limit = source_limit
        self.error: StreamsRuntimeError | None = None
        self.permanent = False
        self.log = pe_logger(directories.log)
        self._query: StreamingQuery | None = None
        path = home.data(program.application) / "spark" / f"pe-{program.pe}-g{generation}-{time.time_ns()}"
        self._scratch = Scratch.create(path, Launched(program, directories, measured))

    def start(self) -> None:
        """Start the query with a checkpoint directory of its own, which serves this generation only."""
        first = (
            self.spark.readStream.format(PeSource.name())
            .option("home", str(self.home.root))
            .option("scratch", self._scratch.path)
            .option("generation", str(self.generation))
            .option("limit", str(self.source_limit))
            .load()
        )
        self._query = (
            pe_query(first, self._scratch)
            .writeStream.queryName(f"{self.program.application} PE {self.program.pe}")
            .option("checkpointLocation", self._scratch.checkpoint)
            .options(**PROGRESS)
            .format("noop")
            .start()
        )
        self.log.info("generation %s started", self.generation)

    @property
    def active(self) -> bool:
        """The query runs."""
        return self._query is not None and self._query.isActive

    @property
    def idle(self) -> bool:
        """No batch is under way and none will begin, since the application is not wanted any more."""
        return not self.active or self._scratch.resting

    def failure(self) -> StreamsRuntimeError | None:
        """Why the query ended by itself; None while it runs."""
        if self.active or self._query is None:
            return None
        if self.error is None:
            told = self._scratch.failure
            if told is not None:
                message, self.permanent = told
                self.error = StreamsRuntimeError(message)
                return self.error
            exception = self._query.exception()
            why = reason(str(exception)) if exception else "the query stopped by itself"
            message = f"PE {self.program.pe}: {why} (log: {self.directories.log})"
            self.error = StreamsRuntimeError(message)
            self.log.error("%s\n%s", message, exception)
        return self.error

    def stop(self) -> None:
        """Stop the query and remove what only it needed; an uncommitted batch leaves nothing but garbage."""
        if self._query is not None and self._query.isActive:
            self._query.stop()
        self._scratch.remove()
        self.log.info("generation %s stopped", self.generation)


def reason(text: str) -> str:
    """The telling line of a Spark exception."""
    if "Python worker exited unexpectedly" in text:
        return "a Python process that ran its tasks has ended: killed, or out of memory; see the host's log"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    telling = [line for line in lines if "Error" in line or "Exception" in line or "crashed" in line]
    return (telling or lines or ["unknown"])[-1][:500]
