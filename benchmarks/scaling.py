"""A parallel region around a slow operator in Python: width 2 against width 1, on as many cores as there are."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

TUPLES = 2_000_000
ROUNDS = 2
TARGET = 1.6
"""Two cores that do nothing but the operator would give 2; they also run the source, the sink, and Spark."""


def spec(directory: Path, width: int, tuples: int) -> Path:
    """Write the spec of a source, a slow operator in every channel, and a sink."""
    parallel = {"parallel": {"width": width}, "threading": {"model": "manual"}}
    return graphs.write(
        directory,
        "scaling",
        [
            graphs.beacon("Made", tuples),
            {"name": "Slow", "operator": "Slow", "inputs": ["Made"], "outputs": ["Slow"], "annotations": parallel},
            graphs.sink("Result", "Slow"),
        ],
        composites={"Slow": {"inputs": ["In"], "outputs": ["Out"], "graph": [graphs.node("Out", "Digest", "In")]}},
    )


def throughput(width: int, tuples: int) -> tuple[float, pa.Table]:
    """Return the tuples a second after start-up, and the result in a comparable order."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        done = run(spec(Path(scratch), width, tuples), Home(Path(scratch, "home")), ["Made"])
        files = (done.home.results("scaling") / "Result").glob("part-*")
        result = pa.concat_tables([pq.read_table(file) for file in files]).sort_by("n")
    assert result.num_rows == tuples, (result.num_rows, tuples)
    speed = done.steady("Made")
    print(f"  width {width}: {speed:,.0f} tuples/s", file=sys.stderr, flush=True)
    return speed, result


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio of both throughputs."""
    tuples = TUPLES // 3 if quick else TUPLES
    best = {1: 0.0, 2: 0.0}
    for _ in range(1 if quick else ROUNDS):
        results = []
        for width, before in best.items():
            speed, result = throughput(width, tuples)
            best[width] = max(before, speed)
            results.append(result)
        assert results[0].equals(results[1]), "the widths give different results"
    return [Row("slow operator in Python, width 2 / width 1", best[2], "/s", best[1], TARGET, at_least=True)]
