"""Durations of micro-batches over tiny data in one Spark session: `python -m benchmarks.batch_durations WHOSE ROUNDS`.

`WHOSE` is `ours`, the session of a host, with PEs of one, two and three levels and bare Spark queries, `defaults`, the
bare queries in a session as Spark sets it up, but for the 200 partitions, which are two as everywhere here, or
`metrics`, a PE of three levels with measuring on and off. The last line printed is JSON, variant -> durations of its
triggers in seconds, as Spark reports them. The variants run by turns; the first batches of each do not count.

A PE has two tasks a level and a stateful operator in each; a bare query has two partitions. All take ten tuples a task.
The host's own loop runs beside its PE, as ever.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import Row as SparkRow

from benchmarks import graphs
from benchmarks.in_process import hosted
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.engine.spark.jvm import start_jvm
from streams_orchestration.runtime.engine.spark.session import register_source, start_session
from streams_orchestration.runtime.engine.spark.session_settings import session_settings
from streams_orchestration.runtime.engine.spark.spark_home import make_lean_home, spark_home
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.settings import LIMIT, METRICS
from streams_orchestration.runtime.storage.home import Home

TASKS, TUPLES = 2, 10
WARM, COUNTED = 8, 25
"""Micro-batches of a variant in a round."""
TIMEOUT_SECONDS = 180.0
POLL_SECONDS = 0.2
QUEUE = {"threadedPort": [{"port": 0, "congestionPolicy": "Sys.Wait", "queueSize": 10}]}
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

Durations = dict[str, list[float]]


def application(levels: int) -> PlannedCompilation:
    """Return an application of one PE that makes tuples and counts them by key; queues divide the PE into levels."""
    graph: list[dict[str, Any]] = []
    for task in range(TASKS):
        made = graphs.beacon(f"Made{task}")
        made["parameters"] = {"output": {"k": "'k' || (IterationCount() % 5)"}}
        graph += [
            made,
            graphs.node(f"Totals{task}", "Totals", f"Made{task}", config=QUEUE if levels > 2 else {}),
            graphs.node(f"Passed{task}", "Pass", f"Totals{task}", config=QUEUE if levels > 1 else {}),
        ]
    graph.append(graphs.node("All", "Pass", *(f"Passed{task}" for task in range(TASKS))))
    document = graphs.document(f"levels{levels}", graph)
    return compile_application(application_from_mapping(document), Options(fusion="manual", pes=1, threading="manual"))


@contextmanager
def running_pe(spark: SparkSession, home: Home, levels: int) -> Iterator[StreamingQuery]:
    """Yield the query of the application's only PE, which runs under a host."""
    compilation = application(levels)
    with hosted(spark, home, compilation):
        until = time.monotonic() + TIMEOUT_SECONDS
        while not spark.streams.active and time.monotonic() < until:
            time.sleep(0.01)
        (query,) = spark.streams.active
        yield query
        status = read_status(Catalog(home), compilation.logical.application)
        batches = 1 + max(pe.row.batch for pe in status.pes)
        assert all(pe.row.rows_in == TASKS * TUPLES * batches for pe in status.pes), status


class Counting(StatefulProcessor):
    """Every tuple with the number of tuples of its key so far, as `Totals`."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "n bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[SparkRow]:  # noqa: N802, N803
        before = self.total.get()
        total = before[0] if before else 0
        for _ in rows:
            total += 1
            yield SparkRow(k=key[0], n=total)
        self.total.update((total,))


def bare(spark: SparkSession, *, stateful: bool) -> DataFrame:
    """Return a query in Spark alone; a stateful one counts the tuples of each key."""
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", TASKS * TUPLES)
        .option("numPartitions", TASKS)
        .load()
        .selectExpr("concat('k', value % 5) AS k", "0L AS n")
    )
    if not stateful:
        return rows
    return rows.groupBy("k").transformWithState(Counting(), "k string, n bigint", "Update", "None")


@contextmanager
def running_bare(spark: SparkSession, *, stateful: bool) -> Iterator[StreamingQuery]:
    """Yield a query in Spark alone that runs and discards its rows."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:  # Spark may still upload a state
        writer = bare(spark, stateful=stateful).writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            yield query
        finally:
            query.stop()


def durations(query: StreamingQuery) -> list[float]:
    """Return the seconds of the triggers that follow the warm-up."""
    until = time.monotonic() + TIMEOUT_SECONDS
    taken: dict[int, float] = {}  # Spark keeps some of them only
    while WARM + COUNTED not in taken:
        if time.monotonic() > until or not query.isActive:
            message = f"the query did not come to {WARM + COUNTED} batches: {query.exception()}"
            raise AssertionError(message)
        time.sleep(POLL_SECONDS)
        taken |= {batch.batchId: batch.durationMs["triggerExecution"] / 1000 for batch in query.recentProgress}
    return [taken[batch] for batch in range(WARM, WARM + COUNTED)]


def measured(variants: dict[str, Callable[[], Any]], rounds: int) -> Durations:
    """Return the durations of every variant. The variants take turns, for `rounds` rounds."""
    measured: Durations = {name: [] for name in variants}
    for _ in range(rounds):
        for name, running in variants.items():
            with running() as query:
                measured[name] += durations(query)
    return measured


def session(scratch: Path, *, queries: bool = False) -> SparkSession:
    """Return the session of a host, with or without Spark queries, that remembers the progress of 100 batches."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    remembered = {"spark.sql.streaming.numRecentProgressUpdates": "100"}
    settings = session_settings("bench", scratch / "spark", memory="1g", queries=queries) | remembered
    home = spark_home() if queries else make_lean_home()
    spark = start_session(settings, start_jvm(settings, home, scratch).await_gateway())
    register_source(spark)
    return spark


def new_homes(scratch: Path) -> Iterator[Home]:
    """Yield new state directories.

    A second deployment in one directory would end the hosts of the first, and those are this process.
    """
    for number in itertools.count():
        yield Home(scratch / f"home-{number}").prepare()


def ours(scratch: Path, rounds: int) -> Durations:
    """Return the durations of the bare queries and of PEs with 1 to 3 levels, in the session of a host."""
    os.environ[LIMIT] = str(TUPLES)
    homes, spark = new_homes(scratch), session(scratch)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", str(TASKS))
    levels = {str(number): lambda number=number: running_pe(spark, next(homes), number) for number in (1, 2, 3)}
    return measured(bare_variants(spark) | levels, rounds)


def metrics(scratch: Path, rounds: int) -> Durations:
    """Return the median durations of a PE of three levels with and without measuring, each run in a new directory."""
    os.environ[LIMIT] = str(TUPLES)
    homes, spark = new_homes(scratch), session(scratch)
    spark.conf.set("spark.sql.shuffle.partitions", str(TASKS))
    measured: Durations = {"on": [], "off": []}
    with running_pe(spark, next(homes), 3) as query:
        durations(query)
    # the session gets quicker as it grows older: both settings are as old on average
    for setting in ("on", "off", "off", "on") * rounds:
        os.environ[METRICS] = setting
        with running_pe(spark, next(homes), 3) as query:
            measured[setting].append(median(durations(query)))
    return measured


def bare_variants(spark: SparkSession) -> dict[str, Callable[[], Any]]:
    """Return the bare queries with which the PE is compared."""
    return {
        "stateless": lambda: running_bare(spark, stateful=False),
        "stateful": lambda: running_bare(spark, stateful=True),
    }


def defaults(scratch: Path, rounds: int) -> Durations:
    """Return the durations of the bare queries with Spark's defaults, except for RocksDB and the partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]")  # type: ignore[attr-defined]
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return measured(bare_variants(spark), rounds)


def main(whose: str, rounds: str) -> None:
    with TemporaryDirectory(prefix="bench-") as scratch:
        print(json.dumps({"ours": ours, "defaults": defaults, "metrics": metrics}[whose](Path(scratch), int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
