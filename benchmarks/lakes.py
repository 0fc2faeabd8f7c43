"""Rows of a Parquet file appended to a table of Delta Lake, against `deltalake` alone in a loop.

The loop reads the same file with pyarrow, and appends as many rows with each commit as the product does on average. The
product's rows are counted from its first commit to the time that the table itself gives for its last version.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

TUPLES = 10_000_000
ROUNDS = 2


def write_data(path: Path, tuples: int) -> None:
    """Write rows of a few keys and running numbers."""
    rng = np.random.default_rng(7)
    with pq.ParquetWriter(path, pa.schema([("k", pa.string()), ("n", pa.int64())])) as writer:
        for first in range(0, tuples, 1_000_000):
            count = min(1_000_000, tuples - first)
            keys = pa.array(np.array([f"key {number:04}" for number in range(1000)])[rng.integers(1000, size=count)])
            writer.write_table(pa.table({"k": keys, "n": np.arange(first, first + count)}, writer.schema))


def spec(directory: Path, data: Path, table: Path) -> Path:
    """Write the spec of a source and a sink."""
    source = {
        "name": "Rows",
        "operator": "FileSource",
        "outputs": [{"stream": "Rows", "schema": "Row"}],
        "parameters": {"file": str(data), "format": "parquet"},
        "annotations": {"consistent": {"trigger": "periodic", "period": 2.0}},
    }
    lake = {
        "name": "Lake",
        "operator": "DeltaSink",
        "inputs": ["Rows"],
        "outputs": [],
        "parameters": {"table": str(table), "createTable": True},
    }
    return graphs.write(directory, "lake", [source, lake])


def product(directory: Path, data: Path, tuples: int) -> tuple[float, int]:
    """Run the product. Return its rows per second and per commit. Fails if rows are lost, doubled or changed."""
    table = directory / "product"
    done = run(spec(directory, data, table), Home(directory / "home"), ["Rows"], "--fusion", "manual", "--pes", "1")
    began, before = done.points["Rows"][0]
    history = deltalake.DeltaTable(table).history()
    check(table, tuples)
    speed = (tuples - before) / (history[0]["timestamp"] / 1000 - began)
    commits = len(history) - 1
    print(f"  the product: {speed:,.0f} rows/s, {commits} commits", file=sys.stderr, flush=True)
    return speed, tuples // commits


def loop(directory: Path, data: Path, tuples: int, rows: int) -> float:
    """Write with the library alone, and return its rows per second. Fails if rows are lost, doubled or changed."""
    table = directory / "loop"
    began = time.monotonic()
    with pq.ParquetFile(data) as file:
        for batch in file.iter_batches(rows):
            deltalake.write_deltalake(table, pa.table(batch), mode="append")
    speed = tuples / (time.monotonic() - began)
    check(table, tuples)
    print(f"  deltalake in a loop: {speed:,.0f} rows/s", file=sys.stderr, flush=True)
    return speed


def check(table: Path, tuples: int) -> None:
    """Check that the table has every row once."""
    numbers = deltalake.DeltaTable(table).to_pyarrow_table(columns=["n"])["n"].to_numpy()
    numbers.sort()
    assert np.array_equal(numbers, np.arange(tuples)), "rows were lost, doubled or changed"


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio of throughputs, each the best of several rounds."""
    tuples = TUPLES // 3 if quick else TUPLES
    ours = theirs = 0.0
    for _ in range(1 if quick else ROUNDS):
        with TemporaryDirectory(prefix="bench-") as scratch:
            data = Path(scratch, "rows.parquet")
            write_data(data, tuples)
            speed, size = product(Path(scratch), data, tuples)
            ours, theirs = max(ours, speed), max(theirs, loop(Path(scratch), data, tuples, size))
    return [Row("rows appended to a Delta table / deltalake in a loop", ours, "/s", theirs, 0.7, at_least=True)]
