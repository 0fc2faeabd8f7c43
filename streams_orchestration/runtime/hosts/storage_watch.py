"""Reports in the catalog that a host cannot reach the storage, even if no batch needs the storage just now."""

from __future__ import annotations

import logging
from collections.abc import Callable

from streams_orchestration import world
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.storage.store import Store, StoreError

STORAGE_CHECK_SECONDS = 10.0
"""Seconds between two checks. A check makes two requests to an object store, or one system call."""

log = logging.getLogger("streams.host")


class StorageWatch:
    """The check of the shared storage, on a thread of its own, since an answer may take long.

    Args:
        store: the application's storage.
        report: writes the error, and the unix time since which it lasts, into the host's row.
    """

    def __init__(self, store: Store, report: Callable[[str | None, float | None], None]) -> None:
        self._store = store
        self._report = report
        self._reported: str | None = ""
        """The error last written into the host's row; None for no error, and the empty text before the first write."""
        self._since: float | None = None
        self._errors = LoopErrors(log)

    def start(self) -> None:
        """Start the thread, unless the storage is a local state directory, which needs no check."""
        if self._store.address:
            world.Thread(target=self._watch, daemon=True).start()

    def check_storage(self) -> None:
        """Check once, log the first failure after a success, and report a change of the error in the host's row.

        If the catalog is unavailable, the next check reports the change.
        """
        try:
            self._store.reach()
            error = None
        except StoreError as failure:
            error = str(failure)
        if error is None:
            self._since = None
        elif self._since is None:
            self._since = clock.now()
            log.warning("The storage cannot be reached: %s", error)
        if error != self._reported:
            try:
                self._report(error, self._since)
                self._reported = error
            except StreamsRuntimeError:
                log.debug("the catalog cannot be reached, either", exc_info=True)

    def _watch(self) -> None:
        pause = world.Event()
        while True:
            with self._errors.survived("the storage cannot be checked"):
                self.check_storage()
            pause.wait(STORAGE_CHECK_SECONDS)
