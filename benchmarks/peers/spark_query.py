"""The flights job in PySpark: `python -m benchmarks.peers.spark_query HOW DIRECTORY AIRLINES RESULT TUPLES`.

`HOW` is `sql`, the whole job in Spark SQL, or `arrow`, with the filter and the look-up in Python under `mapInArrow`.
Both stream the directory's files, one a micro-batch, until all are read; Spark aggregates. Partitions are as many as
cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pa_csv
from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers.answer import LATE, Point, answer

pc: Any = pyarrow.compute
FLIGHTS = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay double, arr_time int, "
    "sched_arr_time int, arr_delay double, carrier string, flight int, tailnum string, origin string, dest string, "
    "air_time double, distance double, hour int, minute int, time_hour string"
)
STATISTICS = f"""
    SELECT carrier, airline, month, count(*) AS flights, avg(dep_delay) AS mean_delay, max(dep_delay) AS max_delay,
           avg(CASE WHEN dep_delay > {LATE} THEN 1.0D ELSE 0.0D END) AS late_share
    FROM named GROUP BY carrier, airline, month
"""


def session(scratch: Path, more: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session as a user sets it up on this machine: partitions for its cores, larger Arrow batches, no UI.

    Args:
        scratch: a directory for its files.
        more: further settings.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName("peer")  # type: ignore[attr-defined]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in (settings | dict(more or {})).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def read(spark: SparkSession, directory: Path) -> DataFrame:
    """Return the directory as a stream of one file a micro-batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    if next(directory.iterdir()).suffix == ".parquet":
        return reader.schema("month int, carrier string, dep_delay double").parquet(str(directory))
    return reader.schema(FLIGHTS).option("header", True).option("nullValue", "NA").csv(str(directory))


def named_by_sql(spark: SparkSession, flights: DataFrame, airlines: str) -> DataFrame:
    """Filter and look up names in Spark SQL; the small table is broadcast."""
    flights.createOrReplaceTempView("flights")
    spark.read.option("header", True).csv(airlines).createOrReplaceTempView("airlines")
    return spark.sql(
        "SELECT month, carrier, dep_delay, name AS airline FROM flights LEFT JOIN airlines USING (carrier) "
        "WHERE dep_delay IS NOT NULL"
    )


def named_by_arrow(spark: SparkSession, flights: DataFrame, airlines: str) -> DataFrame:
    """Filter and look up names in Python, a batch at a time."""
    table = pa_csv.read_csv(airlines)
    keys, names = table["carrier"].combine_chunks(), table["name"].combine_chunks()

    def enrich(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            departed = batch.filter(pc.is_valid(batch["dep_delay"]))
            airline = names.take(pc.index_in(departed["carrier"], keys))
            yield pa.RecordBatch.from_arrays(
                [*departed.columns, airline], names=["month", "carrier", "dep_delay", "airline"]
            )

    schema = "month int, carrier string, dep_delay double, airline string"
    return flights.select("month", "carrier", "dep_delay").mapInArrow(enrich, schema)


def statistics(
    spark: SparkSession, how: str, directory: Path, airlines: str, tuples: int
) -> tuple[pa.Table, list[Point]]:
    """Return the result, and the end of every micro-batch."""
    named = (named_by_sql if how == "sql" else named_by_arrow)(spark, read(spark, directory), airlines)
    named.createOrReplaceTempView("named")
    with TemporaryDirectory() as checkpoint:
        query = (
            spark.sql(STATISTICS)
            .writeStream.outputMode("complete")
            .format("memory")
            .queryName("statistics")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return spark.table("statistics").toArrow(), list(progress_points(query.recentProgress, tuples))


def progress_points(progress: Sequence[Any], tuples: int) -> Iterator[Point]:
    """Yield the end of every micro-batch.

    Args:
        progress: the progress of all micro-batches.
        tuples: the number of tuples in all files. Spark counts fewer if the reader of files already filters.
    """
    counted, total = 0, sum(batch.numInputRows for batch in progress)
    for batch in progress:
        counted += batch.numInputRows
        began = datetime.fromisoformat(batch.timestamp.replace("Z", "+00:00")).timestamp()
        yield began + batch.durationMs["triggerExecution"] / 1000, round(tuples * counted / total)


def main(how: str, directory: str, airlines: str, result: str, tuples: str) -> None:
    with TemporaryDirectory() as scratch:
        spark = session(Path(scratch))
        answer(*statistics(spark, how, Path(directory), airlines, int(tuples)), Path(result))
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
