"""Nexmark in Spark: `python -m benchmarks.peers.nexmark_spark [--out-of-order] FILES EVENTS RESULTS QUERY...`.

Each query as its SQL, streamed over the slices of `FILES`, one a micro-batch, into Parquet; then over all of them at
once, for the result that others are compared with. Events that are out of order have a watermark with their lag, and
no result at once. The last line printed is JSON, query -> events a second.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from benchmarks.disorder import LAG, SECOND
from benchmarks.nexmark.application import QUERIES, STREAMED, schema, sql
from benchmarks.nexmark.events import KINDS
from benchmarks.peers.answer import steady
from benchmarks.peers.spark_query import progress_points, session

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
EVERY = 100


def streamed(spark: SparkSession, query: str, files: str, events: int, scratch: Path, lag: float) -> float:
    """Return the events a second after the first fifth of them."""
    text, watermarks = sql(query, EVERY, lag)
    for stream in QUERIES[query]["reads"]:
        everything = schema(stream, [attribute.split(" ")[0] for attribute in KINDS[stream].split(", ")])
        frame = spark.readStream.schema(everything).option("maxFilesPerTrigger", 1).parquet(f"{files}/{stream}")
        if stream in watermarks:
            frame = frame.withWatermark(watermarks[stream]["attribute"], watermarks[stream]["delay"])
        frame.createOrReplaceTempView(stream)
    writer = spark.sql(text).writeStream.format("parquet").option("path", str(scratch / query))
    started = (
        writer.option("checkpointLocation", str(scratch / f"{query}-checkpoint")).trigger(availableNow=True).start()
    )
    started.awaitTermination()
    return steady(list(progress_points([each for each in started.recentProgress if each.numInputRows], events)))


def at_once(spark: SparkSession, query: str, files: str, results: str) -> None:
    """Write the result over all events."""
    for stream in QUERIES[query]["reads"]:
        spark.read.parquet(f"{files}/{stream}").createOrReplaceTempView(stream)
    spark.sql(sql(query, EVERY)[0]).write.parquet(f"{results}/{query}-batch")


def main(files: str, events: str, results: str, *queries: str, lag: float = 0) -> None:
    """Measure."""
    rates: dict[str, float] = {}
    with TemporaryDirectory(prefix="bench-") as scratch:
        spark = session(Path(scratch))
        for name, value in {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.streaming.numRecentProgressUpdates": "1000",
        }.items():
            spark.conf.set(name, value)
        for query in queries:
            if query in STREAMED:
                rates[query] = streamed(spark, query, files, int(events), Path(scratch), lag)
                print(f"  {query} in Spark: {rates[query]:,.0f} events/s", file=sys.stderr, flush=True)
            if not lag:
                at_once(spark, query, files, results)
        spark.stop()
    print(json.dumps(rates))


if __name__ == "__main__":
    given = sys.argv[1:]
    disordered = given[0] == "--out-of-order"
    main(*given[disordered:], lag=LAG / SECOND if disordered else 0)
