"""A PE as a Structured Streaming query of its host's Spark session."""

from __future__ import annotations

import logging
import pickle
import shutil
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streams_orchestration.runtime.batches import TaskResult, result_codec
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.commits import commit_batch
from streams_orchestration.runtime.directories import Directories
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.planning import SOURCE_LIMIT
from streams_orchestration.runtime.program import PeProgram
from streams_orchestration.runtime.reader import DescriptorSource
from streams_orchestration.runtime.rows import RESULT_LEVEL
from streams_orchestration.runtime.stages import pe_query

SETTLED_SECONDS = 1.0
"""A batch that was planned comes to its commit's code within this time, as a rule."""


class PeQuery:
    """One generation of one PE: starts a query, commits its batches, knows why it ended."""

    def __init__(
        self, spark: SparkSession, home: Home, catalog: Catalog, program: PeProgram, directories: Directories,
        generation: int, *, source_limit: int = SOURCE_LIMIT, measured: bool = True,
    ) -> None:  # fmt: skip
        self.spark = spark
        self.home = home
        self.catalog = catalog
        self.program = program
        self.directories = directories
        self.generation = generation
        self.source_limit = source_limit
        self.measured = measured
        self.error: StreamsRuntimeError | None = None
        self.permanent = False
        self._busy = False
        self._settled = time.monotonic()
        self._commit_seconds = 0.0
        """Of the last commit, which counts with the next one."""
        self.log = pe_logger(directories.log)
        self._query: StreamingQuery | None = None
        self._scratch = home.data(program.application) / "spark" / f"pe-{program.pe}-g{generation}-{time.time_ns()}"

    def start(self) -> None:
        """Start the query with a checkpoint directory of its own, which serves this generation only."""
        self._scratch.mkdir(parents=True)
        program_file = self._scratch / "program.pickle"
        program_file.write_bytes(pickle.dumps(self.program))
        rows = (
            self.spark.readStream.format(DescriptorSource.name())
            .option("home", str(self.home.root))
            .option("program", str(program_file))
            .option("generation", str(self.generation))
            .option("limit", str(self.source_limit))
            .load()
        )
        self._query = (
            pe_query(rows, self.program, self.directories, measured=self.measured)
            .writeStream.queryName(f"{self.program.application} PE {self.program.pe}")
            .option("checkpointLocation", str(self._scratch / "checkpoint"))
            .foreachBatch(self._commit)
            .start()
        )
        self.log.info("generation %s started", self.generation)

    @property
    def active(self) -> bool:
        """The query runs."""
        return self._query is not None and self._query.isActive

    @property
    def idle(self) -> bool:
        """No batch has been under way for a moment; a reader that plans no more never looks idle to Spark."""
        return not self.active or (not self._busy and time.monotonic() - self._settled > SETTLED_SECONDS)

    def failure(self) -> StreamsRuntimeError | None:
        """Why the query ended by itself; None while it runs."""
        if self.active or self._query is None:
            return None
        if self.error is None:
            exception = self._query.exception()
            reason = _reason(str(exception)) if exception else "the query stopped by itself"
            message = f"PE {self.program.pe}: {reason} (log: {self.directories.log})"
            self.error = StreamsRuntimeError(message)
            self.log.error("%s\n%s", message, exception)
        return self.error

    def stop(self) -> None:
        """Stop the query and remove what only it needed; an uncommitted batch leaves nothing but garbage."""
        if self._query is not None and self._query.isActive:
            self._query.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)
        self.log.info("generation %s stopped", self.generation)

    def _commit(self, frame: DataFrame, _batch: int) -> None:
        started = time.monotonic()
        self._busy = True
        try:
            rows = frame.collect()
            results = [result_codec.validate_json(row.payload) for row in rows if row.level == RESULT_LEVEL]
            self._take(results, started)
        except StreamsRuntimeError as error:
            self.error = error
            self.log.error("%s", error)
            raise
        finally:
            self._busy, self._settled = False, time.monotonic()

    def _take(self, results: list[TaskResult], started: float) -> None:
        plan = next((result.plan for result in results if result.plan is not None), None)
        if plan is None:
            return
        failed = next((result for result in results if result.error is not None), None)
        if failed is not None:
            self.permanent = failed.permanent
            message = f"PE {self.program.pe}, batch {plan.batch}: {failed.error} (log: {self.directories.log})"
            raise StreamsRuntimeError(message)
        if len(results) != len(self.program.tasks):
            message = f"PE {self.program.pe}: {len(results)} of {len(self.program.tasks)} tasks answered"
            raise StreamsRuntimeError(message)
        took = time.monotonic() - started
        began = time.monotonic()
        commit_batch(self.catalog, self.program, plan, results, took, commit_before=self._commit_seconds)
        self._commit_seconds = time.monotonic() - began
        rows_in, rows_out = sum(r.rows_in for r in results), sum(r.rows_out for r in results)
        end = " final" if plan.final else " boundary" if plan.boundary else ""
        self.log.info("batch %s epoch %s%s: %s in, %s out", plan.batch, plan.epoch, end, rows_in, rows_out)


def pe_logger(path: str) -> logging.Logger:
    """The log of one PE, on the host's side."""
    logger = logging.getLogger(f"streams.host.{Path(path).stem}")
    if not logger.handlers:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger


def _reason(text: str) -> str:
    """The telling line of a Spark exception."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    telling = [line for line in lines if "Error" in line or "Exception" in line or "crashed" in line]
    return (telling or lines or ["unknown"])[-1][:500]
