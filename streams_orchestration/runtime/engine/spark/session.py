"""The Spark session of a host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    import pyarrow as pa

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
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
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Rows are descriptors and binary batches, few and large; plans are small, so adaptive execution only costs time.

Spark's history of executions, which it keeps without its web interface, too, has no reader here and grows for hours.
The JVM does little but start tasks: the quick compiler and one garbage collecting thread leave the cores to them.
"""


def session_settings(application: str, scratch: Path, *, memory: str, cores: int | None = None) -> dict[str, str]:
    """What the session of one host process is made of.

    Args:
        application: named in Spark's logs.
        scratch: directory for Spark's temporary files and warehouse.
        memory: heap of the JVM, `1g`.
        cores: tasks at a time; all of the machine's when None.
    """
    threads = cores or os.cpu_count() or 1
    return SETTINGS | {
        "spark.master": f"local[{threads}]",
        "spark.app.name": application,
        "spark.sql.shuffle.partitions": str(threads),
        "spark.driver.memory": memory,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }


def spark_session(settings: Mapping[str, str], directory: Path | None = None) -> SparkSession:
    """The session of this process, with a JVM of its own. It takes seconds of waiting: call it on a thread.

    Args:
        settings: as of `session_settings`.
        directory: the JVM's working directory, which gets the files that a JVM writes unasked; that of this process
            when None.
    """
    from streams_orchestration.runtime.engine.spark.source import PeSource

    Path(settings["spark.local.dir"]).mkdir(parents=True, exist_ok=True)
    conf = _conf(settings)
    SparkContext(conf=conf, gateway=launch_gateway(conf, {"cwd": directory}))
    session = SparkSession.builder.config(conf=conf).getOrCreate()  # type: ignore[attr-defined]
    session.sparkContext.setLogLevel("WARN")
    session.dataSource.register(PeSource)
    return session


def warm_up(session: SparkSession) -> None:
    """Start the workers of a session, one for each core, so that the first batch finds them; takes seconds."""
    cores = session.sparkContext.defaultParallelism
    session.range(0, cores, 1, cores).mapInArrow(_announced, "id bigint").write.format("noop").mode("overwrite").save()


def _announced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from streams_orchestration.runtime.engine.spark.stages import announce

    announce()
    yield from batches


def _conf(settings: Mapping[str, str]) -> SparkConf:
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))
