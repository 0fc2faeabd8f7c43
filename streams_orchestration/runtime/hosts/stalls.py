"""Stalled processes: a process of a host that a signal stopped (SIGSTOP) is killed, since its tasks would never end."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import psutil

from streams_orchestration.runtime.processes import ProcessIdentity, is_alive, kill

STALL_SECONDS = 10.0
"""Seconds after which a stopped process is killed. Its tasks are then run again elsewhere."""

log = logging.getLogger("streams.stalls")


class Stalls:
    """Detector of processes that a signal has stopped."""

    def __init__(self) -> None:
        self._since: dict[ProcessIdentity, float] = {}

    def look(self, processes: Iterable[ProcessIdentity], now: float) -> tuple[ProcessIdentity, ...]:
        """Kill the processes that were stopped at every look for `STALL_SECONDS`.

        Args:
            processes: the host's processes.
            now: seconds on a monotonic clock.

        Returns:
            The killed processes.
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
