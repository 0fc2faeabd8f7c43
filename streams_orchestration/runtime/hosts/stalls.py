"""Stalled processes: what a host started and a signal stopped (SIGSTOP) is ended, since it would hold all up."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import psutil

from streams_orchestration.runtime.processes import ProcessIdentity, is_alive, kill

STALL_SECONDS = 10.0
"""Seconds after which a process that is stopped counts as lost: its tasks are run again elsewhere."""

log = logging.getLogger("streams.stalls")


class Stalls:
    """Finds processes that stand still, and since when they do."""

    def __init__(self) -> None:
        self._since: dict[ProcessIdentity, float] = {}

    def look(self, processes: Iterable[ProcessIdentity], now: float) -> tuple[ProcessIdentity, ...]:
        """End the processes that were stopped at every look for too long.

        Args:
            processes: of the host.
            now: seconds of a clock that never goes back.

        Returns:
            Those that were ended.
        """
        stopped = [process for process in processes if _stands_still(process)]
        self._since = {process: self._since.get(process, now) for process in stopped}
        ended = tuple(process for process, since in self._since.items() if now - since >= STALL_SECONDS)
        for process in ended:
            log.error("pid %s was stopped for %.0f s and is killed: %s", process.pid, STALL_SECONDS, process.command)
            kill(process.pid, process.started)
        return ended


def _stands_still(process: ProcessIdentity) -> bool:
    try:
        return is_alive(process.pid, process.started) and psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False
