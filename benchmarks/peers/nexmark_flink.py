"""Nexmark in Flink: `python -m benchmarks.peers.nexmark_flink FILES EVENTS QUERY...`, where `apache-flink` is.

Each query is SQL of Flink's Table API, streamed over a file of CSV for each kind, since the installed Flink reads no
Parquet. It has two slots, and results go nowhere. The last line printed is JSON, query -> events a second of its job,
start-up of the job included.
"""

# pyright: reportMissingImports=false
# (PyFlink is in an environment of its own)

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

KINDS = {
    "People": "id BIGINT, name STRING, email STRING, city STRING, `state` STRING, micros BIGINT, extra STRING",
    "Auctions": "id BIGINT, item STRING, `initial` BIGINT, reserve BIGINT, micros BIGINT, ending BIGINT, "
    "seller BIGINT, category BIGINT, extra STRING",
    "Bids": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, micros BIGINT, extra STRING",
}
"""Stream -> columns of its file; micros are the time of the event."""
_TEN = "INTERVAL '10' SECOND"
_CLOSING = """SELECT a.id, a.category, MAX(b.price) AS latest FROM Auctions a JOIN Bids b ON a.id = b.auction
    WHERE b.micros BETWEEN a.micros AND a.ending GROUP BY a.id, a.category"""
_RANKS = {"": "TRUE", "low_": "price < 10000", "middle_": "price BETWEEN 10000 AND 999999", "high_": "price >= 1000000"}
_COUNTED = {"bids": "*", "bidders": "DISTINCT bidder", "auctions": "DISTINCT auction"}
_HOPS = f"TABLE(HOP(TABLE Bids, DESCRIPTOR(moment), INTERVAL '2' SECOND, {_TEN}))"
SQL = {
    "q0": "SELECT auction, bidder, price, moment, extra FROM Bids",
    "q1": "SELECT auction, bidder, price * CAST(0.908 AS DOUBLE) AS price, moment FROM Bids",
    "q2": "SELECT auction, price FROM Bids WHERE MOD(auction, 123) = 0",
    "q3": """SELECT p.name, p.city, p.`state`, a.id FROM Auctions a JOIN People p ON a.seller = p.id
             WHERE a.category = 10 AND p.`state` IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, AVG(latest) AS average FROM ({_CLOSING}) GROUP BY category",
    "q5": f"""SELECT window_start, auction, n FROM (
                  SELECT *, RANK() OVER (PARTITION BY window_start, window_end ORDER BY n DESC) AS place FROM (
                      SELECT window_start, window_end, auction, COUNT(*) AS n FROM {_HOPS}
                      GROUP BY window_start, window_end, auction)) WHERE place = 1""",
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


def main(files: str, events: str, *queries: str) -> None:
    """Measure."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {"parallelism.default": str(os.cpu_count() or 1), "table.local-time-zone": "UTC"}
    for name, value in settings.items():
        environment.get_config().set(name, value)
    for stream, columns in KINDS.items():
        environment.execute_sql(
            f"CREATE TABLE {stream} ({columns}, moment AS TO_TIMESTAMP_LTZ(micros / 1000, 3), "
            f"WATERMARK FOR moment AS moment) WITH ('connector' = 'filesystem', 'path' = "
            f"'{Path(files).absolute() / stream}.csv', 'format' = 'csv')"
        )
    rates: dict[str, float] = {}
    for query in queries:
        if query not in SQL:
            continue
        columns = environment.sql_query(SQL[query]).get_schema()
        types = ", ".join(f"`{name}` {columns.get_field_data_type(name)}" for name in columns.get_field_names())
        sink = types.replace("NOT NULL", "").replace("*ROWTIME*", "")
        environment.execute_sql(f"CREATE TABLE Out_{query} ({sink}) WITH ('connector' = 'blackhole')")
        job = environment.execute_sql(f"INSERT INTO Out_{query} {SQL[query]}").get_job_client()
        assert job is not None
        result = job.get_job_execution_result().result()
        rates[query] = int(events) / (result.get_net_runtime() / 1000)
        print(f"  {query} in Flink: {rates[query]:,.0f} events/s", file=sys.stderr, flush=True)
    print(json.dumps(rates))


if __name__ == "__main__":
    main(*sys.argv[1:])
