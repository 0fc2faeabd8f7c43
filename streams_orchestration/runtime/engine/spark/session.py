"""The Spark session of a host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark.testing.utils  # noqa: F401  # pyright: ignore[reportUnusedImport] (the first call to the JVM needs it, and the JVM would wait for it)
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from streams_orchestration.runtime.engine.spark.source import PeSource

if TYPE_CHECKING:
    import pyarrow as pa


def start_session(settings: Mapping[str, str], gateway: Any) -> SparkSession:
    """Start the Spark session of this process, and return it. This takes seconds, so call it on a thread.

    The directory for temporary files of Spark is created. Spark logs only warnings and errors from then on. An error of
    Spark is raised as it is, and OSError if the directory cannot be created. The JVM of the gateway was started with
    the same settings.
    """
    Path(settings["spark.local.dir"]).mkdir(parents=True, exist_ok=True)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    SparkContext(conf=conf, gateway=gateway)
    session = SparkSession.builder.config(conf=conf).getOrCreate()  # type: ignore[attr-defined]
    session.sparkContext.setLogLevel("WARN")
    return session


def register_source(session: SparkSession) -> None:
    """Register the source of PEs with a session; Spark inspects the source in Python processes."""
    session.dataSource.register(PeSource)


def warm_up(session: SparkSession) -> None:
    """Start the workers of a session, one for each core, before the first batch needs them, and announce them.

    This takes seconds. Errors of Spark are raised as they are.
    """
    cores = session.sparkContext.defaultParallelism
    session.range(0, cores, 1, cores).mapInArrow(_announced, "id bigint").write.format("noop").mode("overwrite").save()


def _announced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from streams_orchestration.runtime.engine.spark.stages import announce

    announce()
    yield from batches
