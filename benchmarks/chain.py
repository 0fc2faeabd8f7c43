"""A chain of eight operators, fused into one PE and unfused, a PE each, on one host."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

OPERATORS = 8
TUPLES = 12_000_000
ROUNDS = 2


def spec(directory: Path, tuples: int) -> Path:
    """Write the spec of a source, six operators that add one to every number, and a sink."""
    graph = [graphs.beacon("Stage1", tuples)]
    graph += [graphs.node(f"Stage{n}", "Add", f"Stage{n - 1}") for n in range(2, OPERATORS)]
    return graphs.write(directory, "chain", [*graph, graphs.sink("Result", f"Stage{OPERATORS - 1}")])


def throughput(pes: int, tuples: int) -> float:
    """Return the tuples a second from the first commit of the first operator to the last of the last one.

    The result is checked.
    """
    with TemporaryDirectory(prefix="bench-") as scratch:
        options = ("--fusion", "manual", "--pes", str(pes), "--threading", "manual")
        done = run(spec(Path(scratch), tuples), Home(Path(scratch, "home")), ["Stage1", "Result"], *options)
        files = (done.home.results("chain") / "Result").glob("part-*")
        numbers = np.concatenate([pq.read_table(file)["n"].to_numpy() for file in files])
    numbers.sort()
    added = OPERATORS - 2
    assert np.array_equal(numbers, np.arange(added, tuples + added)), "tuples were lost, doubled or changed"
    speed = done.through("Stage1", "Result")
    print(f"  {pes} PEs: {speed:,.0f} tuples/s", file=sys.stderr, flush=True)
    return speed


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio of throughput, and the cost of each border between PEs."""
    tuples = TUPLES // 3 if quick else TUPLES
    fused = unfused = 0.0
    for _ in range(1 if quick else ROUNDS):
        fused = max(fused, throughput(1, tuples))
        unfused = max(unfused, throughput(OPERATORS, tuples))
    border = (1 / unfused - 1 / fused) / (OPERATORS - 1)
    return [
        Row(f"chain of {OPERATORS} operators, fused / {OPERATORS} PEs", fused, "/s", unfused, 5.0, at_least=True),
        Row("each further PE, per million tuples / the whole chain fused", border * 1e6, "s", 1e6 / fused),
    ]
