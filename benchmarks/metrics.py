"""The cost of metrics: the same batches with measuring on and off, by turns. Throughput may lose 2 %.

Without Spark PEs are stepped in this process, every other pair of batches measured, and processor time counts, since
the disk's is the same for both. With Spark a host runs a PE of three levels by turns; medians of triggers count.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import graphs
from benchmarks.harness import Row
from benchmarks.microbatch import durations
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication

BATCHES, WARM = 150, 10
"""The counted batches of each kind, and the batches before them."""
TARGET = 1.02


def application() -> PlannedCompilation:
    """Return a source, filters and functors in a row and in two channels, and a merge, all of little work."""

    def node(name: str, operator: str, stream: str, **parameters: Any) -> dict[str, Any]:
        return graphs.node(name, operator, stream, parameters=parameters)

    by_key = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    channels = {"name": "PerKey", "operator": "Channel", "inputs": ["F2"], "outputs": ["PerKey"], "annotations": by_key}
    channel = [
        node("C1", "Functor", "In", output={"n": "n + 1"}),
        node("C2", "Filter", "C1", filter="n > 0"),
        node("C3", "Functor", "C2", output={"n": "n - 1"}),
    ]
    graph = [
        graphs.beacon("Made"),
        node("F1", "Functor", "Made", output={"n": "n * 2"}),
        node("F2", "Filter", "F1", filter="n >= 0"),
        channels,
        node("F3", "Filter", "PerKey", filter="n >= 0"),
        node("F4", "Filter", "F3", filter="n < 0"),
    ]
    composites = {"Channel": {"inputs": ["In"], "outputs": ["C3"], "graph": channel}}
    document = graphs.document("measured", graph, composites)
    return compile_application(application_from_mapping(document), Options(fusion="manual", pes=1))


def by_turns(tuples: int, batches: int) -> tuple[float, float]:
    """Return the processor seconds of a batch with and without measuring."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        local = LocalApplication(Home(Path(scratch) / "home"), application(), tuples)
        (program,) = local.programs
        seconds: dict[bool, list[float]] = {True: [], False: []}
        scratches: dict[bool, dict[int, Scratch]] = {True: {}, False: {}}
        for number in range(2 * (batches + WARM)):
            # two on, two off: whatever comes with every other batch meets both
            local.measured = number % 4 < 2
            local.scratches = scratches[local.measured]
            begin = time.process_time()
            assert local.step(program)
            if number >= 2 * WARM:
                seconds[local.measured].append(time.process_time() - begin)
            local.results.clear()
    off = median(seconds[False])
    # The machine is quicker and slower for a while, so neighbours are compared.
    return off + median(measured - bare for measured, bare in zip(seconds[True], seconds[False], strict=True)), off


def with_spark(rounds: int) -> tuple[float, float]:
    """Return the seconds of a trigger with and without measuring: the least medians, since other work can only add."""
    seconds = durations("metrics", rounds)
    return min(seconds["on"]), min(seconds["off"])


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of batches as large as they grow, and of small ones, which show the fixed cost."""
    batches = BATCHES // 5 if quick else BATCHES
    result = []
    for tuples, share, target in ((1_048_576, 5, TARGET), (65_536, 1, None), (1_000, 1, None)):
        on, off = by_turns(tuples, batches // share)
        what = f"batch of {tuples:,} tuples, measured / not, without Spark"
        result.append(Row(what, on * 1e3, "ms", off * 1e3, target))
    on, off = with_spark(1 if quick else 2)
    result.append(Row("small micro-batch of three levels, measured / not, Spark", on, "s", off))
    return result
