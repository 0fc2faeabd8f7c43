"""Nexmark in Flink: `python -m benchmarks.peers.nexmark_flink FILES EVENTS QUERY...`, where `apache-flink` is.

Each query is SQL of Flink's Table API, streamed over a file of CSV for each kind, since the installed Flink reads no
Parquet. It has a slot for each processor, in one JVM, and results go nowhere. The last line printed is JSON, query ->
events a second of its job, start-up of the job included.

With `--out-of-order RESULTS` in front, each query reads `FILES/timely` first, into CSV in `RESULTS`, which also warms
the JVM up, and then `FILES/shuffled`. Watermarks have the lag and follow every event, as in the operators that Flink is
compared with. The last line is then JSON, query -> events a second, and events a second of processor time.
"""

# pyright: reportMissingImports=false
# (PyFlink is in an environment of its own)

from __future__ import annotations

import json
import os
import sys
from itertools import chain
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

KINDS = {
    "People": "id BIGINT, name STRING, email STRING, city STRING, `state` STRING, micros BIGINT, extra STRING",
    "Auctions": "id BIGINT, item STRING, `initial` BIGINT, reserve BIGINT, micros BIGINT, ending BIGINT, "
    "seller BIGINT, category BIGINT, extra STRING",
    "Bids": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, micros BIGINT, extra STRING",
}
"""Stream -> columns of its file; micros are the time of the event."""
LAG = "4.001"
"""Seconds by which watermarks lie behind events that are out of order. Flink completes a window a millisecond before
its end, so with one more than the lag it takes and drops what the others take and drop.
"""
_TEN = "INTERVAL '10' SECOND"
_CLOSING = """SELECT a.id, a.category, MAX(b.price) AS latest FROM Auctions a JOIN Bids b ON a.id = b.auction
    WHERE b.micros BETWEEN a.micros AND a.ending GROUP BY a.id, a.category"""
_RANKS = {"": "TRUE", "low_": "price < 10000", "middle_": "price BETWEEN 10000 AND 999999", "high_": "price >= 1000000"}
_COUNTED = {"bids": "*", "bidders": "DISTINCT bidder", "auctions": "DISTINCT auction"}
_COUNTS = f"""SELECT window_start, window_end, auction, COUNT(*) AS n
              FROM TABLE(HOP(TABLE Bids, DESCRIPTOR(moment), INTERVAL '2' SECOND, {_TEN}))
              GROUP BY window_start, window_end, auction"""
SQL = {
    "q0": "SELECT auction, bidder, price, moment, extra FROM Bids",
    "q1": "SELECT auction, bidder, price * CAST(0.908 AS DOUBLE) AS price, moment FROM Bids",
    "q2": "SELECT auction, price FROM Bids WHERE MOD(auction, 123) = 0",
    "q3": """SELECT p.name, p.city, p.`state`, a.id FROM Auctions a JOIN People p ON a.seller = p.id
             WHERE a.category = 10 AND p.`state` IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, AVG(latest) AS average FROM ({_CLOSING}) GROUP BY category",
    "q5": f"""SELECT c.window_start, c.auction, c.n FROM ({_COUNTS}) c JOIN (
                  SELECT window_start, window_end, MAX(n) AS most FROM ({_COUNTS}) GROUP BY window_start, window_end) m
              ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.n = m.most""",
    "q7": f"""SELECT b.auction, b.bidder, b.price, b.moment FROM Bids b JOIN (
                  SELECT MAX(price) AS most, window_end - INTERVAL '0.001' SECOND AS ending
                  FROM TABLE(TUMBLE(TABLE Bids, DESCRIPTOR(moment), {_TEN})) GROUP BY window_start, window_end) m
              ON b.price = m.most AND b.moment BETWEEN m.ending - {_TEN} AND m.ending""",
    "q8": f"""SELECT p.id, p.name, p.window_start FROM (
                  SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE People, DESCRIPTOR(moment), {_TEN}))
                  GROUP BY id, name, window_start, window_end) p JOIN (
                  SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE Auctions, DESCRIPTOR(moment), {_TEN}))
                  GROUP BY seller, window_start, window_end) a
              ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    "q11": f"""SELECT bidder, COUNT(*) AS n, window_start, window_end
               FROM TABLE(SESSION(TABLE Bids PARTITION BY bidder, DESCRIPTOR(moment), {_TEN}))
               GROUP BY bidder, window_start, window_end""",
    "q12": f"""SELECT bidder, COUNT(*) AS n, window_start FROM TABLE(TUMBLE(TABLE Bids, DESCRIPTOR(moment), {_TEN}))
               GROUP BY bidder, window_start, window_end""",
    "q15": "SELECT `day`, "
    + ", ".join(
        f"COUNT({what}){f' FILTER (WHERE {rank})' if prefix else ''} AS {prefix}{name}"
        for name, what in _COUNTED.items()
        for prefix, rank in _RANKS.items()
    )
    + " FROM (SELECT *, DATE_FORMAT(moment, 'yyyy-MM-dd') AS `day` FROM Bids) GROUP BY `day`",
}
"""The queries but q6, which Flink does not stream either."""


def environment(files: Path, lag: str = "0") -> TableEnvironment:
    """Return what runs queries over the files of a directory; the lag of their watermarks is in seconds."""
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {"parallelism.default": str(os.cpu_count() or 1), "table.local-time-zone": "UTC"}
    if lag != "0":
        settings["pipeline.auto-watermark-interval"] = "0"
    for name, value in settings.items():
        made.get_config().set(name, value)
    for stream, columns in KINDS.items():
        made.execute_sql(
            f"CREATE TABLE {stream} ({columns}, moment AS TO_TIMESTAMP_LTZ(micros / 1000, 3), "
            f"WATERMARK FOR moment AS moment - INTERVAL '{lag}' SECOND) WITH ('connector' = 'filesystem', 'path' = "
            f"'{files.absolute() / stream}.csv', 'format' = 'csv')"
        )
    return made


def seconds(made: TableEnvironment, query: str, results: Path | None = None) -> float:
    """Run a query to its end, and return how long that took; its result goes to CSV or nowhere."""
    options = f"'filesystem', 'path' = '{results.absolute()}', 'format' = 'csv'" if results else "'blackhole'"
    sink = f"CREATE TABLE Out_{query} WITH ('connector' = {options}) AS {SQL[query]}"
    job = made.execute_sql(sink).get_job_client()
    assert job is not None
    return job.get_job_execution_result().result().get_net_runtime() / 1000


def processor_seconds() -> float:
    """Return the processor time of the JVM until now, the only process that was started here."""
    spent = 0
    for process in chain(*(each.read_text("ascii").split() for each in Path("/proc/self/task").glob("*/children"))):
        fields = Path("/proc", process, "stat").read_text("utf-8").rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def out_of_order(results: str, files: str, events: str, *queries: str) -> None:
    """Measure with events out of order."""
    timely, shuffled = (environment(Path(files, each), LAG) for each in ("timely", "shuffled"))
    rates: dict[str, tuple[float, float]] = {}
    for query in queries:
        seconds(timely, query, Path(results, query))
        begin = processor_seconds()
        taken = seconds(shuffled, query)
        rates[query] = int(events) / taken, int(events) / (processor_seconds() - begin)
        print(f"  {query} in Flink: {rates[query][0]:,.0f} events/s", file=sys.stderr, flush=True)
    print(json.dumps(rates))


def main(files: str, events: str, *queries: str) -> None:
    """Measure with events in order."""
    rates: dict[str, float] = {}
    made = environment(Path(files))
    for query in queries:
        if query not in SQL:
            continue
        rates[query] = int(events) / seconds(made, query)
        print(f"  {query} in Flink: {rates[query]:,.0f} events/s", file=sys.stderr, flush=True)
    print(json.dumps(rates))


if __name__ == "__main__":
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-Xmx2g")
    if sys.argv[1] == "--out-of-order":
        out_of_order(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
