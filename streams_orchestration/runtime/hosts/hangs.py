"""Detection of hangs: an engine that does not answer, and workers that make no progress in a task.

Workers that hang are killed here. The class `Stalls` in `heartbeat` handles processes that a signal has stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from streams_orchestration import world
from streams_orchestration.runtime.processes.processes import kill, process_started, thread_runs

log = logging.getLogger("streams.hangs")


class EnginePing:
    """A repeated request to the engine on a thread of its own, so that the host notices if no answer comes.

    A request that raises is logged and counts as answered, since an engine that has ended is noticed elsewhere.

    Time is counted in calls of `beat`, not in seconds: if the whole machine was paused, the engine still has its full
    time to answer.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._due = world.Event()
        self._answered = True
        self._silent = 0
        world.Thread(target=self._run, daemon=True).start()

    def beat(self) -> int:
        """Ask again unless an answer is outstanding; return for how many beats the answer has been outstanding."""
        if self._answered:
            self._silent, self._answered = 0, False
            self._due.set()
        else:
            self._silent += 1
        return self._silent

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            try:
                self._ask()
            except Exception as error:  # noqa: BLE001  an engine that has ended is noticed elsewhere
                log.info("no answer: %s", error)
            self._answered = True


class HungTasks:
    """Detector of workers that have a task, but whose threads were not scheduled for too long.

    A worker that computes, reads or writes is scheduled now and then; a worker in a deadlock is not.

    Args:
        limit: seconds without a scheduled thread after which a worker counts as hung.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._seen: dict[int, tuple[int, float]] = {}
        """Pid -> how often its threads were scheduled, and the time since which that count is unchanged."""

    def kill_hung(self, busy: Iterable[int], now: float) -> tuple[int, ...]:
        """Kill the workers that hang, and log each. A worker whose threads cannot be counted is left alone.

        Args:
            busy: pids of the workers with a task to run.
            now: seconds on a monotonic clock.

        Returns:
            The pids of the killed workers.
        """
        seen: dict[int, tuple[int, float]] = {}
        ended: list[int] = []
        for pid in set(busy):
            runs = thread_runs(pid)
            if runs is None:
                continue
            before, since = self._seen.get(pid, (None, now))
            seen[pid] = (runs, since if runs == before else now)
            if now - seen[pid][1] >= self._limit:
                log.error("pid %s has made no progress in its task for %.0f s and is killed", pid, self._limit)
                kill(pid, process_started(pid))
                ended.append(pid)
        self._seen = seen
        return tuple(ended)
