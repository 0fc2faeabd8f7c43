"""Waits for changes of the catalog without polling it."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from streams_orchestration import world

ANYTHING = ""
"""The name in a change that concerns several units, or an unknown one."""
REOPEN_SECONDS = 1.0
"""Seconds between two attempts to open a listener; meanwhile waiting threads poll the catalog."""

POLL_SECONDS = 0.05
"""Seconds between two polls of a file, where the operating system does not notify of its changes."""

log = logging.getLogger("streams.catalog")


class CommitListener(ABC):
    """A listener to the notifications that a database sends after the commit of a write transaction."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until a commit is notified, the next poll is due, or another thread calls `interrupt`."""

    @abstractmethod
    def interrupt(self) -> None:
        """End the current wait of another thread, and all later waits at once."""

    @abstractmethod
    def take(self) -> Collection[str]:
        """Return the changes since the last call.

        Returns:
            The units that have changed, as `application/unit`, or `ANYTHING`; empty when the catalog has not changed.

        Raises:
            OSError: the listener is broken and must be opened again.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the descriptors and connections of the listener."""


class DescriptorListener(CommitListener):
    """A listener whose descriptor becomes readable at a notification."""

    def __init__(self) -> None:
        self._end, self._ending = os.pipe()

    @abstractmethod
    def fileno(self) -> int:
        """Return the descriptor that becomes readable at a notification."""

    def wait(self) -> None:
        """Wait until a commit is notified or `interrupt` is called."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.register(self._end, select.POLLIN)
        poll.poll()

    def interrupt(self) -> None:
        """End the wait, and all later ones, by making the pipe readable."""
        os.write(self._ending, b"x")

    def close(self) -> None:
        """Close the pipe that `interrupt` writes to."""
        os.close(self._ending)
        os.close(self._end)


class Changes:
    """Counts the changes of a catalog, and wakes the threads of a process that wait for one.

    Nothing is missed: take the mark, read the catalog, then wait for a change after the mark. A listener that
    breaks counts as a change. A change may be seen late when its writer dies between commit and notification, so
    every wait has a timeout.
    """

    def __init__(self, open_listener: Callable[[], CommitListener]) -> None:
        """Create without opening the listener; the first `mark` opens it.

        Args:
            open_listener: opens the listener to the catalog; it may raise OSError.
        """
        self.on_change: Callable[[Collection[str]], bool] = lambda _: True
        """Called with the units that have changed; returns whether the waiting threads of this process are to wake."""
        self._open_listener = open_listener
        self._count = 0
        self._condition = world.Condition()
        self._thread: world.Thread | None = None
        self._listener: CommitListener | None = None
        self._closed = False

    def mark(self) -> int:
        """Begin to listen if needed; return the number of changes so far. Call it before you read the catalog.

        The first call waits until the listener is open or could not be opened.
        """
        with self._condition:
            if self._thread is None and not self._closed:
                self._thread = world.Thread(target=self._listen, name="catalog-changes", daemon=True)
                self._thread.start()
                while self._count == 0:  # the listener is open now, or cannot be opened
                    self._condition.wait()
            return self._count

    def wait(self, mark: int, seconds: float) -> bool:
        """Wait for a change.

        Args:
            mark: the number that `mark` returned; a change after it ends the wait at once.
            seconds: the longest wait.

        Returns:
            True if there was a change, or this object was closed.
        """
        with self._condition:
            return self._condition.wait_for(lambda: self._count != mark or self._closed, max(seconds, 0.0))

    def wake(self) -> None:
        """Count a change, and wake the threads of this process that wait for one."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def close(self) -> None:
        """End all waits and the thread that listens, and wait for its end. Later waits end at once."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            thread, self._thread = self._thread, None
            if self._listener is not None:
                self._listener.interrupt()
        if thread is not None:
            thread.join()

    def _listen(self) -> None:
        while not self._closed:
            try:
                if self._listener is None:
                    self._open()
                    self._report((ANYTHING,))  # a change may have come before the listener was open
                self._report(self._take())
            except Exception as error:
                if not isinstance(error, OSError):
                    log.exception("the listener to the catalog failed; it is reopened")
                with contextlib.suppress(Exception):  # the listener is given up anyway
                    self._release()
                self._report((ANYTHING,))
                with self._condition:
                    self._condition.wait_for(lambda: self._closed, REOPEN_SECONDS)
        self._release()

    def _open(self) -> None:
        listener = self._open_listener()
        with self._condition:
            self._listener = listener

    def _take(self) -> Collection[str]:
        """Wait for a notification and return the units that have changed; none if this object was closed meanwhile."""
        if self._listener is None or self._closed:
            return ()
        self._listener.wait()
        return () if self._closed else self._listener.take()

    def _release(self) -> None:
        with self._condition:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _report(self, units: Collection[str]) -> None:
        if not units:
            return
        wakes = True
        try:
            wakes = self.on_change(units)
        except Exception:  # without this thread every change would be seen late
            log.exception("a change notification was lost; waiting processes poll and will find the change")
        if wakes:
            self.wake()


class FileListener(DescriptorListener):
    """A listener to a file whose times are set after each commit; Linux notifies of the change.

    Its creation raises OSError if the file cannot be made or watched.

    Args:
        path: the file, which is made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        from inotify_simple import INotify, flags  # pyright: ignore[reportMissingTypeStubs]

        path.touch()
        self._lost = flags.DELETE_SELF | flags.MOVE_SELF | flags.IGNORED | flags.UNMOUNT
        self._watch: Any = INotify()
        try:
            self._watch.add_watch(path, flags.ATTRIB | flags.DELETE_SELF | flags.MOVE_SELF)
        except OSError:
            self._watch.close()
            raise
        super().__init__()

    def fileno(self) -> int:
        """Return the descriptor of the file watch."""
        return self._watch.fileno()

    def take(self) -> Collection[str]:
        """Return `ANYTHING` when the file was touched, else nothing; raises OSError when the file is gone."""
        events = self._watch.read(timeout=0)
        if any(event.mask & self._lost for event in events):
            message = "the notification file no longer exists"
            raise FileNotFoundError(message)
        return (ANYTHING,) if events else ()

    def close(self) -> None:
        """Close the file watch."""
        super().close()
        self._watch.close()


class PollingListener(CommitListener):
    """A listener that polls the times of a file, where the operating system cannot watch files.

    Its creation raises OSError if the file cannot be made.

    Args:
        path: the file, which is made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        path.touch()
        self._path = path
        self._interrupted = world.Event()
        self._last = path.stat().st_mtime_ns

    def wait(self) -> None:
        """Wait until the next poll of the file is due."""
        self._interrupted.wait(POLL_SECONDS)

    def interrupt(self) -> None:
        """End the current wait for the next poll, and all later ones."""
        self._interrupted.set()

    def take(self) -> Collection[str]:
        """Return `ANYTHING` if the file was touched since the last call, else nothing; raise OSError if it is gone."""
        last, self._last = self._last, self._path.stat().st_mtime_ns
        return (ANYTHING,) if last != self._last else ()

    def close(self) -> None:
        """Do nothing, because this listener has no resources."""


def open_file_listener(path: Path) -> CommitListener:
    """Open the listener to a file, which is made if needed; it polls the file if the system cannot watch files.

    Raises:
        OSError: the listener cannot be made.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # for one, since no more watches are allowed
            return FileListener(path)
    return PollingListener(path)


def notify(path: Path) -> None:
    """Notify listeners by setting the times of their file; ignore failures. Without the file, nobody listens."""
    now = world.now_ns()
    with contextlib.suppress(OSError):
        os.utime(path, ns=(now, now))
