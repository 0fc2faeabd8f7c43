"""The applications of the queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.nexmark.events import KINDS, OPEN_TIME

QUERIES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("queries.yaml").read_text("utf-8"))
STREAMED = [query for query, parts in QUERIES.items() if "watermarks" in parts]
"""Those that Spark can stream."""
Way = Literal["operators", "sql"]


def document(query: str, events: int, every: int = 100, *, how: Way = "operators", files: str = "") -> dict[str, Any]:
    """A query with its source, and a sink for its result.

    Args:
        query: as in `queries.yaml`.
        events: how many there are.
        every: microseconds between two events.
        how: with standard operators, or as a query of Spark's.
        files: a directory of `write_events`; else the source makes the events.
    """
    parts = QUERIES[query]
    reads = {stream: schema(stream, names) for stream, names in parts["reads"].items()}
    source = {
        "name": "Events",
        "operator": "Nexmark",
        "outputs": [{"stream": stream, "schema": ddl} for stream, ddl in reads.items()],
        "parameters": {"events": events, "every": every, "streams": list(reads), "files": files},
        "annotations": {"consistent": {"trigger": "periodic", "period": 2.0}},
    }
    operators = parts["operators"] if how == "operators" else [sql_operator(query, every)]
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
                "outputs": [{"mutable": True}] * len(reads),
            }
        },
        "graph": [source, *operators, sink],
    }


def sql_operator(query: str, every: int) -> dict[str, Any]:
    """A query as an operator of Spark's."""
    text, watermarks = sql(query, every)
    return {
        "name": "Result",
        "operator": "Sql",
        "inputs": list(QUERIES[query]["reads"]),
        "outputs": QUERIES[query]["operators"][-1]["outputs"],
        "parameters": {"query": text, "watermarks": watermarks},
    }


def sql(query: str, every: int) -> tuple[str, dict[str, dict[str, str]]]:
    """The text of a query for Spark, and stream -> attribute and delay of its watermark.

    Args:
        query: as in `queries.yaml`.
        every: microseconds between two events.
    """
    longest = f"{OPEN_TIME * every // 1_000_000 + 1} seconds"
    watermarks = {
        stream: {name: value.replace("$longest", longest) for name, value in watermark.items()}
        for stream, watermark in QUERIES[query].get("watermarks", {}).items()
    }
    return QUERIES[query]["sql"].replace("$longest", longest), watermarks


def result_schema(query: str) -> str:
    """The attributes of the result."""
    return QUERIES[query]["operators"][-1]["outputs"][0]["schema"]


def schema(stream: str, names: list[str]) -> str:
    """Some attributes of a stream of events."""
    types = dict(part.split(" ") for part in KINDS[stream].split(", "))
    return ", ".join(f"{name} {types[name]}" for name in names)
