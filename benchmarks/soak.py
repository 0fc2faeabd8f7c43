"""The memory of a host that runs for ten minutes (one with `--quick`): host, JVM and Python workers.

An endless source, a stateful operator in two channels, windows, and files that are published with every epoch. Ten
minutes draw `docs/soak.svg`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from benchmarks import graphs
from benchmarks.harness import Row
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.inspection import read_status

MINUTES, QUICK_MINUTES = 10, 1
SAMPLE_SECONDS = 2.0
TUPLES_A_SECOND = 20_000
PICTURE = Path(__file__).parents[1] / "docs" / "soak.svg"
BARS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """Megabytes at a time; of pages that processes share, each has its part."""

    seconds: float
    host: float
    jvm: float
    workers: float

    @property
    def total(self) -> float:
        return self.host + self.jvm + self.workers


def spec(directory: Path) -> Path:
    """Counts tuples by key in two channels; every 100,000 tuples of a channel are summarised and written."""
    source = graphs.beacon("Made")
    source["parameters"]["period"] = 1 / TUPLES_A_SECOND
    summary = {
        "name": "Out",
        "operator": "Aggregate",
        "inputs": ["Counted"],
        "outputs": [{"stream": "Out", "schema": "Row"}],
        "parameters": {"window": "tumbling, count(100000)", "groupBy": ["k"], "output": {"n": "Max(n)"}},
    }
    channel = {"inputs": ["In"], "outputs": ["Out"], "graph": [graphs.node("Counted", "Totals", "In"), summary]}
    parallel = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    composed = {"name": "Both", "operator": "Channel", "inputs": ["Made"], "outputs": ["Both"]}
    graph = [
        source,
        composed | {"annotations": parallel | {"threading": {"model": "manual"}}},
        graphs.sink("Result", "Both"),
    ]
    return graphs.write(directory, "soak", graph, {"Channel": channel})


def sample(host: int, began: float) -> Sample:
    """The memory of a host's processes now."""
    process = psutil.Process(host)
    found = {"host": _megabytes(process), "jvm": 0.0, "workers": 0.0}
    for child in process.children(recursive=True):
        try:
            found["jvm" if child.name() == "java" else "workers"] += _megabytes(child)
        except psutil.NoSuchProcess:
            continue
    return Sample(time.monotonic() - began, **found)


def _megabytes(process: psutil.Process) -> float:
    full = process.memory_full_info()
    return getattr(full, "pss", full.rss) / 1e6


def curve(minutes: float) -> list[Sample]:
    """Deploy, look at the memory, stop.

    Raises:
        AssertionError: the application does not run, or has failed meanwhile.
    """
    with TemporaryDirectory(prefix="bench-") as directory:
        home = Home(Path(directory, "home"))
        environment = os.environ | {"STREAMS_HOME": str(home.root)}
        streams = (sys.executable, "-m", "streams_orchestration")
        subprocess.run(
            [*streams, "deploy", str(spec(Path(directory)))], env=environment, check=True, capture_output=True
        )
        try:
            before = read_status(home, "soak")
            (host,) = before.hosts
            assert host.pid is not None
            began, samples = time.monotonic(), []
            while time.monotonic() - began < 60 * minutes:
                samples.append(sample(host.pid, began))
                time.sleep(SAMPLE_SECONDS)
            status = read_status(home, "soak")
            assert status.state == "RUNNING", status
            assert [unit.generation for unit in status.units] == [unit.generation for unit in before.units], status
            batches = max(pe.batch for pe in status.pes)
            print(f"  {batches} micro-batches, {max(pe.rows_in for pe in status.pes):,} tuples", file=sys.stderr)
        finally:
            subprocess.run([*streams, "cancel", "soak"], env=environment, check=True, capture_output=True)
    return samples


def spark_line(values: list[float], width: int = 60) -> str:
    """The curve in one line of text, from zero."""
    parts = [values[len(values) * n // width : max(len(values) * (n + 1) // width, 1)] for n in range(width)]
    most = max(values)
    return "".join(BARS[min(int(mean(part) / most * len(BARS)), len(BARS) - 1)] for part in parts if part)


def picture(samples: list[Sample]) -> str:
    """The curves as SVG."""
    width, height, left, bottom = 640, 260, 60, 30
    seconds, most = samples[-1].seconds, max(each.total for each in samples) * 1.1
    lines = []
    curves = (
        *(("all", "total", "#1b4f72"), ("JVM", "jvm", "#b9770e")),
        *(("Python workers", "workers", "#1e8449"), ("host process", "host", "#7d3c98")),
    )
    for number, (name, field, colour) in enumerate(curves):
        points = " ".join(
            f"{left + (width - left) * each.seconds / seconds:.1f},"
            f"{(height - bottom) * (1 - getattr(each, field) / most):.1f}"
            for each in samples
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        lines.append(f'<text x="{left + 20 + 130 * number}" y="{height + 14}" fill="{colour}">{name}</text>')
    for part in range(5):
        y = height - bottom - (height - bottom) * part / 5
        lines.append(f'<text x="0" y="{y + 4:.0f}">{most * part / 5:.0f} MB</text>')
        lines.append(f'<line x1="{left}" y1="{y:.0f}" x2="{width}" y2="{y:.0f}" stroke="#ddd"/>')
    for part in range(5):
        x = left + (width - left) * part / 5
        lines.append(f'<text x="{x:.0f}" y="{height - 12}">{seconds / 60 * part / 5:.0f} min</text>')
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 10} {height + 24}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def rows(*, quick: bool = False) -> list[Row]:
    """The last quarter against the second."""
    minutes = QUICK_MINUTES if quick else MINUTES
    samples = curve(minutes)
    print(f"  {spark_line([each.total for each in samples])}", file=sys.stderr, flush=True)
    if not quick:
        PICTURE.write_text(picture(samples))
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[3 * quarter :]
    what = f"memory of a host over {minutes} min, last quarter / second"
    names = {"all": "total", "JVM": "jvm", "Python workers": "workers", "host process": "host"}
    return [
        Row(
            f"{what}: {name}",
            mean(getattr(each, field) for each in late),
            "MB",
            mean(getattr(each, field) for each in early),
            1.05 if field == "total" else None,
        )
        for name, field in names.items()
    ]
