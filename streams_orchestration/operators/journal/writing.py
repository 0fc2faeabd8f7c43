"""Writes a journal: messages are on disk before they are acknowledged."""

from __future__ import annotations

import fcntl
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from streams_orchestration import world
from streams_orchestration.operators.journal.files import DamagedError, JournalFiles, places
from streams_orchestration.operators.journal.records import Arrival, JournalRecord
from streams_orchestration.operators.storage.durable_files import sync_names

SEGMENT_BYTES = 64 << 20
FEWEST_SEGMENTS = 8
"""The number of segments that the limit is divided into, so that a full journal can free space in steps."""
KEYS_REMEMBERED = 10_000


class JournalHeldError(Exception):
    """Another process is receiving into this journal."""


class JournalFullError(Exception):
    """The journal has no room, cannot be written or is closed. The message gives the reason."""


class Journal:
    """A journal that this process writes. Threads may share it.

    Every `append` is one write and one `fsync` for all its arrivals. Opening the journal cuts off an append that a
    crash interrupted, which was never acknowledged.
    """

    def __init__(self, directory: Path, limit: int) -> None:
        """Open or create the journal.

        Args:
            directory: a directory for this journal only.
            limit: the largest total size of its files in bytes.

        Raises:
            JournalHeldError: another process has the journal open.
            DamagedError: an acknowledged message is missing.
            OSError: the directory cannot be written.
        """
        self.files = JournalFiles(directory)
        self.limit = limit
        self._segment_bytes = min(SEGMENT_BYTES, limit // FEWEST_SEGMENTS)
        self._lock = world.Lock()
        directory.mkdir(parents=True, exist_ok=True)
        self._held = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        self._mark: int | None = None
        self._file: int | None = None
        self._keys: dict[str, str] = {}
        """Maps recent keys to digests, newest last. Another thread may read while one is added."""
        self._closed = False
        try:
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = f"{directory}: another process receives for this journal"
                raise JournalHeldError(message) from None
            self.files.make()
            self._mark = os.open(directory / "durable", os.O_RDWR | os.O_CREAT, 0o644)
            self._recover()
        except BaseException:
            self.close()  # a caller opens the journal again and again until it succeeds
            raise

    @property
    def size(self) -> int:
        """The total size of all files in bytes."""
        return sum(self._sizes.values())

    def knows(self, key: str) -> bool:
        """Return True if the key is among the remembered ones."""
        return key in self._keys

    def digest_of(self, key: str) -> str:
        """Return the digest of the content under a key; empty if the key is unknown or has no digest."""
        return self._keys.get(key, "")

    def append(self, arrivals: Sequence[Arrival]) -> int:
        """Write arrivals in order until the journal is full. The written ones are on disk when this returns.

        Returns:
            The number of arrivals written.

        Raises:
            JournalFullError: there is no room for the first arrival, the disk refuses, or the journal is closed.
            DamagedError: an acknowledged message is missing; this is noticed after a failed append only.
        """
        with self._lock:
            if self._closed:
                message = f"{self.files.directory}: this process has stopped receiving"
                raise JournalFullError(message)
            try:
                return self._append(arrivals)
            except OSError as error:
                self._take_back()
                message = f"{self.files.directory}: the journal cannot be written: {error.strerror}"
                raise JournalFullError(message) from error

    def _append(self, arrivals: Sequence[Arrival]) -> int:
        if self._file is None:
            self._recover()
        if self._at >= self._segment_bytes:
            self._begin_segment()
        assert self._file is not None
        content: list[bytes] = []
        following = self.next
        size = 0
        room = self.limit - self.size
        for arrival in arrivals:
            record = JournalRecord(following, arrival)
            dump = record.dump()
            if size + len(dump) > room:
                break
            content.append(dump)
            following, size = record.next, size + len(dump)
        if not content:
            message = f"{self.files.directory}: the journal is full: {self.size} of {self.limit} bytes are not read yet"
            raise JournalFullError(message)
        written = 0
        whole = memoryview(b"".join(content))
        while written < size:
            written += os.pwrite(self._file, whole[written:], self._at + written)
        os.fdatasync(self._file)
        self._at += size
        self._sizes[self._first] = self._at
        self.next = following
        for arrival in arrivals[: len(content)]:
            _remember(self._keys, arrival.key, arrival.digest)
        self._tell_durable(following)
        return len(content)

    def trim(self, number: int) -> None:
        """Remove the segments that only have messages before a number, except the last segment. Raises OSError."""
        with self._lock:
            firsts = sorted(self._sizes)
            for first, following in itertools.pairwise(firsts):
                if following <= number:
                    self.files.segment(first).unlink(missing_ok=True)
                    del self._sizes[first]

    def close(self) -> None:
        """Close the journal so that another process can open it; do nothing if it is closed."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for file in (self._file, self._mark, self._held):
                if file is not None:
                    os.close(file)
            self._file = None

    def _recover(self) -> None:
        """Find the last valid record and cut off everything after it; begin a segment if there is none."""
        durable = self.files.durable()
        segments = self._begun_segments(durable)
        self._sizes = {first: path.stat().st_size for first, path in segments}
        keys: dict[str, str] = {}
        if not segments:
            self.next = durable
            self._begin_segment()
            return
        self._first, path = segments[-1]
        self.next, self._at = self._first, 0
        for place in places(path):
            if place.record.first != self.next:
                break
            self.next, self._at = place.record.next, place.end
            for key, digest in place.record.keys.items():
                _remember(keys, key, digest)
            _remember(keys, place.record.arrival.key, place.record.arrival.digest)
        if self.next < durable:
            raise DamagedError(path, self._at, self.next, durable - 1)
        self._keys = keys  # set as a whole: meanwhile a reader must not take a known key for a new one
        self._file = os.open(path, os.O_RDWR)
        os.ftruncate(self._file, self._at)
        os.fsync(self._file)
        self._sizes[self._first] = self._at
        self._tell_durable(self.next)

    def _begun_segments(self, durable: int) -> list[tuple[int, Path]]:
        """Remove last segments whose first record a crash left incomplete, and return the other segments."""
        segments = self.files.segments()
        while segments and next(places(segments[-1][1]), None) is None:
            first, path = segments.pop()
            if first < durable:
                raise DamagedError(path, 0, first, durable - 1)
            path.unlink()
        return segments

    def _begin_segment(self) -> None:
        """Start a new segment, which begins with the remembered keys. The former one stays the last if this fails."""
        path = self.files.segment(self.next)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            content = JournalRecord(self.next, Arrival(()), self._keys).dump()
            os.pwrite(file, content, 0)
            os.fsync(file)
            sync_names([path])
        except OSError:
            os.close(file)
            path.unlink()
            raise
        if self._file is not None:
            os.close(self._file)
        self._file = file
        self._first = self.next
        self._at = len(content)
        self._sizes[self._first] = self._at

    def _take_back(self) -> None:
        """Discard an unfinished append. The next append searches for the end of the file again."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                os.ftruncate(file, self._at)
            except OSError:  # then it is cut off when the journal is looked through
                pass
            finally:
                os.close(file)

    def _tell_durable(self, number: int) -> None:
        assert self._mark is not None
        self.files.mark_durable(self._mark, number)


def _remember(keys: dict[str, str], key: str, digest: str) -> None:
    """Add a key, unless it is empty, as the newest one; forget the oldest beyond `KEYS_REMEMBERED`."""
    if key:
        keys.pop(key, None)
        keys[key] = digest
        if len(keys) > KEYS_REMEMBERED:
            del keys[next(iter(keys))]
