"""Another plan that replaces a running one: how long nothing is committed, and how long dividing states takes.

The application has a unit that the redeploys change, its width first and then its hosts, and one that they do not. A
pause is the time from the last commit of the changing unit before a redeploy to its first one after.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import NamedTuple, Self

from benchmarks import graphs
from benchmarks.application import last_commits, streams
from benchmarks.dividing import dividing
from benchmarks.harness import Row
from benchmarks.peers.answer import Point
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics, PeMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.storage.home import Home

NAME = "redeploy"
KEYS = 1_000_000
MADE, BESIDE = 2_000, 20_000
"""Tuples a second of the unit that changes, and of the other one."""
PES = 3
ROUNDS = 3
WARM_SECONDS = 15.0
POLL_SECONDS = 0.05
BATCHES, SPARE = 3.0, 1.0
"""The number of micro-batches that a pause may take, and of seconds in addition."""
NEW_HOST, DIVIDED, UNDISTURBED = 15.0, 5.0, 0.9


def spec(directory: Path, width: int, *, apart: bool = False) -> Path:
    """Write the spec of a unit that counts keys in channels, with an epoch every second, and of another unit."""
    made, beside = graphs.beacon("Made"), graphs.beacon("Beside")
    made["parameters"]["period"], beside["parameters"]["period"] = 1 / MADE, 1 / BESIDE
    made["annotations"] = {"consistent": {"trigger": "periodic", "period": 1.0}}
    beside["annotations"] = {"autonomous": True}
    parallel = {"parallel": {"width": width, "partitionBy": [{"port": "Made", "attributes": ["k"]}]}}
    alone = {"placement": {"partitionIsolation": True} | ({"hostIsolation": True} if apart else {})}
    graph = [
        made,
        graphs.node("Counted", "Keyed", "Made", annotations=parallel),
        graphs.sink("Result", "Counted") | {"config": alone},
        beside,
        graphs.node("On", "Pass", "Beside"),
    ]
    return graphs.write(directory, NAME, graph)


class Beside:
    """Watches from outside how many tuples the unit that does not change has read."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._points: list[Point] = []
        self._over = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def rate(self, begin: float, end: float) -> float:
        """Return the tuples a second between two moments."""
        points = [point for point in self._points if begin <= point[0] <= end]
        (first, before), (last, after) = points[0], points[-1]
        return (after - before) / (last - first)

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self._points += last_commits(self._home, ["On"]).values()


class Paused(NamedTuple):
    """A redeploy, in seconds."""

    pause: float
    batch: float
    """A micro-batch of the slowest PE that changed, on the average before."""
    share: float
    """Throughput of the unit that does not change, while the command ran / before."""


def redeployed(home: Home, beside: Beside, path: Path) -> Paused:
    """Let the application run for a while, and then redeploy it."""
    began, before = time.time(), read_metrics(Catalog(home), NAME)
    time.sleep(WARM_SECONDS)
    batch = slowest_batch(before, read_metrics(Catalog(home), NAME))
    middle = time.time()
    text = streams(home, "redeploy", str(path), "--format", "json")
    ended = time.time()
    pause = json.loads(text[text.index("{") :])["pauseSeconds"]["measured"]
    return Paused(pause, batch, beside.rate(middle, ended) / beside.rate(began, middle))


def slowest_batch(before: ApplicationMetrics, after: ApplicationMetrics) -> float:
    """Return the seconds of a micro-batch, planned, run and committed, of the PE with the longest ones."""
    former = {pe.pe: pe for pe in before.pes}

    def seconds(pe: PeMetrics) -> float:
        old = former[pe.pe]
        whole = sum(getattr(pe, part) - getattr(old, part) for part in ("plan_ns", "spark_ns", "commit_ns"))
        return whole / 1e9 / max(1, pe.batches - old.batches)

    return max(seconds(pe) for pe in after.pes)


def live(rounds: int) -> tuple[list[Paused], list[Paused]]:
    """Return the pauses of redeploys on the same host, and with a new one."""
    same: list[Paused] = []
    new: list[Paused] = []
    with TemporaryDirectory(prefix="bench-") as scratch:
        directory = Path(scratch)
        home = Home(directory / "home").prepare()
        streams(home, "deploy", str(spec(directory, 2)))
        try:
            while len(read_metrics(Catalog(home), NAME).pes) < PES:
                time.sleep(POLL_SECONDS)
            with Beside(home) as beside:
                for _ in range(rounds):
                    for pauses, width, apart in ((same, 3, False), (new, 3, True), (same, 2, True), (None, 2, False)):
                        paused = redeployed(home, beside, spec(directory, width, apart=apart))
                        print(f"  width {width}{', two hosts' if apart else ''}: {paused}", file=sys.stderr, flush=True)
                        if pauses is not None:
                            pauses.append(paused)
        finally:
            streams(home, "cancel", NAME)
    return same, new


def rows(*, quick: bool = False) -> list[Row]:
    """Return the medians of the pauses, and the least times of dividing."""
    same, new = live(1 if quick else ROUNDS)
    pause, batch = (median(values) for values in zip(*((each.pause, each.batch) for each in same), strict=True))
    share = median(each.share for each in (*same, *new))
    made = [
        Row("pause of a redeploy, same hosts / 3 micro-batches + 1 s", pause, "s", BATCHES * batch + SPARE, 1.0),
        Row("pause of a redeploy, a new host / 15 s", median(each.pause for each in new), "s", NEW_HOST, 1.0),
        Row(
            "throughput of a unit that does not change, meanwhile / before", share, "", 1.0, UNDISTURBED, at_least=True
        ),
    ]
    for kind in ("bigint", "string"):
        times = dividing(kind, KEYS // 10 if quick else KEYS)
        what = f"{KEYS // 10 if quick else KEYS:,} {kind} keys, width 2 to 3 / their Arrow files read and written"
        made.append(Row(what, times.divided, "s", times.bare, DIVIDED))
    return made
