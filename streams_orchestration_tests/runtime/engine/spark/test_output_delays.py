"""By how much the results of a query may be behind its watermark, as found in Spark's plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.runtime.engine.spark.frames.origins import INPUT_ALIAS
from streams_orchestration.runtime.engine.spark.frames.output_delays import (
    OutputDelay,
    UnknownDelayError,
    declared_delay,
    delays_results,
    output_delay,
)

SECOND = 1_000_000
WITHIN = "B.at BETWEEN A.at - INTERVAL 1 SECOND AND A.at + INTERVAL 3 SECONDS"
WINDOWED = "SELECT window, k, count(*) AS n FROM A GROUP BY k, window(at, '10 seconds')"
WAITS = {
    "SELECT k, window.start AS at FROM A GROUP BY k, window(at, '10 seconds')": 10 * SECOND,
    "SELECT k, window.end AS at FROM A GROUP BY k, window(at, '10 seconds', '5 seconds')": 10 * SECOND,
    "SELECT at, count(*) AS n FROM A GROUP BY at": 0,
    "SELECT DISTINCT k, at FROM A": 0,
    f"SELECT A.k, A.at FROM A JOIN B ON A.v = B.v AND {WITHIN}": 3_001_000,
    f"SELECT A.k, A.at FROM A LEFT JOIN B ON A.v = B.v AND {WITHIN}": 3_001_000,
    f"SELECT A.k, A.at FROM A, B WHERE A.v = B.v AND {WITHIN}": 3_001_000,
    "SELECT A.k, A.at FROM A JOIN B ON A.v = B.v AND A.at = B.at": 0,
    f"SELECT sum(n), wide.start AS at FROM (SELECT window(window, '1 minute') AS wide, n FROM ({WINDOWED})) "
    "GROUP BY wide": 70 * SECOND,
    f"WITH W AS ({WINDOWED}) SELECT k, window.start AS at FROM W": 10 * SECOND,
    f"SELECT at FROM (SELECT at FROM A UNION ALL SELECT window.start FROM ({WINDOWED}))": 10 * SECOND,
}
AT_ONCE = {
    "SELECT * FROM A WHERE v > 1": 0,
    "SELECT window(at, '10 seconds').start AS at FROM A": 10 * SECOND,
    "SELECT A.k, A.at FROM A JOIN names ON A.k = names.k": 0,
    "SELECT A.k, A.at FROM A JOIN (SELECT k, count(*) AS n FROM names GROUP BY k) AS sums ON A.k = sums.k": 0,
}
UNKNOWN = {
    "SELECT k, session_window.start AS at FROM A GROUP BY k, session_window(at, '10 seconds')": "a session window",
    "SELECT k, max(at) AS at FROM A GROUP BY k": "it groups by neither a window nor the event time",
    "SELECT k, date_trunc('hour', at) AS at FROM A GROUP BY k, date_trunc('hour', at)": "it groups by neither",
    "SELECT A.k, A.at FROM A JOIN B ON A.v = B.v": "no condition of a join limits the distance",
    "SELECT A.k, A.at FROM A JOIN B ON A.v = B.v AND B.at >= A.at": "no condition of a join limits the distance",
    f"SELECT A.k, A.at FROM A LEFT JOIN B ON A.v = B.v WHERE {WITHIN}": "no condition of a join limits the distance",
}


@pytest.mark.java
def test_the_delay_of_results_is_that_of_windows_and_joins(tmp_path: Path):
    spark = spark_engine().session.newSession()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for port, name in enumerate("AB"):
        stream = spark.readStream.schema("k string, at timestamp, v bigint").parquet(str(tmp_path))
        stream.withWatermark("at", "0 seconds").alias(f"{INPUT_ALIAS}{port}").createOrReplaceTempView(name)
    spark.createDataFrame([("a",)], "k string").createOrReplaceTempView("names")
    for query, wanted in WAITS.items():
        assert output_delay(spark.sql(query)) == OutputDelay(waits=True, microseconds=wanted), query
        assert delays_results(spark.sql(query)), query
    for query, wanted in AT_ONCE.items():
        assert output_delay(spark.sql(query)) == OutputDelay(microseconds=wanted), query
        assert not delays_results(spark.sql(query)), query
    for query, reason in UNKNOWN.items():
        with pytest.raises(UnknownDelayError, match=reason):
            output_delay(spark.sql(query))


def test_a_declared_delay_allows_for_the_milliseconds_of_spark():
    assert declared_delay(1.5, waits=False) == OutputDelay(microseconds=1_500_000)
    assert declared_delay(1.5, waits=True) == OutputDelay(waits=True, microseconds=1_501_000)
