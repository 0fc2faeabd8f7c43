"""Memory and disk of a host that runs for ten minutes (one with `--quick`).

An endless source, a stateful operator in two channels, windows, and, in a PE of its own, a sink that publishes files
with every epoch. Ten minutes draw `docs/soak.svg` and `docs/soak-disk.svg`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from benchmarks import graphs
from benchmarks.application import streams
from benchmarks.harness import Row
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home

MINUTES, QUICK_MINUTES = 10, 1
SAMPLE_SECONDS = 2.0
TUPLES_A_SECOND = 20_000
DOCS = Path(__file__).parents[1] / "docs"
MEMORY = (
    *(("all", "total", "#1b4f72"), ("JVM", "jvm", "#b9770e")),
    *(("Python workers", "workers", "#1e8449"), ("host process", "host", "#7d3c98")),
)
DISK = (("streams, states and catalog", "disk", "#1b4f72"),)
BARS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """Megabytes at a time. Pages that processes share are divided among them."""

    seconds: float
    host: float
    jvm: float
    workers: float
    disk: float
    """All that the product keeps, without results and logs."""

    @property
    def total(self) -> float:
        return self.host + self.jvm + self.workers


def spec(directory: Path) -> Path:
    """Write a spec that counts tuples by key in two channels, and summarises every 100,000 tuples of a channel."""
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
        graphs.sink("Result", "Both") | {"config": {"placement": {"partitionIsolation": True}}},
    ]
    return graphs.write(directory, "soak", graph, {"Channel": channel})


def sample(home: Home, host: int, began: float) -> Sample:
    """Return the memory of a host's processes now, and the disk space in use."""
    process = psutil.Process(host)
    sizes = {"host": _megabytes(process), "jvm": 0.0, "workers": 0.0, "disk": _kept(home)}
    for child in process.children(recursive=True):
        try:
            sizes["jvm" if child.name() == "java" else "workers"] += _megabytes(child)
        except psutil.NoSuchProcess:
            continue
    return Sample(time.monotonic() - began, **sizes)


def _megabytes(process: psutil.Process) -> float:
    full = process.memory_full_info()
    return getattr(full, "pss", full.rss) / 1e6


def _kept(home: Home) -> float:
    kept = 0
    for directory, _, files in os.walk(home.root):
        if not Path(directory).is_relative_to(home.root / "results") and not Path(directory).is_relative_to(
            home.root / "logs"
        ):
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    kept += Path(directory, file).stat().st_size
    return kept / 1e6


def curve(minutes: float) -> list[Sample]:
    """Deploy the application, sample its memory and disk space, stop it, and return the samples.

    Raises:
        AssertionError: the application does not run, or has failed meanwhile.
    """
    with TemporaryDirectory(prefix="bench-") as directory:
        home = Home(Path(directory, "home"))
        streams(home, "deploy", str(spec(Path(directory))))
        try:
            before = read_status(Catalog(home), "soak")
            (host,) = before.hosts
            assert host.row.pid is not None
            began, samples = time.monotonic(), []
            while time.monotonic() - began < 60 * minutes:
                samples.append(sample(home, host.row.pid, began))
                time.sleep(SAMPLE_SECONDS)
            status = read_status(Catalog(home), "soak")
            assert status.state == "RUNNING", status
            assert [unit.generation for unit in status.units] == [unit.generation for unit in before.units], status
            batches = max(pe.row.batch for pe in status.pes)
            print(f"  {batches} micro-batches, {max(pe.row.rows_in for pe in status.pes):,} tuples", file=sys.stderr)
        finally:
            streams(home, "cancel", "soak")
    return samples


def spark_line(values: list[float], width: int = 60) -> str:
    """Return the curve as one line of text, from zero."""
    parts = [values[len(values) * n // width : max(len(values) * (n + 1) // width, 1)] for n in range(width)]
    most = max(values)
    return "".join(BARS[min(int(mean(part) / most * len(BARS)), len(BARS) - 1)] for part in parts if part)


def picture(samples: list[Sample], curves: Sequence[tuple[str, str, str]]) -> str:
    """Return curves as SVG. The first one must be the highest.

    Args:
        samples: the samples, in order of time.
        curves: the name, the attribute of a sample, and the colour of each curve.
    """
    width, height, left, bottom = 640, 260, 60, 30
    seconds, most = samples[-1].seconds, max(getattr(each, curves[0][1]) for each in samples) * 1.1
    lines = []
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
        lines.append(f'<text x="0" y="{y + 4:.0f}">{most * part / 5:.3g} MB</text>')
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
    """Measure the memory and the disk, draw them in `docs`, and return the ratios of the last quarter to the second."""
    minutes = QUICK_MINUTES if quick else MINUTES
    samples = curve(minutes)
    for field in ("total", "disk"):
        print(f"  {spark_line([getattr(each, field) for each in samples])}", file=sys.stderr, flush=True)
    if not quick:
        (DOCS / "soak.svg").write_text(picture(samples, MEMORY))
        (DOCS / "soak-disk.svg").write_text(picture(samples, DISK))
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[3 * quarter :]
    what = f"over {minutes} min, last quarter / second"
    names = {name: field for name, field, _ in (*MEMORY, *DISK)}
    return [
        Row(
            f"{what}: {name}",
            mean(getattr(each, field) for each in late),
            "MB",
            mean(getattr(each, field) for each in early),
            {"total": 1.05, "disk": 1.1}.get(field),
        )
        for name, field in names.items()
    ]
