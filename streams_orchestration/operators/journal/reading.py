"""Reads a journal by message number, in a process other than its writer's."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.operators.journal.files import DamagedError, JournalFiles, places
from streams_orchestration.operators.journal.records import JournalMessage


class TrimmedError(Exception):
    """The next message to read was removed. `first` is the first one that is left."""

    def __init__(self, directory: Path, number: int, first: int) -> None:
        super().__init__(
            f"{directory}: message {number} is the next to read, but only messages from {first} on are left"
        )
        self.first = first


class JournalReader:
    """Reads a journal forwards, and remembers its position so that the next read continues quickly."""

    def __init__(self, directory: Path) -> None:
        self.files = JournalFiles(directory)
        self._segment = 0
        self._number = 0
        self._byte = 0

    def first(self) -> int:
        """Return the number of the first message that still exists; of the next one to be durable if none does."""
        segments = self.files.segments()
        return segments[0][0] if segments else self.files.durable()

    def read(self, number: int, limit: int) -> list[JournalMessage]:
        """Return up to `limit` durable messages, beginning with a number; none if that one is not durable yet.

        Raises:
            TrimmedError: the first of them was removed.
            DamagedError: a message cannot be read.
            OSError: a segment exists, but cannot be opened.
        """
        end = self.files.durable()
        messages: list[JournalMessage] = []
        if number >= end:
            return messages
        for first, path, last in self._segments(number, end):
            following = self._begin(first, number)
            try:
                for place in places(path, self._byte):
                    if place.record.next > number:
                        messages += place.record.messages(number, min(limit - len(messages), end - number))
                        number = messages[-1].number + 1
                    following = place.record.next
                    if number < following or len(messages) >= limit or number >= end:
                        if number == following:
                            self._number, self._byte = number, place.end
                        return messages
                    self._number, self._byte = following, place.end
            except FileNotFoundError:
                raise TrimmedError(self.files.directory, number, self.first()) from None
            if following < last:
                raise DamagedError(path, self._byte, following, last - 1)
        return messages

    def _segments(self, number: int, end: int) -> list[tuple[int, Path, int]]:
        """Return the first number, path and end number of each segment that has messages from `number` on."""
        segments = self.files.segments()
        if not segments or segments[0][0] > number:
            raise TrimmedError(self.files.directory, number, segments[0][0] if segments else end)
        lasts = [*(first for first, _ in segments[1:]), end]
        return [(first, path, last) for (first, path), last in zip(segments, lasts, strict=True) if last > number]

    def _begin(self, segment: int, number: int) -> int:
        """Go to the message at which to start reading, and return its number, at most `number`.

        That is where the last read ended if possible, else the beginning of the segment.
        """
        if self._segment != segment or self._number > number:
            self._segment = segment
            self._number = segment
            self._byte = 0
        return self._number
