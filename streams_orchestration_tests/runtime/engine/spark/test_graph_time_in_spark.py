"""Spark queries with the watermark of their event-time graph, in one session: results, late tuples and watermarks."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application, Watermark, event_time
from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = pytest.mark.java
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
LAG = 4
SECONDS = [number + (7 * number) % 5 for number in range(90)]
SECONDS[50:50] = [2]
"""Out of order by up to 4 s; one tuple is late at its source."""
ROWS = [("abc"[number % 3], second, number) for number, second in enumerate(SECONDS)]
ON_TIME = [row for number, row in enumerate(ROWS) if row[1] >= max([0, *SECONDS[:number]]) - LAG]
WINDOWS = "SELECT k, window.start AS at, count(*) AS n FROM Rows GROUP BY k, window(at, '10 seconds')"
JOINED = (
    "SELECT Rows.v, Third.k AS other, Rows.at AS at FROM Rows LEFT JOIN Third ON Rows.v = Third.v "
    "AND Third.at BETWEEN Rows.at - INTERVAL 1 SECOND AND Rows.at + INTERVAL 1 SECOND WHERE Rows.v <> 50"
)
"""Behind a merge of two streams, a tuple that was late at its source may be taken (EV42); it is left out."""
SPEC = f"""
specVersion: 1
application: queries
schemas: {{Row: "k string, at timestamp, v bigint", Count: "k string, at timestamp, n bigint"}}
graph:
  - name: Rows
    operator: FileSource
    outputs: [{{stream: Rows, schema: Row}}]
    parameters: {{file: rows.parquet, format: parquet}}
    annotations: {{consistent: {{trigger: periodic, period: 1.0}}, eventTime: {{eventTimeAttribute: at, lag: {LAG}.0}}}}
  - {{name: Third, operator: Filter, inputs: [Rows], outputs: [{{stream: Third, schema: Row}}],
      parameters: {{filter: v % 3 = 0 AND v < 60}}}}
  - name: Windows
    operator: Sql
    inputs: [Rows]
    outputs: [{{stream: Windows, schema: Count}}]
    parameters: {{query: "{WINDOWS}", watermarks: {{Rows: eventTime}}}}
  - name: Joined
    operator: Sql
    inputs: [Rows, Third]
    outputs: [{{stream: Joined, schema: "v bigint, other string, at timestamp"}}]
    parameters: {{query: "{JOINED}", watermarks: {{Rows: eventTime, Third: eventTime}}}}
  - name: Minutes
    operator: Aggregate
    inputs: [Windows]
    outputs: [{{stream: Minutes, schema: "since timestamp, n bigint"}}, {{stream: Late, schema: Count}}]
    parameters: {{window: "timeInterval, intervalDuration(30.0)", output: {{since: intervalStart(), n: Sum(n)}}}}
  - name: Sorted
    operator: Sort
    inputs: [Joined]
    outputs: [{{stream: Sorted, schema: "v bigint, other string, at timestamp"}},
              {{stream: LatePairs, schema: "v bigint, other string, at timestamp"}}]
    parameters: {{window: eventTime}}
  - {{name: WindowsOut, operator: FileSink, inputs: [Windows], parameters: {{file: windows, format: parquet}}}}
  - {{name: MinutesOut, operator: FileSink, inputs: [Minutes], parameters: {{file: minutes, format: parquet}}}}
  - {{name: SortedOut, operator: FileSink, inputs: [Sorted], parameters: {{file: sorted, format: parquet}}}}
  - {{name: LateOut, operator: FileSink, inputs: [Late], parameters: {{file: late, format: parquet}}}}
  - {{name: LatePairsOut, operator: FileSink, inputs: [LatePairs], parameters: {{file: latepairs, format: parquet}}}}
"""


def table(rows: list[tuple[str, int, int]]) -> pa.Table:
    schema = pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC")), ("v", pa.int64())])
    named = [{"k": k, "at": START + datetime.timedelta(seconds=second), "v": v} for k, second, v in rows]
    return pa.Table.from_pylist(named, schema=schema)


def wanted() -> dict[str, Counter[Any]]:
    """Return what Spark's SQL gives for all tuples that are not late, without streaming."""
    spark = spark_engine().session.newSession()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = spark.createDataFrame(table(ON_TIME))
    frame.createOrReplaceTempView("Rows")
    frame.where("v % 3 = 0 AND v < 60").createOrReplaceTempView("Third")
    spark.sql(WINDOWS).createOrReplaceTempView("Windows")
    minutes = "SELECT window.start AS since, sum(n) AS n FROM Windows GROUP BY window(at, '30 seconds')"
    queries = {"windows": WINDOWS, "minutes": minutes, "sorted": JOINED}
    found = {name: counted(spark.sql(query).toArrow()) for name, query in queries.items()}
    return found | {"late": Counter(), "latepairs": Counter()}


def counted(rows: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def published(local: LocalApplication) -> dict[str, Counter[Any]]:
    found: dict[str, Counter[Any]] = {}
    for name in ("windows", "minutes", "sorted", "late", "latepairs"):
        files = [pq.read_table(path) for path in local.published(name)]
        found[name] = counted(pa.concat_tables(files)) if files else Counter()
    return found


def figures(local: LocalApplication) -> dict[str, int | float]:
    """Return the metrics of the query `Windows`."""
    (windows,) = (each for each in read_metrics(local.catalog, local.name).operators if each.name == "Windows")
    return {each.name: each.value for each in windows.custom}


def compiled(directory: Path) -> PlannedCompilation:
    pq.write_table(table(ROWS), directory / "rows.parquet")
    (directory / "queries.yaml").write_text(SPEC)
    return compile_spec(directory / "queries.yaml", Options())


@pytest.mark.deep
@pytest.mark.usefixtures("no_hosts")
def test_results_are_those_of_sql_over_all_that_is_not_late_in_one_batch_and_late_tuples_are_counted(tmp_path: Path):
    results = wanted()
    with LocalApplication(Home(tmp_path / "one"), compiled(tmp_path), 200, spark_engine) as local:
        local.run()
        assert published(local) == results
        assert (figures(local)["late_dropped"], figures(local)["late_rows"]) == (1, 0)


@pytest.mark.usefixtures("no_hosts")
def test_results_are_those_of_sql_over_all_that_is_not_late_in_all_batches_redeploys_and_resets(tmp_path: Path):
    compilation, results = compiled(tmp_path), wanted()
    with LocalApplication(Home(tmp_path / "other"), compilation, 40, spark_engine) as local:
        for _ in ROWS:
            run_some(local, 1)
            if figures(local)["waiting_tuples"] > 0:
                break
        assert figures(local)["waiting_tuples"] > 0
        more = SPEC + "  - {name: More, operator: FileSink, inputs: [Windows], parameters: {file: more}}\n"
        (tmp_path / "queries.yaml").write_text(more)
        assert redeploy(local, compile_spec(tmp_path / "queries.yaml", Options())).verdict == "kept"
        run_some(local, 1)
        reset_unit(local.catalog, local.name, local.units[0], force=True)
        local.report_running()
        local.run()
        assert published(local) == results


def test_a_query_in_python_takes_the_watermarks_of_a_test():
    app = Application("rates")
    rows = app.stream(op.Beacon(), schema="k string, at timestamp, v bigint", name="Rows", event_time=event_time("at"))
    query = "SELECT k, max(at) AS at, sum(v) AS v FROM self GROUP BY k, window(at, '10 seconds')"
    sums = rows.sql(
        query, "k string, at timestamp, v bigint", name="Sums", watermarks={"self": "eventTime"}, output_delay=10
    )
    sums.to_files("sums", name="Out")

    def at(second: int) -> datetime.datetime:
        return START + datetime.timedelta(seconds=second)

    given = [("a", at(3), 1), ("a", at(2), 2), Watermark(at(8)), ("a", at(9), 4), ("a", at(7), 8), ("b", at(12), 16)]
    assert counted(app.test({"Rows": given})["Out"]) == Counter({("a", at(9), 7): 1, ("b", at(12), 16): 1})
