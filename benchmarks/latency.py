"""From a tuple's creation in the source to a reader of the sink's files: 20,000 tuples a second over two PEs.

Source and filter are in one PE, a FileSink that writes a file for every batch, or every epoch, in another, both in a
region with an epoch a second. Tuples carry the time at which they are due, so what a source does in batches counts. The
reader looks for new files every few milliseconds and takes the time when it has read one. The first seconds do not
count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from benchmarks.application import COMMAND, environment
from benchmarks.harness import Row
from streams_orchestration.runtime.storage.home import Home

RATE = 20_000
PERIOD = 1.0
SECONDS, QUICK_SECONDS, WARM_SECONDS = 40.0, 20.0, 8.0
POLL_SECONDS = 0.003
SPEC = """
specVersion: 1
application: latency
schemas: {{Made: "n bigint, made double"}}
operators:
  Clock: {{implementation: "benchmarks.sample_operators:Clock", inputs: [], outputs: [{{}}], singleThreaded: Always}}
graph:
  - name: Made
    operator: Clock
    outputs: [{{stream: Made, schema: Made}}]
    parameters: {{rate: {rate}, tuples: {tuples}}}
    annotations: {{consistent: {{trigger: periodic, period: {period}}}}}
  - {{name: Kept, operator: Filter, inputs: [Made], parameters: {{filter: "n % 10 <> 3"}}}}
  - name: Out
    operator: FileSink
    inputs: [Kept]
    parameters: {{file: out, format: parquet, visibility: {visibility}, {closing}}}
    config: {{placement: {{partitionIsolation: true}}}}
"""
CLOSING = {
    "read_uncommitted": "closeMode: batch",
    "read_committed": "closeMode: epochs, epochsPerFile: 1",
}
TARGETS = (
    ("read_uncommitted", 50, 0.06),
    ("read_uncommitted", 99, 0.2),
    ("read_committed", 99, PERIOD + 0.3),
)


def rows(*, quick: bool = False) -> list[Row]:
    """Return the percentiles of the latency for readers before epochs are complete, and after."""
    latencies = {visibility: seconds(visibility, QUICK_SECONDS if quick else SECONDS) for visibility in CLOSING}
    return [
        Row(
            f"latency of {RATE:,} tuples/s over two PEs, {visibility}, percentile {percentile} / {limit:g} s",
            float(np.percentile(latencies[visibility], percentile)),
            "s",
            limit,
            1.0,
        )
        for visibility, percentile, limit in TARGETS
    ]


def seconds(visibility: str, duration: float) -> np.ndarray:
    """Run the application, and return the seconds of latency of every tuple after the warm-up.

    Args:
        visibility: the visibility of the sink's results.
        duration: the seconds for which the source makes tuples.
    """
    with TemporaryDirectory(prefix="bench-") as directory:
        spec, home = Path(directory, "latency.yaml"), Home(Path(directory, "home"))
        tuples = int(duration * RATE)
        text = SPEC.format(rate=RATE, tuples=tuples, period=PERIOD, visibility=visibility, closing=CLOSING[visibility])
        spec.write_text(text, encoding="utf-8")
        made, arrived = read(spec, home)
    assert len(made) == tuples - tuples // 10, f"{len(made)} tuples came of {tuples}, less every tenth"
    late = arrived - made
    return late[made > made.min() + WARM_SECONDS]


def read(spec: Path, home: Home) -> tuple[np.ndarray, np.ndarray]:
    """Run the application, and read its files as they come: when each tuple was made, and when it arrived."""
    log, results = home.root.with_suffix(".log"), home.results("latency") / "out"
    command = [*COMMAND, "run", str(spec)]
    seen: set[str] = set()
    made, arrived = [], []
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=environment(home), stdout=output, stderr=output) as process,
    ):
        ended = False
        while not ended:
            ended = process.poll() is not None  # before the poll, which then sees all that there is
            new = sorted(set(_names(results)) - seen)
            seen.update(new)
            for name in new:
                made.append(pq.read_table(results / name, columns=["made"])["made"].to_numpy())
                arrived.append(np.full(len(made[-1]), time.time()))
            time.sleep(POLL_SECONDS)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return np.concatenate(made), np.concatenate(arrived)


def _names(results: Path) -> list[str]:
    try:
        return [name for name in os.listdir(results) if name.startswith("part-")]  # noqa: PTH208  half as long
    except FileNotFoundError:
        return []
