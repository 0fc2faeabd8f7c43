"""From the creation of a tuple in the source to the step of the watermark that it causes, three PEs downstream.

Source, Filter and the operator that handles watermarks are in PEs of their own. The event time of a tuple is the time
at which it is due, without lag, so a watermark is the time at which its tuple was made, and the operator notes when it
sees it. The first seconds do not count.

A watermark is compared with the tuples directly in front. The last tuples of the same batch are younger, by up to the
minimum gap, so they would say how far apart watermarks are, and not whether a watermark waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.application import run
from benchmarks.harness import Row
from benchmarks.latency import QUICK_SECONDS, RATE, SECONDS, WARM_SECONDS
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.storage.home import Home

TARGET_SECONDS = 0.1
SPEC = """
specVersion: 1
application: steps
schemas: {{Made: "n bigint, made double", Timed: "n bigint, at bigint", Step: "at bigint, seen double, step int"}}
operators:
  Clock: {{implementation: "benchmarks.sample_operators:Clock", inputs: [], outputs: [{{}}], singleThreaded: Always}}
graph:
  - name: Made
    operator: Clock
    outputs: [{{stream: Made, schema: Made}}]
    parameters: {{rate: {rate}, tuples: {tuples}}}
    config: {{placement: {{partitionExlocation: apart}}}}
  - name: Timed
    operator: Functor
    inputs: [Made]
    outputs: [{{stream: Timed, schema: Timed}}]
    parameters: {{output: {{at: "CAST(made * 1000 AS BIGINT)"}}}}
    annotations: {{eventTime: {{eventTimeAttribute: at, minimumGap: 0.02}}}}
  - name: Kept
    operator: Filter
    inputs: [Timed]
    parameters: {{filter: "n % 10 <> 3"}}
    config: {{placement: {{partitionIsolation: true}}}}
  - name: Steps
    operator: Custom
    inputs: [Kept]
    outputs: [{{stream: Steps, schema: Step}}]
    parameters:
      function: "benchmarks.event_time_latency:arrived"
      onWatermark: "benchmarks.event_time_latency:seen"
    config: {{placement: {{partitionExlocation: apart, partitionColocation: steps}}}}
  - name: Out
    operator: FileSink
    inputs: [Steps]
    parameters: {{file: out, format: parquet}}
    config: {{placement: {{partitionColocation: steps}}}}
"""


def arrived(batch: TupleBatch) -> Iterator[dict[str, list[Any]]]:
    """Note the time at which tuples are seen, with the greatest of their times."""
    yield {"at": [batch.column("at").max()], "seen": [time.time()], "step": [0]}


def seen(watermark: int) -> Iterator[dict[str, list[Any]]]:
    """Note the time at which a watermark is seen."""
    if watermark != END:
        yield {"at": [watermark], "seen": [time.time()], "step": [1]}


def delays(duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Run the application, and return the seconds until steps of the watermark, and until tuples in front of them.

    Exits if the run fails.
    """
    with TemporaryDirectory(prefix="bench-") as directory:
        spec, home = Path(directory, "steps.yaml"), Home(Path(directory, "home"))
        spec.write_text(SPEC.format(rate=RATE, tuples=int(duration * RATE)), encoding="utf-8")
        run(spec, home, ())
        table = pq.read_table(home.results("steps") / "out")
    at, when, step = (table.column(name).to_numpy() for name in ("at", "seen", "step"))
    order = np.argsort(when, kind="stable")
    at, when, step = at[order], when[order], step[order]
    in_front = np.append((step[:-1] == 0) & (step[1:] == 1), False)
    warm = at / 1000 > at.min() / 1000 + WARM_SECONDS
    late = when - at / 1000
    return late[warm & (step == 1)], late[warm & in_front]


def rows(*, quick: bool = False) -> list[Row]:
    """Measure the median, against the limit and against the tuples that came with the watermarks."""
    steps, tuples = (float(np.median(each)) for each in delays(QUICK_SECONDS if quick else SECONDS))
    what = "event_time_latency: a watermark through three PEs, median"
    return [
        Row(f"{what} / {TARGET_SECONDS:g} s", steps, "s", TARGET_SECONDS, 1.0),
        Row(f"{what} / time by tuples", steps, "s", tuples, 1.2),
    ]
