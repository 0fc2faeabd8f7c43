"""The cost of a consistent region: throughput with an epoch every five seconds, against the same graph in no region."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

TUPLES = 24_000_000
ROUNDS = 3
PERIOD = 5.0
TARGET = 0.9


def spec(directory: Path, region: bool, tuples: int) -> Path:
    """Write the spec of a source, an operator with a state for every key, and a sink, in two PEs."""
    source = graphs.beacon("Made", tuples)
    source["annotations"] = (
        {"consistent": {"trigger": "periodic", "period": PERIOD}} if region else {"autonomous": True}
    )
    apart = {"placement": {"partitionIsolation": True}}
    graph = [source, graphs.node("Counted", "Totals", "Made"), graphs.sink("Result", "Counted") | {"config": apart}]
    return graphs.write(directory, "region", graph)


def throughput(region: bool, tuples: int) -> float:
    """Return the tuples a second after start-up."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        done = run(spec(Path(scratch), region, tuples), Home(Path(scratch, "home")), ["Made", "Result"])
        files = (done.home.results("region") / "Result").glob("part-*")
        assert sum(pq.read_metadata(file).num_rows for file in files) == tuples, "tuples were lost or doubled"
    speed = done.through("Made", "Result")
    print(f"  {'in a region' if region else 'in no region'}: {speed:,.0f} tuples/s", file=sys.stderr, flush=True)
    return speed


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio of the best throughputs; both take turns."""
    tuples = TUPLES // 6 if quick else TUPLES
    best = {True: 0.0, False: 0.0}
    for _ in range(1 if quick else ROUNDS):
        best = {region: max(least, throughput(region, tuples)) for region, least in best.items()}
    return [Row("a region with an epoch every 5 s / none", best[True], "/s", best[False], TARGET, at_least=True)]
