"""The settings of a host's Spark session; the JVM starts with them before PySpark is imported."""

from __future__ import annotations

import os
from pathlib import Path

ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
"""Environment of tasks, which are the unit of parallelism: libraries that thread on their own would oversubscribe."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
AUTHENTICATE = "spark.authenticate"
"""Name of the property by which Spark's RPC and block manager take requests only from processes with its secret.

Without it any user of the machine can have the JVM deserialise objects. Spark makes a secret for each local session,
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
"""Rows are descriptors and binary batches, few and large; plans are small, so adaptive execution only costs time.

Spark's history of executions, which it keeps without its web interface, too, has no reader here and grows for hours.
"""
OF_TASKS = {
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For hosts whose JVM does little but start tasks: the quick compiler and one garbage collecting thread leave the cores
to these, and to generate and compile code for a few descriptors takes longer than to interpret a plan."""
OF_QUERIES = {JAVA_OPTIONS: "-XX:+UseSerialGC"}
"""For hosts with queries of Spark's own: the JVM optimizes the code that is generated for each query."""


def session_settings(
    application: str, scratch: Path, *, memory: str, cores: int | None = None, queries: bool = False
) -> dict[str, str]:
    """Return the settings of the session of one host process.

    Args:
        application: named in Spark's logs.
        scratch: directory for Spark's temporary files and warehouse.
        memory: heap of the JVM, `1g`.
        cores: tasks at a time; all of the machine's when None.
        queries: there are queries of Spark's own.
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
