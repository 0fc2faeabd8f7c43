"""The settings of a host's Spark session; the JVM starts with them before PySpark is imported."""

from __future__ import annotations

import os
from pathlib import Path

ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
"""Environment variables that limit libraries to one thread, since tasks already use all cores."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
"""The JVM's option for code that runs for a short time: optimizing it would take longer than it saves."""
AUTHENTICATE = "spark.authenticate"
"""The property by which Spark's RPC and block manager serve only processes that know its secret.

Without it any user of the machine could make the JVM deserialise objects. Spark makes a secret for each local session,
which stays in the memory of its JVM.
"""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.noDataProgressEventInterval": "60s",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.ui.retainedExecutions": "4",
    "spark.ui.retainedJobs": "4",
    "spark.ui.retainedStages": "4",
    "spark.ui.retainedTasks": "100",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "streams_orchestration.runtime.engine.spark.daemon",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    AUTHENTICATE: "true",
}
"""Settings of all sessions: rows are few large binary batches, and plans are small, so adaptive execution costs time.

Spark keeps a history of executions even without its web interface. Nobody reads it here, and it would grow for hours,
so it is short.
"""
OF_TASKS = {
    JAVA_OPTIONS: f"{QUICK_COMPILER} -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of hosts whose JVM does little but start tasks.

The quick compiler and one thread for garbage collection leave the cores to the tasks. Generating code for a few
descriptors would take longer than interpreting a plan.
"""
OF_QUERIES = {JAVA_OPTIONS: "-XX:+UseSerialGC"}
"""Settings of hosts with Spark queries, for each of which the JVM optimizes generated code."""


def session_settings(
    application: str, scratch: Path, *, memory: str, cores: int | None = None, queries: bool = False
) -> dict[str, str]:
    """Return the settings of the session of one host process.

    Args:
        application: the name of the application in Spark's logs.
        scratch: the directory for Spark's temporary files and warehouse.
        memory: the heap of the JVM, as in `1g`.
        cores: the number of tasks at a time; None for all cores of the machine.
        queries: True if the host has Spark queries.
    """
    threads = cores or os.cpu_count() or 1
    return (
        SETTINGS
        | (OF_QUERIES if queries else OF_TASKS)
        | {
            "spark.master": f"local[{threads}]",
            "spark.app.name": application,
            "spark.sql.shuffle.partitions": str(threads),
            "spark.driver.memory": memory,
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        }
    )
