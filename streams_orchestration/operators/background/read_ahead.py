"""Reading ahead: threads prepare items before they are requested, and keep their order."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from streams_orchestration import world
from streams_orchestration.operators.background.background import Background

T = TypeVar("T")
Raw = TypeVar("Raw")

AHEAD_BYTES = 64 << 20
"""The size limit in bytes for results that are ready but not requested yet, over all readers of the process."""

_READERS: weakref.WeakSet[_Reading[Any]] = weakref.WeakSet()


class ReadAhead(Iterator[T]):
    """Yields the result of `work` for each item, in the order of the items.

    One thread at a time takes the next item, and `work` runs on several threads. An exception of either is raised in
    its turn and ends the iteration. At least one item is prepared, whatever its size.
    """

    def __init__(
        self,
        background: Background,
        items: Iterator[Raw],
        work: Callable[[Raw], T],
        size: Callable[[T], int],
        *,
        threads: int = 1,
    ) -> None:
        self._reading = _Reading(items, work, size)
        _READERS.add(self._reading)
        for _ in range(threads):
            background.start(self._reading.run)

    def __next__(self) -> T:
        return self._reading.take()

    def close(self) -> None:
        """Stop reading, and drop results that are not requested yet. A later `next` may wait without end."""
        self._reading.close()

    def __del__(self) -> None:
        self.close()


class _Reading(Generic[T]):
    """The state shared by the threads and the reader.

    It has no reference to the reader, so an unused reader can be collected.
    """

    def __init__(self, items: Iterator[Any], work: Callable[[Any], T], size: Callable[[T], int]) -> None:
        self.items = items
        self.work = work
        self.size = size
        self.taking = world.Lock()
        self.changed = world.Condition()
        self.taken = 0
        """The number of items that threads have begun to process."""
        self.wanted = 0
        self.ready: dict[int, T | BaseException] = {}
        self.bytes = 0
        self.ended = False

    def run(self) -> None:
        """Process items until they end, an error occurs or `close` is called; runs on each thread.

        It waits while `AHEAD_BYTES` of results are not taken. An error is stored as the result of its item, and `take`
        raises it.
        """
        while self._may_go_on():
            with self.taking:
                if self.ended:
                    return
                number, self.taken = self.taken, self.taken + 1
                try:
                    raw = next(self.items)
                except BaseException as end:  # noqa: BLE001  raised where the item is taken
                    self._put(number, end)
                    return
            try:
                result = self.work(raw)
            except BaseException as error:  # noqa: BLE001  raised where the result is taken
                self._put(number, error)
                return
            del raw
            self._put(number, result)

    def _may_go_on(self) -> bool:
        with self.changed:
            while not self.ended and self.ready and self.bytes >= AHEAD_BYTES // max(len(_READERS), 1):
                self.changed.wait()
            return not self.ended

    def _put(self, number: int, result: T | BaseException) -> None:
        with self.changed:
            self.ready[number] = result
            if isinstance(result, BaseException):
                self.ended = True
            else:
                self.bytes += self.size(result)
            self.changed.notify_all()

    def take(self) -> T:
        """Wait for the next result and return it, or raise its exception."""
        with self.changed:
            while self.wanted not in self.ready:
                self.changed.wait()
            result = self.ready[self.wanted]
            if isinstance(result, BaseException):
                raise result
            del self.ready[self.wanted]
            self.wanted += 1
            self.bytes -= self.size(result)
            self.changed.notify_all()
            return result

    def close(self) -> None:
        """Stop the threads after their current items."""
        with self.changed:
            self.ended = True
            self.ready.clear()
            self.changed.notify_all()
        _READERS.discard(self)
