"""The Spark session of a host."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from streams_orchestration.runtime.reader import PeSource

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.noDataProgressEventInterval": "60s",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "streams_orchestration.runtime.daemon",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Rows are descriptors and binary batches, few and large; plans are small, so adaptive execution only costs time.

The JVM does little but start tasks: the quick compiler and one garbage collecting thread leave the cores to them.
"""


def spark_session(application: str, scratch: Path, *, memory: str, cores: int | None = None) -> SparkSession:
    """The session of one host process.

    Args:
        application: named in Spark's logs.
        scratch: directory for Spark's temporary files and warehouse.
        memory: heap of the JVM, `1g`.
        cores: tasks at a time; all of the machine's when None.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    threads = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{threads}]").appName(application)  # type: ignore[attr-defined]
    settings = SETTINGS | {
        "spark.sql.shuffle.partitions": str(threads),
        "spark.driver.memory": memory,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    session.dataSource.register(PeSource)
    return session
