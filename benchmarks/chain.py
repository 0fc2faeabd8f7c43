"""A chain of eight operators, fused into one PE and unfused, a PE each, on one host."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.home import Home

OPERATORS = 8
TUPLES = 6_000_000
ROUNDS = 2


def spec(directory: Path, tuples: int) -> Path:
    """A source, six operators that add one to every number, and a sink."""
    graph = [graphs.beacon("Stage1", tuples)]
    graph += [graphs.node(f"Stage{n}", "Add", f"Stage{n - 1}") for n in range(2, OPERATORS)]
    return graphs.write(directory, "chain", [*graph, graphs.sink("Result", f"Stage{OPERATORS - 1}")])


def throughput(pes: int, tuples: int) -> tuple[float, pa.Table]:
    """Tuples a second at the end of the chain, after start-up, and what arrived there, in order."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        options = ("--fusion", "manual", "--pes", str(pes), "--threading", "manual")
        done = run(spec(Path(scratch), tuples), Home(Path(scratch, "home")), "Result", *options)
        files = (done.home.results("chain") / "Result").glob("part-*")
        result = pa.concat_tables([pq.read_table(file) for file in files]).sort_by("n")
    assert done.tuples == tuples, (done.tuples, tuples)
    print(f"  {pes} PEs: {done.steady:,.0f} tuples/s", file=sys.stderr, flush=True)
    return done.steady, result


def rows(*, quick: bool = False) -> list[Row]:
    """Throughput, and what each border between PEs costs."""
    tuples = TUPLES // 3 if quick else TUPLES
    fused = unfused = 0.0
    for _ in range(1 if quick else ROUNDS):
        one, expected = throughput(1, tuples)
        many, found = throughput(OPERATORS, tuples)
        assert found.equals(expected), "fused and unfused chains give different results"
        fused, unfused = max(fused, one), max(unfused, many)
    border = (1 / unfused - 1 / fused) / (OPERATORS - 1)
    return [
        Row(f"chain of {OPERATORS} operators, fused / {OPERATORS} PEs", fused, "/s", unfused, 5.0, at_least=True),
        Row("each further PE, per million tuples / the whole chain fused", border * 1e6, "s", 1e6 / fused),
    ]
