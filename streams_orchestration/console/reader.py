"""The one reader of the catalog behind all pages: it keeps the last snapshots, and sends news to the pages."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.console.histories import History
from streams_orchestration.console.snapshots import snapshot
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime import api

SHOWN_SECONDS = 2.0
"""Seconds between two looks at an application that a page shows."""
REST_SECONDS = 5.0
"""Seconds between two looks at all others, for their history."""
SHARE, LONGEST_SECONDS = 0.01, 20.0
"""Largest share of a processor for looks, and longest seconds between two looks: slow looks become less frequent."""
BEAT_SECONDS = 3.0
"""Seconds between two heartbeats to a page while there is no event: without them a page cannot tell a network that is
silent from a reader that is slow."""
STALE_SECONDS = 60.0
"""Seconds without an event after which a page is told that what it shows is old."""
log = logging.getLogger("streams.console")
QUEUED = 2
"""Snapshots that a page may be behind; older ones are dropped."""


@dataclass(slots=True)
class Reader:
    """Reads the applications of one state directory, or of one name only.

    Everything that reads is called in threads; pages, their queues and the loop belong to the event loop.
    """

    home: api.Home
    only: str | None = None
    histories: dict[str, History] = field(default_factory=dict[str, History])
    _pages: dict[str, set[asyncio.Queue[str | None]]] = field(
        default_factory=dict[str, set["asyncio.Queue[str | None]"]]
    )
    _compilations: dict[str, tuple[tuple[str, float], Compilation]] = field(
        default_factory=dict[str, tuple[tuple[str, float], Compilation]]
    )
    _costs: dict[str, float] = field(default_factory=dict[str, float])
    """Processor seconds of the last look at an application."""
    _latest: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    """The last event of an application, and the time of `time.monotonic` when it was made."""
    _errors: api.RecurringErrors = field(default_factory=lambda: api.RecurringErrors(log))
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def applications(self) -> tuple[str, ...]:
        """Return the names of the deployed applications that may be shown."""
        names = api.deployed_applications(self.home)
        return names if self.only is None else tuple(name for name in names if name == self.only)

    def require(self, application: str) -> None:
        """Raise an error for an application that is not shown here.

        Raises:
            NotDeployedError: it is not deployed, or another one is asked for than the console shows.
        """
        if self.only not in (None, application):
            raise api.NotDeployedError(application, (self.only or "",), self.home.root)

    def snapshot(self, application: str) -> dict[str, Any]:
        """Return the current snapshot of an application.

        Raises:
            NotDeployedError: it is not deployed, or not shown here.
        """
        self.require(application)
        now = api.now()
        status, metrics = api.read_status(self.home, application), api.read_metrics(self.home, application, now)
        taken = snapshot(status, metrics, api.read_cuts(self.home, application), now)
        with self._reading:
            self.histories.setdefault(application, History()).add(taken)
        return taken

    def compilation(self, application: str) -> Compilation:
        """Return the plan that an application runs with, read once for each deployment.

        Raises:
            NotDeployedError: it is not deployed, or not shown here.
        """
        self.require(application)
        status = api.read_status(self.home, application)
        mark = (status.fingerprint, status.deployed_at)
        with self._reading:
            kept = self._compilations.get(application)
        if kept is None or kept[0] != mark:
            kept = (mark, api.deployed_compilation(self.home, application))
            with self._reading:
                self._compilations[application] = kept
        return kept[1]

    async def run(self) -> None:
        """Read until it is cancelled: what pages show soon again, the rest for its history."""
        elapsed = REST_SECONDS
        while True:
            every = elapsed >= REST_SECONDS
            elapsed = 0.0 if every else elapsed
            names = await asyncio.to_thread(self._names) if every else list(self._pages)
            for name in names:
                self._send(name, await asyncio.to_thread(partial(self._event, name)))
            pause = pause_after(sum(self._costs.get(name, 0.0) for name in names), shown=bool(self._pages))
            await asyncio.sleep(pause)
            elapsed += pause

    def _names(self) -> list[str]:
        """Return the applications to look at; those that pages show if there may be more."""
        try:
            return list(self.applications())
        except Exception as error:  # noqa: BLE001  the pages are told by what is read for them
            self._errors.met("the applications cannot be listed", error)
            return list(self._pages)

    def _send(self, application: str, event: str) -> None:
        for page in self._pages.get(application, ()):
            if page.qsize() >= QUEUED:
                page.get_nowait()
            page.put_nowait(event)

    def _event(self, application: str) -> str:
        """Return one server-sent event: a snapshot, or why there is none. Nothing that is wrong ends the reader."""
        began = time.thread_time()
        try:
            event = _event_text("snapshot", self.snapshot(application))
            self._errors.gone(f"{application} cannot be read")
        except api.NotDeployedError:
            event = _event_text("gone", {"message": f"{application} is not deployed any more."})
        except (api.StreamsRuntimeError, OSError) as error:
            event = _event_text("unreadable", {"message": masked(str(error))})
        except Exception as error:  # noqa: BLE001  a defect; what is shown is not to look as if it were current
            self._errors.met(f"{application} cannot be read", error)
            message = f"{application} cannot be read: {masked(repr(error))}. The terminal of the console shows where."
            event = _event_text("unreadable", {"message": message})
        self._costs[application] = time.thread_time() - began
        self._latest[application] = time.monotonic(), event
        return event

    async def _present(self, application: str) -> str:
        """Return the present event; many pages that are opened at once share one look."""
        async with self._looking:
            at, event = self._latest.get(application, (0.0, ""))
            if not event or time.monotonic() - at > SHOWN_SECONDS:
                event = await asyncio.to_thread(partial(self._event, application))
            return event

    async def events(self, application: str) -> AsyncIterator[str]:
        """Yield the events for one page, from the present state until the page goes or the console stops."""
        page: asyncio.Queue[str | None] = asyncio.Queue()
        self._pages.setdefault(application, set()).add(page)
        try:
            yield "retry: 2000\n\n"
            if not self._closed:
                yield await self._present(application)
            quiet = 0.0
            while not self._closed:
                try:
                    event = await asyncio.wait_for(page.get(), BEAT_SECONDS)
                except TimeoutError:
                    quiet += BEAT_SECONDS
                    yield _quiet_event(quiet)
                    continue
                if event is None:
                    break
                quiet = 0.0
                yield event
        finally:
            self._pages[application].discard(page)
            if not self._pages[application]:
                del self._pages[application]

    @property
    def pages(self) -> int:
        """Return the number of pages that listen."""
        return sum(map(len, self._pages.values()))

    def close(self) -> None:
        """End what pages are sent; from the event loop."""
        self._closed = True
        for pages in self._pages.values():
            for page in pages:
                page.put_nowait(None)


def _quiet_event(quiet: float) -> str:
    """Return a heartbeat, or after so many seconds without an event one that says so: the page would look current."""
    if quiet < STALE_SECONDS:
        return _event_text("beat", {})
    message = f"Nothing was read for {quiet:.0f} s: the catalog does not answer."
    return _event_text("unreadable", {"message": message})


def pause_after(cost: float, *, shown: bool) -> float:
    """Seconds until the next look.

    Args:
        cost: processor seconds of the last one.
        shown: a page is open.
    """
    return max(SHOWN_SECONDS if shown else REST_SECONDS, min(cost / SHARE, LONGEST_SECONDS))


def _event_text(kind: str, document: dict[str, Any]) -> str:
    """Return an event in the format of server-sent events; JSON holds no line break."""
    return f"event: {kind}\ndata: {json.dumps(document, default=str, allow_nan=False, separators=(',', ':'))}\n\n"
