"""Tells OpenLineage that an application is given up, for processes that are no host."""

from __future__ import annotations

from streams_orchestration.runtime.lineage.client import target
from streams_orchestration.runtime.storage.home import Home


def report_failure(home: Home, application: str) -> None:
    """Send within a few seconds that a unit is not reset any more, if that is so and was not sent.

    Whoever gives an application up or stops it calls this, since no host may live that does it.
    """
    if target() is None:
        return
    # loads the compiler and more, which those who send nothing do without
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.lineage.reporter import reporter

    ending = reporter(Catalog(home), home, application, None)
    ending.start()
    ending.stop()
