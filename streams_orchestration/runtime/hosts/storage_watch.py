"""Reports in the catalog that a host does not reach the storage, also while no batch needs the storage."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from streams_orchestration.runtime import clock
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.recurring import RecurringErrors
from streams_orchestration.runtime.storage.store import Store, StoreError

LOOK_SECONDS = 10.0
"""Seconds between two looks, each of two requests to an object store, or one to the system."""

log = logging.getLogger("streams.host")


class StorageWatch:
    """Looks at the storage that machines share, on a thread of its own, since an answer may be long in coming.

    Args:
        store: of the application.
        report: writes values into the host's row.
    """

    def __init__(self, store: Store, report: Callable[..., None]) -> None:
        self._store = store
        self._report = report
        self._reported: str | None = ""
        """The error in the host's row, as last written; at first that of an earlier host may be there."""
        self._since: float | None = None
        self._errors = RecurringErrors(log)

    def start(self) -> None:
        """Start to look; a state directory is not looked at."""
        if self._store.address:
            threading.Thread(target=self._watch, daemon=True).start()

    def look(self) -> None:
        """Look once, and report what has changed; what the catalog does not take now is reported by the next look."""
        try:
            self._store.reach()
            error = None
        except StoreError as trouble:
            error = str(trouble)
        if error is None:
            self._since = None
        elif self._since is None:
            self._since = clock.now()
            log.warning("The storage is not reached: %s", error)
        if error != self._reported:
            try:
                self._report(storage_error=error, storage_failed_at=self._since)
                self._reported = error
            except StreamsRuntimeError:
                log.debug("the catalog is away, too", exc_info=True)

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            with self._errors.survived("the storage cannot be looked at"):
                self.look()
            pause.wait(LOOK_SECONDS)
