"""Hangs: an engine that does not answer, and a worker that stands still in a task, are ended; stopped ones are not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from streams_orchestration.runtime.processes import kill, process_started, thread_runs

log = logging.getLogger("streams.hangs")


class EnginePing:
    """Asks something again and again on a thread of its own, so that others see when it is not answered.

    Time counts in beats of who looks, so one that was paused together with all the rest has time to answer.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._due = threading.Event()
        self._answered = True
        self._silent = 0
        threading.Thread(target=self._run, daemon=True).start()

    def beat(self) -> int:
        """Ask once more, unless an answer is due; how many beats one is due."""
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
            except Exception as error:  # noqa: BLE001  what has ended is noticed elsewhere
                log.info("no answer: %s", error)
            self._answered = True


class HungTasks:
    """Workers that have a task to run and in which no thread has run for too long.

    One that computes, reads or writes runs now and then; one that waits for what never comes does not.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._seen: dict[int, tuple[int, float]] = {}
        """Process -> how often its threads have run, and since when that is the same."""

    def look(self, busy: Iterable[int], now: float) -> tuple[int, ...]:
        """End the workers that hang.

        Args:
            busy: processes with a task to run.
            now: seconds of a clock that never goes back.

        Returns:
            Those that were ended.
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
