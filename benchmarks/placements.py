"""The decided placement among all placements: two slow operators and a quick one between them, measured and compared.

The application runs fused, is profiled meanwhile, and a decision is made from the profile. Then every partition of the
chain into PEs runs, and the decided one should be among the best.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import last_commits, run, streams
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

NAME = "placements"
CHAIN = ("Made", "First", "Quick", "Second", "Result")
FUSED = ("--fusion", "manual", "--pes", "1")
TUPLES = 1_500_000
PROFILED = 8
"""Seconds for which the application is profiled."""
CONTENDERS = 3
"""The number of placements that are measured a second time, besides the decided one."""
TARGET = 0.95
TIMEOUT_SECONDS = 120.0

Placement = tuple[int, ...]
"""The number of the PE of each operator of the chain."""


def spec(directory: Path, tuples: int) -> Path:
    """Write the spec of a source, a slow operator, a quick one, another slow one, and a sink."""
    kinds = {"First": "Digest", "Quick": "Add", "Second": "Digest"}
    middle = [graphs.node(name, kind, before) for (name, kind), before in zip(kinds.items(), CHAIN, strict=False)]
    return graphs.write(directory, NAME, [graphs.beacon("Made", tuples), *middle, graphs.sink("Result", "Second")])


def placements() -> Iterator[Placement]:
    """Yield all partitions of the chain in which streams go forward."""
    for cuts in product((0, 1), repeat=len(CHAIN) - 1):
        yield tuple(sum(cuts[:position]) for position in range(len(CHAIN)))


def decided(tuples: int) -> dict[str, Any]:
    """Return the decision document, from a profile of the fused application at work."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        path, home = spec(Path(scratch), 10 * tuples), Home(Path(scratch, "home"))
        profile, decision = Path(scratch, "profile.yaml"), Path(scratch, "decision.json")
        streams(home, "deploy", str(path), *FUSED)
        until = time.monotonic() + TIMEOUT_SECONDS
        while not last_commits(home, ["Made"]):
            assert time.monotonic() < until, "the application does not begin"
            time.sleep(0.1)
        streams(home, "profile", NAME, "--seconds", str(PROFILED), "--output", str(profile))
        streams(home, "cancel", NAME)
        streams(home, "decouple", str(path), *FUSED, "--profile", str(profile), "--output", str(decision))
        return json.loads(decision.read_text())


def throughput(decision: dict[str, Any], placement: Placement, tuples: int) -> float:
    """Run a placement, and return its tuples per second from the source's first commit to the sink's last."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        file = Path(scratch, "decision.json")
        file.write_text(json.dumps(decision | {"machines": dict(zip(CHAIN, placement, strict=True))}))
        watched = [CHAIN[0], CHAIN[-1]]
        done = run(spec(Path(scratch), tuples), Home(Path(scratch, "home")), watched, *FUSED, "--decoupling", str(file))
        files = (done.home.results(NAME) / "Result").glob("part-*")
        assert sum(pq.read_metadata(each).num_rows for each in files) == tuples, "tuples were lost or doubled"
    speed = done.through(*watched)
    print(f"  {shown(placement)}: {speed:,.0f} tuples/s", file=sys.stderr, flush=True)
    return speed


def shown(placement: Placement) -> str:
    """Return a placement in words: `Made First | Quick | Second Result`."""
    parts = [[name for name, pe in zip(CHAIN, placement, strict=True) if pe == each] for each in sorted({*placement})]
    return " | ".join(" ".join(part) for part in parts)


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the decided placement to the best one, and of the predicted speed-up to the measured one."""
    tuples = TUPLES // 3 if quick else TUPLES
    decision = decided(tuples)
    chosen: Placement = tuple(decision["machines"].get(name, 0) for name in CHAIN)
    print(f"  decided: {shown(chosen)}", file=sys.stderr, flush=True)
    rates = {placement: throughput(decision, placement, tuples) for placement in placements()}
    again = sorted(rates, key=lambda placement: -rates[placement])[:CONTENDERS]
    for placement in dict.fromkeys([*again, chosen, tuple([0] * len(CHAIN))]):
        rates[placement] = max(rates[placement], throughput(decision, placement, tuples))
    ranked = sorted(rates, key=lambda placement: -rates[placement])
    fused = rates[tuple([0] * len(CHAIN))]
    measured = rates[chosen] / fused
    predicted = decision["decision"]["predictedSpeedup"]
    best = rates[ranked[0]]
    rank = ranked.index(chosen) + 1
    return [
        Row(
            f"decided placement (rank {rank} of {len(ranked)}) / the best of all",
            rates[chosen],
            "/s",
            best,
            TARGET,
            True,
        ),
        Row("decided placement / all in one PE", rates[chosen], "/s", fused),
        Row("predicted speed-up / measured", predicted, "", measured),
    ]
