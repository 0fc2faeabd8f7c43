"""Outages of the catalog: long-running processes wait until it is back, and give up after a limit."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import TypeVar

from streams_orchestration import world
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError

Result = TypeVar("Result")

OUTAGE_TIMEOUT_SECONDS = 300.0
"""The seconds after which waiting for the catalog is given up."""
SETTLE_SECONDS = 3.0
"""Seconds after an outage in which hosts write their heartbeats again; until then no host counts as dead."""
PAUSES = Pauses(first=0.05, longest=1.0)
"""Pauses between two attempts to use the catalog."""

LOG = logging.getLogger("streams.catalog")


class Outage:
    """An outage: from the first failure to use the catalog until it can be used again.

    Args:
        limit: the seconds after which the outage is given up; infinite for never.
        log: the logger for the beginning and the end of the outage.
    """

    def __init__(self, limit: float = OUTAGE_TIMEOUT_SECONDS, log: logging.Logger = LOG) -> None:
        self._limit = limit
        self._log = log
        self._began: float | None = None
        self._failures = 0

    def wait_or_raise(self, error: CatalogUnavailableError) -> None:
        """Note that the catalog could not be used, and sleep until the next try; log the beginning of the outage.

        Raises:
            CatalogUnavailableError: the error itself, if the outage lasts longer than the limit.
        """
        now = world.monotonic()
        if self._began is None:
            self._began, self._failures = now, 0
            how_long = f"for {self._limit:.0f} s" if math.isfinite(self._limit) else "until it can be used"
            self._log.warning("%s It is tried again %s.", error, how_long)
        elif now - self._began > self._limit:
            self._log.error("%s Giving up after %.0f s.", error, now - self._began)
            raise error
        self._failures += 1
        world.sleep(PAUSES.after(self._failures))

    def end(self) -> None:
        """Note that the catalog was used, which ends an outage and logs its length."""
        if self._began is not None:
            self._log.info("The catalog can be used again, after %.1f s.", world.monotonic() - self._began)
            self._began = None

    def through(self, action: Callable[[], Result]) -> Result:
        """Repeat an action until the catalog can be used, and return its result.

        Args:
            action: the action; it may be repeated even after a commit whose outcome is unknown.

        Raises:
            CatalogUnavailableError: the outage lasts longer than the limit.
        """
        while True:
            try:
                result = action()
            except CatalogUnavailableError as error:
                self.wait_or_raise(error)
            else:
                self.end()
                return result
