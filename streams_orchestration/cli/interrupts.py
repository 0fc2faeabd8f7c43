"""Ctrl-C and SIGTERM: the first one requests a clean stop, the second one leaves at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Generic, TypeVar

from streams_orchestration.cli.failures import INTERRUPTED, TERMINATED

T = TypeVar("T")
POLL_SECONDS = 0.05
"""Seconds between two checks whether a wait is over."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context manager in which the first Ctrl-C or SIGTERM requests a stop; the second raises KeyboardInterrupt.

    The first calls `on_first`. At the end the former handlers are restored.
    """

    def __init__(self, on_first: Callable[[], None]) -> None:
        self._on_first = on_first
        self._requested = threading.Event()
        self._former: dict[int, Any] = {}
        self.exit_status = INTERRUPTED

    def __enter__(self) -> Interrupts:
        self._former = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """True if the user wants to stop."""
        return self._requested.is_set()

    def pause(self, seconds: float, over: Callable[[], bool] = lambda: False) -> bool:
        """Wait until the time has passed, `over` returns True, or the user wants to stop; return True in the last case.

        Args:
            seconds: the longest wait.
            over: a function that is called repeatedly; it returns True if the wait is over.
        """
        until = time.monotonic() + seconds
        while not self.requested and not over() and (rest := until - time.monotonic()) > 0:
            self._requested.wait(min(rest, POLL_SECONDS))
        return self.requested

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._requested.is_set():
            raise KeyboardInterrupt
        self.exit_status = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        self._requested.set()
        self._on_first()


class BackgroundCall(Generic[T]):
    """A function that runs on a thread of its own, since Dagster holds signals back on the thread that runs a job."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._function())
        except BaseException as error:  # noqa: BLE001  raised where the result is read
            self._error = error

    def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds; return True if the function has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """Wait for the function's end; return its result, or raise its error."""
        while not self.wait(0.5):
            pass
        if self._error is not None:
            raise self._error
        return self._result[0]
