"""Durations of micro-batches of queries of Spark's, in a PE and bare: `python -m benchmarks.frame_durations ROUNDS`.

Both run by turns in the session of a host with queries, with the same settings of state. *windows* is a windowed count
by SQL, over 50,000 events of Nexmark a batch: a PE reads them as segments of the transport, the bare query as files of
Parquet. *state* is `transformWithState` over ten rows in each of two partitions. The last line printed is JSON, variant
-> durations of triggers in seconds, as Spark reports them; the first batches of each do not count.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.batch_durations import (
    COUNTED,
    TASKS,
    TIMEOUT_SECONDS,
    TUPLES,
    WARM,
    Counting,
    measured,
    new_homes,
    running_bare,
    session,
)
from benchmarks.in_process import hosted
from benchmarks.nexmark.application import document, schema, sql
from benchmarks.nexmark.events import write_events
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.engine.spark.frames.composing import SETTINGS
from streams_orchestration.runtime.settings.settings import LIMIT
from streams_orchestration.runtime.storage.home import Home

BATCHES = WARM + COUNTED + 2
SLICE = 50_000
QUERY, EVERY = "q12", 100


def counted(rows: DataFrame) -> DataFrame:
    """Return every tuple with the number of tuples of its key so far."""
    return rows.groupBy("k").transformWithState(Counting(), "k string, n bigint", "Update", "None")


def counting() -> dict[str, Any]:
    """Return an application that counts with `counted`, behind a source that has ended before the counted batches."""
    made = {
        "name": "Made", "operator": "Beacon", "outputs": [{"stream": "Made", "schema": "k string, n bigint"}],
        "parameters": {"iterations": TASKS * TUPLES * BATCHES, "output": {"k": "'k' || (IterationCount() % 5)"}},
        "annotations": {"consistent": {"trigger": "periodic", "period": 2.0}},
    }  # fmt: skip
    query = {
        "name": "Counted", "operator": "DataFrame", "inputs": ["Made"],
        "outputs": [{"stream": "Counted", "schema": "k string, n bigint"}],
        "parameters": {"function": f"{__spec__.name}:counted", "outputMode": "update"},
    }  # fmt: skip
    return {"specVersion": 1, "application": "counting", "graph": [made, query]}


@contextmanager
def running_frame(spark: SparkSession, home: Home, made: dict[str, Any], limit: int) -> Iterator[StreamingQuery]:
    """Yield the Spark query of an application's only query PE, which runs under a host."""
    os.environ[LIMIT] = str(limit)
    compilation = compile_application(application_from_mapping(made), Options(fusion="manual", pes=1))
    with hosted(spark, home, compilation) as host:
        until = time.monotonic() + TIMEOUT_SECONDS
        while not host.engine.frames and host.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        query = host.engine.frames[0]._query
        assert query is not None, host.engine.frames[0].find_failure_or_restart()
        yield query


@contextmanager
def running_files(spark: SparkSession, files: Path) -> Iterator[StreamingQuery]:
    """Yield the query over windows in Spark alone, which reads one file a micro-batch and discards its rows."""
    text, watermarks = sql(QUERY, EVERY)
    frame = spark.readStream.schema(schema("Bids", ["bidder", "moment"])).option("maxFilesPerTrigger", 1)
    watermark = watermarks["Bids"]
    bids = frame.parquet(str(files / "Bids")).withWatermark(watermark["attribute"], watermark["delay"])
    bids.createOrReplaceTempView("Bids")
    with TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:
        query = spark.sql(text).writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            yield query
        finally:
            query.stop()


def main(rounds: str) -> None:
    """Measure."""
    with TemporaryDirectory(prefix="bench-") as directory:
        scratch = Path(directory)
        write_events(scratch / "events", BATCHES * SLICE, SLICE, EVERY)
        homes, spark = new_homes(scratch), session(scratch, queries=True)
        bare = spark.newSession()
        for name, value in SETTINGS.items():
            bare.conf.set(name, value)
        windows = document(QUERY, BATCHES * SLICE, EVERY, how="sql", files=str(scratch / "events"))
        windows["graph"].pop()  # the sink, which the bare query has not either
        variants: dict[str, Callable[[], Any]] = {
            "windows bare": lambda: running_files(bare, scratch / "events"),
            "windows": lambda: running_frame(spark, next(homes), windows, 1),
            "state bare": lambda: running_bare(bare, stateful=True),
            "state": lambda: running_frame(spark, next(homes), counting(), TASKS * TUPLES),
        }
        print(json.dumps(measured(variants, int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
