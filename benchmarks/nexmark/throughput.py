"""Events a second of the queries in one PE, the generator among its operators, against DuckDB over the same events.

The product's are counted after start-up, as in `flights`, with an epoch every two seconds, state on disk. DuckDB
has all events in memory and gives the result once; its time is that of making the events and of the query.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.application import run
from benchmarks.harness import Row
from benchmarks.nexmark.application import QUERIES, document
from benchmarks.nexmark.events import events
from benchmarks.nexmark.expected import expected
from streams_orchestration.runtime.storage.home import Home

EVENTS = 6_000_000


def product(query: str, count: int) -> float:
    """Events a second after start-up."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        spec = Path(scratch, f"{query}.yaml")
        spec.write_text(json.dumps(document(query, count)), encoding="utf-8")
        done = run(spec, Home(Path(scratch, "home")), ["Events"], "--fusion", "manual", "--pes", "1")
        return done.steady("Events")


def duckdb(query: str, count: int) -> float:
    """Events a second of making them and of the query."""
    began = time.monotonic()
    expected(query, events(0, count))
    return count / (time.monotonic() - began)


def rows(*, quick: bool = False) -> list[Row]:
    """A figure for each query."""
    count = EVENTS // 3 if quick else EVENTS
    measured: list[Row] = []
    for query in QUERIES:
        ours, theirs = product(query, count), duckdb(query, count)
        print(f"  {query}: {ours:,.0f} events/s, DuckDB {theirs:,.0f}", file=sys.stderr, flush=True)
        measured.append(Row(f"Nexmark {query}, events / DuckDB in one go", ours, "/s", theirs))
    return measured
