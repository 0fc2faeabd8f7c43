"""The cost of an idle application: its processor time while it waits for its next tuple.

Two chains of PEs on one host are compared, so that the cost of the host is known apart from the cost of a PE.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from sqlalchemy import select

from benchmarks import graphs
from benchmarks.application import last_commits, streams
from benchmarks.harness import Row
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home

FEW, MANY = 2, 12
"""The PEs of the short and of the long chain."""
WARM_UP_SECONDS = 10.0
"""From the first tuple in the sink to the beginning of the measurement."""
MEASURED_SECONDS = 60.0
TIMEOUT_SECONDS = 180.0
TARGET = 0.5
"""The most hundredths of a core for a PE."""


def spec(directory: Path, pes: int) -> Path:
    """Write the spec of a source with one tuple now and one in a day, filters that pass it, and a sink; a PE each."""
    apart = {"config": {"placement": {"partitionIsolation": True}}}
    source = graphs.beacon("Made", 2)
    source["parameters"] |= {"period": 86_400.0}
    source["annotations"] = {"autonomous": True}  # an epoch is work
    graph = [source]
    for number in range(pes - 2):
        graph.append(graphs.node(f"Kept{number}", "Filter", graph[-1]["name"]) | apart)
    return graphs.write(directory, "idle", [*graph, graphs.sink("Result", graph[-1]["name"]) | apart])


def processor_seconds(pes: int, seconds: float) -> float:
    """Return the processor time of all processes of a host while nothing happens, in hundredths of a core."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        home = Home(Path(scratch, "home"))
        streams(home, "deploy", str(spec(Path(scratch), pes)))
        try:
            until = time.monotonic() + TIMEOUT_SECONDS
            while not last_commits(home, ["Result"]):
                if time.monotonic() > until:
                    sys.exit("no tuple came to the sink")
                time.sleep(0.2)
            time.sleep(WARM_UP_SECONDS)
            before = _taken(home)
            time.sleep(seconds)
            after = _taken(home)
            return 100 * sum(after[pid] - before.get(pid, 0.0) for pid in after) / seconds
        finally:
            streams(home, "cancel", "idle")


def _taken(home: Home) -> dict[int, float]:
    """Return the processor seconds of each of the host's processes."""
    with Catalog(home).read() as connection:
        hosts = [psutil.Process(pid) for pid in connection.scalars(select(tables.host.c.pid))]
    processes = [process for host in hosts for process in (host, *host.children(recursive=True))]
    return {process.pid: sum(process.cpu_times()[:2]) for process in processes}


def rows(*, quick: bool = False) -> list[Row]:
    """Return the cost of a further PE, and of hosts with few and with many PEs."""
    seconds = MEASURED_SECONDS / 4 if quick else MEASURED_SECONDS
    few, many = processor_seconds(FEW, seconds), processor_seconds(MANY, seconds)
    return [
        Row("idle: one more PE, % of a core", (many - few) / (MANY - FEW), "%", 1.0, TARGET),
        Row(f"idle: a host with {MANY} PEs, % of a core for each", many / MANY, "%", 1.0, TARGET),
        Row(f"idle: a host with {FEW} PEs, % of a core", few, "%", 1.0),
    ]
