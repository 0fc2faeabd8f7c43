"""Background threads of an operator, and the processor time that they use."""

from __future__ import annotations

import time
from collections.abc import Callable

from streams_orchestration import world

_LOCK = world.Lock()
_ALIVE: set[Background] = set()
_ENDED = [0]
"""Total processor time in nanoseconds of all background threads that have ended."""


class Background:
    """The daemon threads of one owner. They end with the process at the latest."""

    def __init__(self) -> None:
        self._clocks: dict[world.Thread, int] = {}
        self._ended = 0
        self._reported = 0

    def start(self, target: Callable[[], None]) -> None:
        """Start a daemon thread that runs `target` and has its processor time counted."""
        world.Thread(target=self._run, args=(target,), daemon=True).start()

    def _run(self, target: Callable[[], None]) -> None:
        thread = world.current_thread()
        with _LOCK:
            if hasattr(time, "pthread_getcpuclockid"):
                self._clocks[thread] = time.pthread_getcpuclockid(world.thread_id())
            _ALIVE.add(self)
        try:
            target()
        finally:
            with _LOCK:
                # a thread's clock must not be read after the thread has ended
                if self._clocks.pop(thread, None) is not None:
                    spent = time.thread_time_ns()
                    self._ended += spent
                    _ENDED[0] += spent
                if not self._clocks:
                    _ALIVE.discard(self)

    def cpu_ns(self) -> int:
        """Return the processor time in nanoseconds that all the owner's threads have used so far; 0 if unknown."""
        with _LOCK:
            return self._ended + sum(time.clock_gettime_ns(clock) for clock in self._clocks.values())

    def taken_ns(self) -> int:
        """Return the processor time in nanoseconds since the last call, and begin to count again."""
        before, self._reported = self._reported, self.cpu_ns()
        return self._reported - before


def background_cpu_ns() -> int:
    """Return the processor time in nanoseconds of all background threads of this process, also of ended ones."""
    if not _ALIVE:
        return _ENDED[0]
    with _LOCK:
        return _ENDED[0] + sum(time.clock_gettime_ns(clock) for owner in _ALIVE for clock in owner._clocks.values())
