"""Watches an application from outside, so that what a fault led to can be told with its times."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field

from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.deployment import FIRST_PLAN
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import find_failures

POLL_SECONDS = 0.1
STATUS_LOOKS = 3
"""Looks between two judgements whether something has failed."""


@dataclass
class Track:
    """The history of one unit; times are unix seconds."""

    generations: list[tuple[float, int]] = field(default_factory=list)
    epochs: list[tuple[float, int]] = field(default_factory=list)
    commits: list[tuple[float, int]] = field(default_factory=list)
    """(time, generation) of commits, as far as they were seen."""
    failed: list[tuple[float, int, str]] = field(default_factory=list)
    """(time, generation, reason) when it was first judged to have failed in that generation."""
    state: str = ""

    def first(self, what: str, after: float) -> float | None:
        """Return the time at which something was first seen after a time."""
        return next((entry[0] for entry in getattr(self, what) if entry[0] > after), None)


class Watch:
    """Looks at the catalog all the time, on a thread of its own."""

    def __init__(self, home: Home, application: str) -> None:
        self.home, self.application = home, application
        self.units: dict[str, Track] = {}
        self.status: ApplicationStatus | None = None
        self.plan = FIRST_PLAN
        """Number of the deployed one."""
        self.resets = 0
        self.idle = set[tuple[str, int]]()
        """Source and number of each decision that partitions are idle."""
        self._reset_counts: dict[str, int] = {}
        self.bytes: list[tuple[float, int]] = []
        """The bytes of streams and states on disk, by time."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._catalog = Catalog(home)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def done(self) -> bool:
        """The application is complete."""
        return self.status is not None and self.status.state == "COMPLETED"

    def fraction(self) -> float:
        """Return 1 when a region is in its last epoch, else 0."""
        return 1.0 if any(track.state == "LAST" for track in self.units.values()) else 0.0

    def _watch(self) -> None:
        for turn in range(10**9):
            if self._over.wait(POLL_SECONDS):
                return
            with contextlib.suppress(StreamsRuntimeError, OSError):
                self._record()
                if turn % STATUS_LOOKS == 0:
                    self._judge()
                if turn % 20 == 0:
                    self._weigh()

    def _record(self) -> None:
        a, u, p = tables.application, tables.unit, tables.pe
        with self._catalog.read() as connection:
            units = connection.execute(select(u).where(u.c.application == self.application)).all()
            committed = connection.execute(
                select(p.c.unit, p.c.committed_at, p.c.position).where(p.c.application == self.application)
            ).all()
            self.plan = connection.scalar(select(a.c.plan).where(a.c.name == self.application)) or FIRST_PLAN
        for _, _, position in committed:
            for source, decisions in position.get("idle", {}).items():
                self.idle |= {(source, each["number"]) for each in decisions}
        now = time.time()
        # a redeploy begins some units and stops others
        self.units = {unit.name: self.units.get(unit.name, Track()) for unit in units}
        for unit in units:
            self.resets += max(unit.reset_count - self._reset_counts.get(unit.name, 0), 0)
            self._reset_counts[unit.name] = unit.reset_count
            track = self.units[unit.name]
            track.state = "LAST" if unit.final_epoch is not None else unit.state
            newest = max((at or 0.0 for name, at, _ in committed if name == unit.name), default=0.0)
            for entries, at, value in (
                (track.generations, now, unit.generation),
                (track.epochs, unit.completed_at or now, unit.completed_epoch),
            ):
                if not entries or entries[-1][1] != value:
                    entries.append((at, value))
            if newest and (not track.commits or newest > track.commits[-1][0]):
                track.commits.append((newest, unit.generation))

    def _judge(self) -> None:
        now = time.time()
        self.status = read_status(Catalog(self.home), self.application)
        for failure in find_failures(self.status, now):
            track = self.units.get(failure.unit, Track())
            if not track.failed or track.failed[-1][1] != failure.generation:
                track.failed.append((now, failure.generation, failure.cause.reason))

    def _weigh(self) -> None:
        data = self.home.data(self.application)
        size = 0
        for kind in ("streams", "states"):
            for path in (data / kind).rglob("*"):
                with contextlib.suppress(OSError):
                    size += path.stat().st_size
        self.bytes.append((time.time(), size))
