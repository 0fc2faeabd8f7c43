"""Outages of the catalog: long-running processes wait until it is back, and give up after a limit."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import TypeVar

from streams_orchestration import world
from streams_orchestration.runtime.errors import CatalogUnavailableError

Result = TypeVar("Result")

LIMIT_SECONDS = 300.0
"""A catalog that was away for so long is not waited for any more."""
SETTLE_SECONDS = 3.0
"""Seconds after an outage within which hosts write a heartbeat again; no host counts as dead before."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries; doubled from the first to the longest."""

LOG = logging.getLogger("streams.catalog")


class Outage:
    """An outage: from the first failure to use the catalog until it can be used again."""

    def __init__(self, limit: float = LIMIT_SECONDS, log: logging.Logger = LOG) -> None:
        self._limit = limit
        self._log = log
        self._began: float | None = None
        self._pause = FIRST_PAUSE

    def met(self, error: CatalogUnavailableError) -> None:
        """Note that the catalog could not be used; sleeps for the pause, or raises when the limit is over.

        Raises:
            CatalogUnavailableError: the error itself, when the outage lasts longer than the limit.
        """
        now = world.monotonic()
        if self._began is None:
            self._began, self._pause = now, FIRST_PAUSE
            how_long = f"for {self._limit:.0f} s" if math.isfinite(self._limit) else "until it can be used"
            self._log.warning("%s It is tried again %s.", error, how_long)
        elif now - self._began > self._limit:
            self._log.error("%s This lasts for %.0f s now, and is not waited for any more.", error, now - self._began)
            raise error
        world.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def over(self) -> None:
        """Note that the catalog was used."""
        if self._began is not None:
            self._log.info("The catalog can be used again, after %.1f s.", world.monotonic() - self._began)
            self._began = None

    def through(self, action: Callable[[], Result]) -> Result:
        """Do something as soon as the catalog lets it.

        Args:
            action: one that may be repeated: after a commit whose outcome is unknown, too.

        Raises:
            CatalogUnavailableError: the outage lasts longer than the limit.
        """
        while True:
            try:
                result = action()
            except CatalogUnavailableError as error:
                self.met(error)
            else:
                self.over()
                return result
