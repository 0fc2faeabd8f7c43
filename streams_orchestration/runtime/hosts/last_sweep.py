"""The last removal of garbage before an application counts as complete, since no process looks for files after it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from streams_orchestration import world
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.storage.unusable_files import FileFailure
from streams_orchestration.runtime.units.unusable_files import WAITS

CLEAR_SECONDS = WAITS.longest + WAITS.first
"""Seconds from the first failed attempt after which an application completes although files are left.

Before that, the host leaves a machine whose files it cannot use, if another one takes it (`units/unusable_files.py`).
"""
MIN_ATTEMPTS = 3
"""The least number of attempts, since one may take `CLEAR_SECONDS`; a host may leave its machine after two."""
PAUSES = Pauses(first=1.0, longest=20.0)
"""Pauses between attempts, each of which logs the files that it cannot remove."""

log = logging.getLogger("streams.garbage")


class LastSweep:
    """The attempts of one host to remove the files of an application that no commit names.

    Args:
        clear: one attempt, which returns False if files are left or units are held.
    """

    def __init__(self, clear: Callable[[], bool]) -> None:
        self._clear = clear
        self._failures = 0
        self._since = 0.0
        self._next = 0.0

    @property
    def failure(self) -> FileFailure | None:
        """The failure to remove files; None before the first attempt and after a complete one."""
        if not self._failures:
            return None
        return FileFailure(world.monotonic() - self._since, "files that no commit names cannot be removed")

    def forget(self) -> None:
        """Forget failed attempts. The last one may have failed only because units were held at that time."""
        self._failures = 0

    def __call__(self) -> bool:
        """Try once, unless the pause after a failure lasts (`PAUSES`); return True if the application may complete.

        It may complete if no files are left. It may also complete, with a warning in the log, after at least
        `MIN_ATTEMPTS` failed attempts over at least `CLEAR_SECONDS`.
        """
        if self._failures and world.monotonic() < self._next:
            return False
        if self._clear():
            self._failures = 0
            return True
        now = world.monotonic()
        self._since = self._since if self._failures else now
        self._failures += 1
        self._next = now + PAUSES.after(self._failures)
        if now - self._since < CLEAR_SECONDS or self._failures < MIN_ATTEMPTS:
            return False
        log.warning(
            "The application completes, although files that no commit names could not be removed for %.0f s; the lines "
            "above name them. Once the disk is repaired, starting over with --fresh removes them.",
            now - self._since,
        )
        return True
