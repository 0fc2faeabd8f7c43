"""Event loops of simulated processes: each runs in a simulated thread, by the clock of the simulation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any
from unittest.mock import patch

from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Let all event loops that are made within a block be simulated ones."""
    with patch.object(asyncio, "new_event_loop", lambda: Loop(scheduler)):
        yield


class Loop(asyncio.BaseEventLoop):
    """An event loop without sockets, which waits as simulated threads do."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler, self._rung, self._woken = scheduler, Signal(), False
        self._selector = self
        """The base class waits by a selector."""

    def select(self, timeout: float | None) -> list[Any]:
        """Wait until there is something to do; it is never a socket."""
        if not self._woken and timeout != 0:
            self._scheduler.wait(self._rung, timeout)
        self._woken = False
        return []

    def _process_events(self, _events: list[Any]) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        self._woken = True
        self._scheduler.notify(self._rung)

    def time(self) -> float:
        """Return simulated seconds."""
        return self._scheduler.now

    def run_forever(self) -> None:
        """Run in the thread of the caller, for which it is the running loop whenever the thread goes on."""
        thread = self._scheduler.current
        assert thread is not None
        thread.loop = self
        try:
            super().run_forever()
        finally:
            thread.loop = None

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> Any:
        """Run a function in a thread of its own in the same process."""
        assert self._scheduler.current is not None
        future: asyncio.Future[Any] = self.create_future()

        def run() -> None:
            try:
                result, settle = func(*args), future.set_result
            except Exception as error:  # noqa: BLE001  raised where it is awaited
                result, settle = error, future.set_exception
            if not self.is_closed():  # a real loop does not wait for such a thread, either
                self.call_soon_threadsafe(lambda: None if future.done() else settle(result))

        self._scheduler.start(self._scheduler.current.process, run, "worker")
        return future
