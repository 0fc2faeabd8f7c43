"""The applications of the queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.disorder import LAG, SECOND
from benchmarks.nexmark.events import KINDS, OPEN_TIME

QUERIES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("queries.yaml").read_text("utf-8"))
STREAMED = [query for query, parts in QUERIES.items() if "watermarks" in parts]
"""The queries that Spark can stream."""
EVENT_TIME = [query for query, parts in QUERIES.items() if "eventTime" in parts]
"""The queries with windows of event time."""
ALIKE = [query for query, parts in QUERIES.items() if "inOrder" in parts]
"""The queries with other kinds of operators for events in order, and, for comparison, the same kinds in order."""
Way = Literal["operators", "sql", "event_time", "in_order"]


def document(query: str, events: int, every: int = 100, *, how: Way = "operators", files: str = "") -> dict[str, Any]:
    """Return a query with its source, and a sink for its result.

    Args:
        query: as in `queries.yaml`.
        events: the number of events.
        every: the microseconds between two events.
        how: with standard operators, as a query of Spark's, with windows of event time, or with the same kinds of
            operators for events in order.
        files: a directory of `write_events`; else the source makes the events.
    """
    parts = QUERIES[query]
    reads = {stream: schema(stream, names) for stream, names in parts["reads"].items()}
    annotations: dict[str, Any] = {"consistent": {"trigger": "periodic", "period": 2.0}}
    if how == "event_time":
        annotations["eventTime"] = {"eventTimeAttribute": "moment", "lag": LAG / SECOND}
    sources = [
        {
            "name": name,
            "operator": "Nexmark",
            "outputs": [{"stream": stream, "schema": reads[stream]} for stream in streams],
            "parameters": {"events": events, "every": every, "streams": streams, "files": files},
            "annotations": annotations,
        }
        for name, streams in sources_of(query, how).items()
    ]
    operators = {
        "operators": parts["operators"], "sql": [sql_operator(query, every)], "event_time": parts.get("eventTime", []),
        "in_order": parts.get("inOrder", []),
    }[how]  # fmt: skip
    sink = {
        "name": "Sink", "operator": "FileSink", "inputs": ["Result"],
        "parameters": {"file": "result", "format": "parquet"},
    }  # fmt: skip
    return {
        "specVersion": 1,
        "application": f"nexmark_{query}",
        "operators": {
            "Nexmark": {
                "implementation": "benchmarks.nexmark.events:NexmarkSource",
                "inputs": [],
                "outputs": [{"mutable": True}] * (1 if how == "event_time" else len(reads)),
            }
        },
        "graph": [*sources, *operators, sink],
    }


def sources_of(query: str, how: Way) -> dict[str, list[str]]:
    """Return the streams of each source: one source for all streams, or a source per stream with its own event time."""
    reads = list(QUERIES[query]["reads"])
    return {stream: [stream] for stream in reads} if how == "event_time" else {"Events": reads}


def sql_operator(query: str, every: int) -> dict[str, Any]:
    """Return a query as one operator that Spark runs."""
    text, watermarks = sql(query, every)
    return {
        "name": "Result",
        "operator": "Sql",
        "inputs": list(QUERIES[query]["reads"]),
        "outputs": QUERIES[query]["operators"][-1]["outputs"],
        "parameters": {"query": text, "watermarks": watermarks},
    }


def sql(query: str, every: int, lag: float = 0) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the text of a query for Spark, and stream -> attribute and delay of its watermark.

    Args:
        query: as in `queries.yaml`.
        every: microseconds between two events.
        lag: seconds by which events may be out of order.
    """
    longest = f"{OPEN_TIME * every // 1_000_000 + 1} seconds"
    delays = {"$longest": longest, "0 seconds": f"{lag:g} seconds"}
    given: dict[str, dict[str, str]] = QUERIES[query].get("watermarks", {})
    watermarks = {
        stream: {name: delays.get(value, value) for name, value in watermark.items()}
        for stream, watermark in given.items()
    }
    return QUERIES[query]["sql"].replace("$longest", longest), watermarks


def result_schema(query: str) -> str:
    """Return the attributes of a query's result."""
    return QUERIES[query]["operators"][-1]["outputs"][0]["schema"]


def schema(stream: str, names: list[str]) -> str:
    """Return the schema of some attributes of a stream of events."""
    types = dict(part.split(" ") for part in KINDS[stream].split(", "))
    return ", ".join(f"{name} {types[name]}" for name in names)
