"""The single reader of the catalog for all pages: it takes snapshots of applications and sends them to the pages."""

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
"""Seconds between two readings of an application that a page shows."""
HISTORY_POLL_SECONDS = 5.0
"""Seconds between two readings of all other applications, for their history."""
SHARE, LONGEST_SECONDS = 0.01, 20.0
"""Largest share of a processor for readings, and most seconds that a pause is stretched to when readings are slow."""
BEAT_SECONDS = 3.0
"""Seconds between two heartbeats to a page while there is no event. By them a page knows that the network works and
only the reader is slow."""
STALE_SECONDS = 60.0
"""Seconds without an event after which a page gets the message that its data is old."""
log = logging.getLogger("streams.console")
QUEUED = 2
"""The most events that wait for a slow page; older ones are dropped."""


@dataclass(slots=True)
class SnapshotReader:
    """The reader of all applications in one state directory, or of one application only.

    Methods that read the catalog are called in threads. The pages' queues are touched in the event loop only.
    """

    home: api.Home
    only: str | None = None
    histories: dict[str, History] = field(default_factory=dict[str, History])
    _pages: dict[str, set[asyncio.Queue[str | None]]] = field(
        default_factory=dict[str, set["asyncio.Queue[str | None]"]]
    )
    _compilations: dict[str, tuple[tuple[str, str], Compilation]] = field(
        default_factory=dict[str, tuple[tuple[str, str], Compilation]]
    )
    _costs: dict[str, float] = field(default_factory=dict[str, float])
    """Processor seconds of the last reading of an application."""
    _latest: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    """Application -> the time of its last event by `time.monotonic`, and that event."""
    _errors: api.LoopErrors = field(default_factory=lambda: api.LoopErrors(log))
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def applications(self) -> tuple[str, ...]:
        """Return the names of the deployed applications that may be shown."""
        names = api.list_applications(api.Catalog(self.home))
        return names if self.only is None else tuple(name for name in names if name == self.only)

    def require(self, application: str) -> None:
        """Raise an error if this console does not show an application.

        Raises:
            NotDeployedError: the console does not show this application.
        """
        if self.only not in (None, application):
            raise api.NotDeployedError(application, (self.only or "",), self.home.root)

    def snapshot(self, application: str) -> dict[str, Any]:
        """Return the current snapshot of an application.

        Raises:
            NotDeployedError: the application is not deployed, or the console does not show it.
        """
        self.require(application)
        now, catalog = api.now(), api.open_catalog(self.home, application)
        status = api.read_status(catalog, application)
        metrics = api.read_metrics(catalog, application, now)
        return snapshot(status, metrics, api.read_cuts(catalog, application), now)

    def compilation(self, application: str) -> Compilation:
        """Return the deployed plan of an application, which is read once for each deployment.

        Raises:
            NotDeployedError: the application is not deployed, or the console does not show it.
            OtherVersionError: another version of the product deployed the plan.
        """
        self.require(application)
        catalog = api.open_catalog(self.home, application)
        status = api.read_status(catalog, application)
        mark = (status.fingerprint, status.life)
        with self._reading:
            kept = self._compilations.get(application)
        if kept is None or kept[0] != mark:
            kept = (mark, api.read_compilation(catalog, application))
            with self._reading:
                self._compilations[application] = kept
        return kept[1]

    async def run(self) -> None:
        """Poll the applications until cancelled; send events to pages.

        Shown applications are polled often, the others every `HISTORY_POLL_SECONDS`.
        Pauses are longer if readings are slow; see `pause_after`.
        """
        elapsed = HISTORY_POLL_SECONDS
        while True:
            every = elapsed >= HISTORY_POLL_SECONDS
            elapsed = 0.0 if every else elapsed
            names = await asyncio.to_thread(self._names) if every else list(self._pages)
            for name in names:
                self._send(name, await asyncio.to_thread(partial(self._event, name)))
            pause = pause_after(sum(self._costs.get(name, 0.0) for name in names), shown=bool(self._pages))
            await asyncio.sleep(pause)
            elapsed += pause

    def _names(self) -> list[str]:
        """Return all applications; if the catalog cannot be read, log that, and return those that pages show."""
        try:
            return list(self.applications())
        except Exception as error:  # noqa: BLE001  a page gets the error when its application is read
            self._errors.log_new("the applications cannot be listed", error)
            return list(self._pages)

    def _send(self, application: str, event: str) -> None:
        for page in self._pages.get(application, ()):
            if page.qsize() >= QUEUED:
                page.get_nowait()
            page.put_nowait(event)

    def _event(self, application: str) -> str:
        """Read an application, and return a server-sent event: a snapshot, or the error, which is never raised.

        The snapshot is added to the history. The event and the cost of the reading are kept; an unexpected error is
        logged.
        """
        began = time.thread_time()
        try:
            taken = self.snapshot(application)
            with self._reading:
                self.histories.setdefault(application, History()).add(taken)
            event = _event_text("snapshot", taken)
            self._errors.forget(f"{application} cannot be read")
        except api.NotDeployedError:
            event = _event_text("gone", {"message": f"{application} is no longer deployed."})
        except (api.StreamsRuntimeError, OSError) as error:
            event = _event_text("unreadable", {"message": masked(str(error))})
        # a defect; the browser must not show the former state as the current one
        except Exception as error:  # noqa: BLE001
            self._errors.log_new(f"{application} cannot be read", error)
            message = f"{application} cannot be read: {masked(repr(error))}. The terminal of the console shows where."
            event = _event_text("unreadable", {"message": message})
        self._costs[application] = time.thread_time() - began
        self._latest[application] = time.monotonic(), event
        return event

    async def _present(self, application: str) -> str:
        """Return an event that is at most `SHOWN_SECONDS` old; pages opened at once share one reading."""
        async with self._looking:
            at, event = self._latest.get(application, (0.0, ""))
            if not event or time.monotonic() - at > SHOWN_SECONDS:
                event = await asyncio.to_thread(partial(self._event, application))
            return event

    async def events(self, application: str) -> AsyncIterator[str]:
        """Yield the events for one page, beginning with the current state, until the page or the console is closed.

        A slow page loses older events beyond `QUEUED`. While nothing changes there are heartbeats, and after
        `STALE_SECONDS` a warning.
        """
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

    def close(self) -> None:
        """End the events of all pages; called in the event loop."""
        self._closed = True
        for pages in self._pages.values():
            for page in pages:
                page.put_nowait(None)


def _quiet_event(quiet: float) -> str:
    """Return the event for a page without events for this many seconds: a heartbeat, or later a warning of old data."""
    if quiet < STALE_SECONDS:
        return _event_text("beat", {})
    message = f"The catalog has not answered for {quiet:.0f} s; older data are shown. Check its database."
    return _event_text("unreadable", {"message": message})


def pause_after(cost: float, *, shown: bool) -> float:
    """Return the seconds until the next reading: more after a costly one, but no more than `LONGEST_SECONDS`.

    Args:
        cost: the processor seconds of the last reading.
        shown: True if a page is open.
    """
    return max(SHOWN_SECONDS if shown else HISTORY_POLL_SECONDS, min(cost / SHARE, LONGEST_SECONDS))


def _event_text(kind: str, document: dict[str, Any]) -> str:
    """Return an event in the format of server-sent events, with the document as JSON in one line."""
    return f"event: {kind}\ndata: {json.dumps(document, default=str, allow_nan=False, separators=(',', ':'))}\n\n"
