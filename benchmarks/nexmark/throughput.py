"""Events a second of the queries: with standard operators, as queries of Spark's here, and in other tools.

All read the same events, and with Spark in the same batches: slices of Parquet, whose first fifth does not count. Every
tool is one process for all queries. The results of both ways are compared with the results of Spark over all events at
once. Bytewax and Flink read a part of the events, since a row at a time takes them long.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from benchmarks.harness import Row, answer_of
from benchmarks.nexmark.application import QUERIES, result_schema
from benchmarks.nexmark.events import write_events, write_rows

EVENTS, QUICK_EVENTS, SLICE = 6_000_000, 600_000, 100_000
PYFLINK = "STREAMS_BENCH_PYFLINK"
"""Environment: a Python in which `apache-flink` is installed. It cannot be where PySpark is: both need another py4j."""
TARGETS = {"operators": 3.0, "sql": 0.8}
"""The least ratio to Spark, of all queries together."""
Speeds = dict[str, dict[str, float]]
"""Way -> query -> events a second."""


def speeds(events: int, queries: list[str]) -> Speeds:
    """Return the events a second of all tools, which run one after another."""
    with TemporaryDirectory(prefix="bench-") as directory:
        files, results = Path(directory, "events"), Path(directory, "results")
        results.mkdir()
        write_events(files, events, SLICE)
        arguments = (str(files), str(events), str(results), *queries)
        figures: Speeds = {"Spark": answer_of("benchmarks.peers.nexmark_spark", *arguments, quiet=False)}
        figures |= {way: answer_of("benchmarks.nexmark.measuring", way, *arguments, quiet=False) for way in TARGETS}
        for query in queries:
            for way in ("operators", "sql"):
                if query in figures[way]:
                    compare(query, results / f"{query}-{way}", results / f"{query}-batch")
        if find_spec("bytewax"):
            figures["Bytewax"] = answer_of(
                "benchmarks.peers.nexmark_bytewax", str(files), str(events), *queries, quiet=False
            )
        if python := os.environ.get(PYFLINK):
            write_rows(files, Path(directory, "rows"))
            arguments = (f"{directory}/rows", str(events), *queries)
            figures["Flink"] = answer_of("benchmarks.peers.nexmark_flink", *arguments, python=python, quiet=False)
        return figures


def compare(query: str, actual: Path, wanted: Path) -> None:
    """Check that both results have the same rows.

    Raises:
        AssertionError: names the query and how many rows differ.
    """
    names = [part.split(" ")[0] for part in result_schema(query).split(", ")]
    columns = ", ".join(f"round({name}, 6) AS {name}" if name == "average" else f'"{name}"' for name in names)
    with duckdb.connect() as connection:
        one, other = (f"SELECT {columns} FROM '{path}/*.parquet'" for path in (actual, wanted))
        both = f"SELECT count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one}))"
        (different,) = connection.execute(both).fetchone() or (0,)
    assert not different, f"{query}: {different} rows of {actual.name} are others"


def total(own: Mapping[str, float], peer: Mapping[str, float]) -> tuple[float, float]:
    """Return the events a second of each over the queries that both have, one after another."""
    both = own.keys() & peer.keys()
    return tuple(len(both) / sum(1 / each[query] for query in both) for each in (own, peer))  # type: ignore[return-value]


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the totals, and of every query to Spark."""
    figures = speeds(QUICK_EVENTS if quick else EVENTS, list(QUERIES))
    ours = {way: figures.pop(way) for way in TARGETS}
    result = [
        Row(f"Nexmark with {way}, all queries / {peer}", *_parts(total(own, theirs)), target, at_least=True)
        for peer, theirs in figures.items()
        for way, own in ours.items()
        for target in [TARGETS[way] if peer == "Spark" else None]
    ]
    return result + [
        Row(f"Nexmark {query} with {way} / Spark", speed, "/s", figures["Spark"][query])
        for query in QUERIES
        for way, own in ours.items()
        for speed in [own.get(query)]
        if speed is not None and query in figures["Spark"]
    ]


def _parts(speeds: tuple[float, float]) -> tuple[float, str, float]:
    return speeds[0], "/s", speeds[1]
