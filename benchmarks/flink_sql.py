"""Queries of Nexmark with windows of event time, against the same queries as Flink's SQL, in one JVM.

`STREAMS_BENCH_PYFLINK=PYTHON python -m benchmarks flink_sql`, where PYTHON has `apache-flink`. To have one:
`python -m venv flink && flink/bin/pip install apache-flink==2.3.0`. Without it nothing is measured.

Events are shuffled within 4 s of event time, and one in a hundred is later, as in `nexmark --out-of-order`. Flink has
the same rule of watermarks, and as many slots as there are processors, while the operators here run on one thread of
this process, with their states and results on disk. Seconds are by the clock, and of processor time, which tells more
on a busy machine. Flink drops a tuple if its window is closed, and the operators here if the tuple is late. So results
are compared with DuckDB over events of which none is too late.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from benchmarks.harness import Row, answer_of
from benchmarks.nexmark.application import EVENT_TIME
from benchmarks.nexmark.events import events as events_in_order
from benchmarks.nexmark.events import out_of_order, write_events, write_rows
from benchmarks.nexmark.expected import expected
from benchmarks.nexmark.out_of_order import runs
from benchmarks.nexmark.throughput import PYFLINK, SLICE

EVENTS, QUICK_EVENTS = 2_000_000, 600_000
TIMELY = 2 * SLICE
"""The number of events for the comparison of results."""
TARGET = 1.5
FROM_FLINK = {
    "q5": "epoch_ms(column0::TIMESTAMP) // 2000 AS win, column1::BIGINT AS auction, column2::BIGINT AS n",
    "q7": "column0::BIGINT AS auction, column1::BIGINT AS bidder, column2::BIGINT AS price, "
    "epoch_ms(rtrim(column3, 'Z')::TIMESTAMP) AS moment",
    "q8": "column0::BIGINT AS id, column1 AS name, epoch_ms(column2::TIMESTAMP) // 10000 AS win",
    "q11": "column0::BIGINT AS bidder, column1::BIGINT AS n, epoch_ms(column2::TIMESTAMP) AS first, "
    "epoch_ms(column3::TIMESTAMP) - 10000 AS last",
}
"""Query -> columns of Flink's result, which is CSV, as DuckDB has them."""
WANTED = {
    "q5": "win, auction, n",
    "q7": "auction, bidder, price, epoch_us(moment) // 1000 AS moment",
    "q8": "id, name, win",
    "q11": "bidder, n, epoch_us(first) // 1000 AS first, epoch_us(last) // 1000 AS last",
}
"""Query -> columns of DuckDB's result, with times in milliseconds, as Flink has them."""
Speeds = dict[str, tuple[float, float]]
"""Query -> events a second here, and in Flink."""


def speeds(events: int, python: str) -> dict[str, Speeds]:
    """Return speeds by what the seconds are of: of time, or of processor time.

    Args:
        events: the number of events.
        python: a Python with `apache-flink`.
    """
    with TemporaryDirectory(prefix="bench-") as directory:
        files, results = Path(directory, "events"), Path(directory, "results")
        results.mkdir()
        shuffled, rows = files / "shuffled", Path(directory, "rows")
        write_events(shuffled, events, SLICE, numbers=out_of_order(events))
        write_events(files / "timely", TIMELY, SLICE, numbers=out_of_order(TIMELY, late=0))
        for each in ("shuffled", "timely"):
            write_rows(files / each, rows / each)
        given = ("--out-of-order", str(results), str(rows), str(events), *EVENT_TIME)
        theirs = answer_of("benchmarks.peers.nexmark_flink", *given, python=python, quiet=False)
        ours = {query: _seconds(query, shuffled, events, Path(directory)) for query in EVENT_TIME}
        for query in EVENT_TIME:
            compare(query, results / query)
    return {
        what: {query: (events / ours[query][number], theirs[query][number]) for query in EVENT_TIME}
        for number, what in enumerate(("time", "processor time"))
    }


def _seconds(query: str, files: Path, events: int, scratch: Path) -> tuple[float, float]:
    """Return the least seconds of three runs by the clock, and of processor time."""
    run = runs(query, "event_time", files, events, scratch)
    taken: list[tuple[float, float]] = []
    for _ in range(3):
        begin = time.perf_counter()
        processor = run()
        taken.append((time.perf_counter() - begin, processor))
    clock, processors = zip(*taken, strict=True)
    return min(clock), min(processors)


def compare(query: str, results: Path) -> None:
    """Check that Flink and DuckDB have the same result over events of which none is too late.

    Raises:
        AssertionError: names the query and how many rows differ.
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("wanted", expected(query, events_in_order(0, TIMELY)))
        names = [f"column{number}" for number in range(len(connection.table("wanted").columns))]
        rows = f"read_csv('{results}/*', header = false, all_varchar = true, names = {names})"
        one, other = f"SELECT {FROM_FLINK[query]} FROM {rows}", f"SELECT {WANTED[query]} FROM wanted"
        both = f"SELECT count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one}))"
        (different,) = connection.execute(both).fetchone() or (0,)
    assert not different, f"{query}: {different} rows of Flink's are others"


def rows(*, quick: bool = False) -> list[Row]:
    """Measure every query in time and in processor time; without Flink, nothing."""
    python = os.environ.get(PYFLINK)
    if not python:
        print(f"  {PYFLINK} names no Python with apache-flink: left out", file=sys.stderr, flush=True)
        return []
    return [
        Row(f"Nexmark {query} out of order / Flink's SQL, {what}", own, "/s", flink, TARGET, at_least=True)
        for what, figures in speeds(QUICK_EVENTS if quick else EVENTS, python).items()
        for query, (own, flink) in figures.items()
    ]
