"""Applications with queries of Spark's, which only hosts with Spark can run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from streams_orchestration_tests.chaos.shapes import Make, Shape, node, sink

RATE = 0.25
"""The source's rate: a query's batch takes a second on a busy machine, and a host some tens of seconds to restart."""
TIMED, WINDOW = "k string, n bigint, ts timestamp, number bigint", "k string, w timestamp, n bigint, s bigint"
PAIR = "k string, n bigint, other bigint"
DELAY = {"attribute": "ts", "delay": "2 seconds"}
COMPOSITES = {
    "Queried": {
        "inputs": ["Timed", "Third"],
        "outputs": ["Windows", "Joined"],
        "config": {"placement": {"partitionColocation": "byChannel()"}},
        "graph": [
            {
                "name": "Windows",
                "operator": "Sql",
                "inputs": ["Timed"],
                "outputs": [{"stream": "Windows", "schema": WINDOW}],
                "parameters": {
                    "query": "SELECT k, window.start AS w, count(*) AS n, sum(number) AS s FROM Timed "
                    "GROUP BY k, window(ts, '10 seconds')",
                    "watermarks": {"Timed": DELAY},
                },
            },
            {
                "name": "Joined",
                "operator": "Sql",
                "inputs": ["Timed", "Third"],
                "outputs": [{"stream": "Joined", "schema": PAIR}],
                "parameters": {
                    "query": "SELECT Timed.k, Timed.n, Third.number AS other FROM Timed LEFT JOIN Third "
                    "ON Timed.n = Third.n "
                    "AND Third.ts BETWEEN Timed.ts - INTERVAL 1 SECOND AND Timed.ts + INTERVAL 1 SECOND",
                    "watermarks": {"Timed": DELAY, "Third": DELAY},
                },
            },
        ],
    }
}
"""A windowed count and a join of two streams, with a watermark each: one query of Spark's."""


def query(make: Make, width: int) -> Shape:
    """Return a tuple operator with state, and behind it queries in channels, with a PE for each channel."""
    by_key = [{"port": port, "attributes": ["k"]} for port in ("Timed", "Third")]
    parallel = {"parallel": {"width": width, "partitionBy": by_key}} if width > 1 else {}
    queried: dict[str, Any] = {
        "name": "Queried",
        "operator": "Queried",
        "inputs": ["Timed", "Third"],
        "outputs": ["Windows", "Joined"],
        "annotations": parallel,
    }
    graph = [
        make.source("A", period=make.period(), rate=RATE),
        node("Timed", "Timed", "A", schema=TIMED),
        node("Third", "Filter", "Timed", schema=TIMED, parameters={"filter": "n % 3 = 0"}),
        queried,
        sink("WindowsOut", "Windows"),
        sink("JoinedOut", "Joined"),
    ]
    return Shape("query", graph, composites=COMPOSITES, needs_spark=True, in_order=True)


QUERIES: dict[str, Callable[[Make], Shape]] = {
    "query": partial(query, width=1),
    "query_in_channels": partial(query, width=3),
}
