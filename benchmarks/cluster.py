"""The flights job with its tasks in the executors of a Spark cluster against `local[n]`, after start-up.

A standalone master and a worker with one core for each core of this machine, which they share with the host.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks.flights import COPIES, Data, check, product
from benchmarks.harness import Row
from streams_orchestration_tests.servers.spark import cluster

VARIANTS = ("cluster", "local")
LONG = 4
"""Times as many tuples as `flights` has."""
ROUNDS = 2
AT_LEAST = 0.7


def rows(*, quick: bool = False) -> list[Row]:
    """Measure the variants, and return the ratio of the best throughputs. Fails if their results differ."""
    best = dict.fromkeys(VARIANTS, 0.0)
    with TemporaryDirectory(prefix="flights-") as directory:
        data = Data(Path(directory), copies=COPIES if quick else LONG * COPIES, divided=False)
        for _ in range(1 if quick else ROUNDS):
            results = {}
            for name in VARIANTS:
                with ExitStack() as stack:
                    scratch = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
                    if name == "cluster":
                        made = stack.enter_context(cluster(scratch, workers=os.cpu_count() or 1))
                        where = {"STREAMS_MASTER": made.address, "STREAMS_SPARK_CONF": str(made.conf)}
                        stack.enter_context(patch.dict(os.environ, where))
                    whole, steady, results[name] = product(data, scratch)
                best[name] = max(best[name], steady)
                print(f"  {name}: {whole:.1f} s, {steady:,.0f} tuples/s", file=sys.stderr, flush=True)
            check(results)
    what = f"cluster: {data.tuples / 1e6:.1f} million flights, steady / `local[{os.cpu_count()}]`"
    return [Row(what, best["cluster"], "/s", best["local"], AT_LEAST, at_least=True)]
