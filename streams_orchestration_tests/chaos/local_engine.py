"""A substitute for a JVM and its Python workers: one process that forks another one for every query.

A query's process does what Spark has the product do, in the same order: plan, run the tasks level by level, commit when
the next batch is asked for. It ends as Spark's processes do: between two batches when it is told to, at once when its
parent is gone.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path

from streams_orchestration.runtime.engine.spark.rows import PLAN
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.stepping import run_levels

PLANNER_WAIT_SECONDS = 0.25
"""Spark interrupts a planner that waits; here the query checks at this interval whether it is to end."""
STOP = "stop"
"""File in the scratch directory of a query that is to end."""


LOADED = (
    *(
        "polars",
        "pandas",
        "pyarrow.compute",
        "pyarrow.parquet",
        "streams_orchestration.operators.standard.files.file_sink",
    ),
    *("streams_orchestration_tests.chaos.operators", "streams_orchestration_tests.runtime.sample_operators"),
)
"""Before anything is forked: every process needs them."""


def main() -> None:
    """Fork a process for every line of the input, and say its pid."""
    for name in LOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.close(0)
            try:
                run(json.loads(line))
            except BaseException as error:  # noqa: BLE001  this process ends with it
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(pid, flush=True)


def run(options: dict[str, str]) -> None:
    """Run a query until it has to stop."""
    parent, scratch = os.getppid(), Scratch(options["scratch"])
    planner = Planner(options, PLANNER_WAIT_SECONDS)
    at = planner.start()
    while os.getppid() == parent and not (Path(scratch.path) / STOP).exists():
        then = planner.commit_and_plan(at)
        if then != at:
            run_levels(scratch, [(partition, 0, PLAN, 0, 0, plan) for partition, plan in planner.begin_batch(then)])
            at = then


if __name__ == "__main__":
    main()
