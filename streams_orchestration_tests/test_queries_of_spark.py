"""Queries of Spark's in a consistent region: windows, a join, a function with state; their host is killed."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import finish, kill_host, streams, wait_for

pytestmark = [pytest.mark.java, pytest.mark.deep, pytest.mark.usefixtures("no_host_stays")]
ROWS = 1_200
SPEC = """
specVersion: 1
application: queries
schemas:
  Row: "k string, ts timestamp, v bigint"
  Pair: "v bigint, k string, other string"
  Count: "k string, n bigint"
  Window: "k string, w timestamp, n bigint, s bigint"
graph:
  - name: Rows
    operator: FileSource
    outputs: [{stream: Rows, schema: Row}]
    parameters: {file: rows.parquet, format: parquet}
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - {name: Slow, operator: Throttle, inputs: [Rows], outputs: [{stream: Slow, schema: Row}], parameters: {rate: 150.0}}
  - name: Windows
    operator: Sql
    inputs: [Slow]
    outputs: [{stream: Windows, schema: Window}]
    parameters:
      query: SELECT k, window.start AS w, count(*) AS n, sum(v) AS s FROM Slow GROUP BY k, window(ts, '10 seconds')
      watermarks: {Slow: {attribute: ts, delay: 5 seconds}}
    annotations: {parallel: {width: 2, partitionBy: [{port: Slow, attributes: [k]}]}}
  - name: Totals
    operator: DataFrame
    inputs: [Slow]
    outputs: [{stream: Totals, schema: Count}]
    parameters:
      function: totals:totals
      watermarks: {Slow: {attribute: ts, delay: 2 seconds}}
  - {name: WindowsOut, operator: FileSink, inputs: [Windows], parameters: {file: windows, format: parquet}}
  - {name: TotalsOut, operator: FileSink, inputs: [Totals], parameters: {file: totals, format: parquet}}
"""
JOIN = """\
  - name: Even
    operator: Filter
    inputs: [Slow]
    outputs: [{stream: Even, schema: Row}]
    parameters: {filter: v % 2 = 0}
  - name: Joined
    operator: Sql
    inputs: [Slow, Even]
    outputs: [{stream: Joined, schema: Pair}]
    parameters:
      query: |
        SELECT Slow.v, Slow.k, Even.k AS other
        FROM Slow LEFT JOIN Even ON Slow.v = Even.v
          AND Even.ts BETWEEN Slow.ts - INTERVAL 1 SECOND AND Slow.ts + INTERVAL 1 SECOND
      watermarks: {Slow: {attribute: ts, delay: 2 seconds}, Even: {attribute: ts, delay: 2 seconds}}
  - {name: JoinedOut, operator: FileSink, inputs: [Joined], parameters: {file: joined, format: parquet}}
"""
FUNCTION = '''
"""A query that counts the rows of a key, when no more come."""

import datetime

import pandas as pd
from pyspark.sql.streaming import StatefulProcessor


class Total(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.count = handle.getValueState("count", "n bigint")

    def handleInputRows(self, key, rows, timerValues):
        count = self.count.get()[0] if self.count.exists() else 0
        if not count:
            self.handle.registerTimer(int(datetime.datetime(2030, 1, 1).timestamp() * 1000))
        self.count.update((count + sum(len(each) for each in rows),))
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield pd.DataFrame({"k": [key[0]], "n": [self.count.get()[0]]})
        self.count.clear()

    def close(self):
        pass


def totals(rows):
    return rows.groupBy("k").transformWithStateInPandas(Total(), "k string, n bigint", "append", "eventTime")
'''
WANTED = {
    "windows": "SELECT k, time_bucket(INTERVAL 10 SECONDS, ts) AS w, count(*) AS n, sum(v)::BIGINT AS s FROM rows "
    "GROUP BY ALL",
    "joined": "SELECT v, k, CASE WHEN v % 2 = 0 THEN k END AS other FROM rows",
    "totals": "SELECT k, count(*) AS n FROM rows GROUP BY ALL",
}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # Spark's queries compile well, for long runs
    choose, at = random.Random(7), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    rows = []
    for number in range(ROWS):
        at += datetime.timedelta(milliseconds=choose.choice((10, 50, 100, 400)))
        rows.append({"k": f"k{choose.randrange(5)}", "ts": at, "v": number})
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "rows.parquet")
    (tmp_path / "totals.py").write_text(FUNCTION)
    return tmp_path


def results(home: Home, directory: Path, sinks: set[str]) -> dict[str, bool]:
    """Sink -> whether it has what DuckDB computes over the file."""
    same = {}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM '{directory / 'rows.parquet'}'")
        for name in sinks:
            statement = f"SELECT * FROM read_parquet('{home.results('queries')}/{name}/part-*.parquet')"
            same[name] = sorted(connection.execute(statement).fetchall(), key=str) == sorted(
                connection.execute(WANTED[name]).fetchall(), key=str
            )
    return same


def has_state(status: ApplicationStatus) -> bool:
    """There is a cut to go back to; on a slow machine all may come in one epoch, which is not waited for."""
    totals = next(pe for pe in status.pes if "Totals" in pe.row.operators)
    return status.units[0].completed_epoch >= 1 or totals.row.batch >= 3


@pytest.mark.parametrize(
    ("spec", "sinks"),
    [
        pytest.param(SPEC, {"windows", "totals"}, id="windows and a function"),
        pytest.param(SPEC + JOIN, {"windows", "totals", "joined"}, id="a join with them"),
    ],
)
def test_queries_go_back_with_their_region_to_the_result_of_an_undisturbed_run(
    directory: Path, spec: str, sinks: set[str]
) -> None:
    home, file = Home(directory / "home"), directory / "queries.yaml"
    file.write_text(spec)
    with streams(home, "run", str(file), limit=400) as process:
        kill_host(wait_for(home, has_state, "queries"))
        wait_for(home, lambda status: status.units[0].generation > 1, "queries")
        finish(process)
    assert results(home, directory, sinks) == dict.fromkeys(sinks, True)
