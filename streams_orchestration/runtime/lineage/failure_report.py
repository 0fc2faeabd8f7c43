"""Reports to OpenLineage that an application has failed for good, from processes that are not hosts."""

from __future__ import annotations

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.lineage.client import target


def report_lineage_failure(catalog: Catalog, application: str) -> None:
    """Send a FAIL event if a unit is no longer reset and the event was not sent yet; take a few seconds at most.

    Processes that give up or stop an application call this function, since no host may be alive to send the event.
    """
    if target() is None:
        return
    # imported here, since these load the compiler, which is not needed if nothing is sent
    from streams_orchestration.runtime.lineage.reporter import reporter

    ending = reporter(catalog, application, None)
    ending.start()
    ending.stop()
