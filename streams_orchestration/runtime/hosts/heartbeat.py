"""The heartbeat of a host, given while its main loop turns; the same thread kills processes that hang."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import psutil

from streams_orchestration import world
from streams_orchestration.runtime.engine.port import Engine
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.hosts.hangs import EnginePing, HungTasks
from streams_orchestration.runtime.hosts.presence import Presence, UnwantedHostError
from streams_orchestration.runtime.processes.processes import ProcessIdentity, is_alive, kill, process_started

STALL_SECONDS = 10.0
"""Seconds after which a stopped process is killed. Its tasks are then run again elsewhere."""
HANG_CHECK_SECONDS = 1.0
"""Seconds between two checks for threads or engines that hang."""
HEARTBEAT_SECONDS = 5.0
"""Seconds between two heartbeats. A heartbeat that the catalog did not take is retried after `HANG_CHECK_SECONDS`, so
that a host is seen alive soon after an outage (`SETTLE_SECONDS`)."""
STUCK_SECONDS = 60.0
"""Seconds without a turn of the main loop after which the heartbeat stops, so that others see a host that hangs."""
ENGINE_START_SECONDS = 300.0
"""Seconds that the main loop may wait for its engine to start, on a busy machine or for resources of a cluster."""

log = logging.getLogger("streams.host")


class Stalls:
    """Detector of processes that a signal has stopped."""

    def __init__(self) -> None:
        self._since: dict[ProcessIdentity, float] = {}

    def kill_stalled(self, processes: Iterable[ProcessIdentity], now: float) -> tuple[ProcessIdentity, ...]:
        """Kill the processes that were stopped in all checks for `STALL_SECONDS`, with their descendants, and log each.

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


class Heartbeat:
    """The thread that gives the heartbeat and checks for hangs.

    Args:
        presence: the host's row in the catalog.
        hang_limit: seconds without an answer or progress until the engine's process or a worker is killed; 0 for never.
        busy: returns the pids of the workers that have a task to run.
    """

    def __init__(self, presence: Presence, hang_limit: int, busy: Callable[[], Iterable[int]]) -> None:
        self._presence = presence
        self._limit = hang_limit
        self._busy = busy
        self._turned = world.monotonic() + ENGINE_START_SECONDS
        self._engine: Engine | None = None
        self._ping: EnginePing | None = None
        self._stalls = Stalls()
        self._unwanted: float | None = None
        """Monotonic time since which the host is not wanted; None while it is wanted."""
        self._hung: str | None = None
        """The reason why the engine was killed, in words; None unless it was killed for a hang."""

    def start(self) -> None:
        """Start the thread of the heartbeat."""
        world.Thread(target=self.run, daemon=True).start()

    def note_turn(self) -> None:
        """Note that the main loop has made a turn."""
        self._turned = world.monotonic()

    def watch(self, engine: Engine) -> None:
        """Check regularly from now on that this running engine answers and that its workers make progress.

        Without a limit for hangs, only `engine_end` uses the engine. The call counts as a turn of the main loop.
        """
        self._turned = world.monotonic()
        self._engine = engine
        self._ping = EnginePing(engine.ping)

    def stop_checks(self) -> None:
        """Stop checking that the engine answers and that its workers make progress."""
        self._ping = None

    def engine_end(self, patience: float = 0.0) -> str | None:
        """Return in words how the engine ended; None if it runs after `patience` seconds, or is not up yet."""
        if self._engine is None:
            return None
        return self._hung or self._engine.ended(patience)

    def run(self) -> None:
        """Look for hangs every `HANG_CHECK_SECONDS`, and report every `HEARTBEAT_SECONDS`; log errors and continue.

        A report for which the catalog could not be used is repeated at the next check.
        """
        tasks = HungTasks(self._limit)
        next_beat = 0.0
        while True:
            now = world.monotonic()
            try:
                if now >= next_beat and self._report(now):
                    next_beat = now + HEARTBEAT_SECONDS
                self.kill_hung(tasks, now)
            except Exception:  # this thread must not end: a host without heartbeats would count as dead
                log.exception("A check of the host's processes failed; it is repeated soon")
            world.sleep(HANG_CHECK_SECONDS)

    def _report(self, now: float) -> bool:
        """Give a heartbeat if the main loop turns, record the host's processes, and kill stalled ones.

        If the host has not been wanted for `STUCK_SECONDS`, log that and kill the host itself.

        Returns:
            False if the catalog could not be used.
        """
        try:
            if now - self._turned < STUCK_SECONDS:
                self._presence.beat()
            self._stalls.kill_stalled(self._presence.record_family(), now)
            self._presence.row()
        except UnwantedHostError as error:
            self._unwanted = now if self._unwanted is None else self._unwanted
            if now - self._unwanted > STUCK_SECONDS:
                log.error("%s; it could not end within %.0f s and is killed", error, STUCK_SECONDS)
                kill(world.pid(), process_started(world.pid()))
        except StreamsRuntimeError:
            return False
        return True

    def kill_hung(self, tasks: HungTasks, now: float) -> None:
        """Kill the engine's process if it does not answer, and workers without progress; log each.

        Do nothing while no engine is watched, without a limit, and once the engine was killed.
        """
        if self._engine is None or self._ping is None or self._hung is not None or not self._limit:
            return
        if self._ping.beat() * HANG_CHECK_SECONDS >= self._limit:
            pid = self._engine.pid
            name = self._engine.process_name
            self._hung = f"its {name} (pid {pid}) gave no answer for {self._limit} s and was killed"
            log.error("%s", self._hung)
            kill(pid, process_started(pid))
        tasks.kill_hung(self._busy(), now)
