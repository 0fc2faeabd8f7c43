"""The files of a journal: segments, the durable limit for readers, and notes."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from streams_orchestration import world
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.journal.records import HEAD_SIZE, JournalRecord, load, size_of
from streams_orchestration.operators.storage.durable_files import write_whole

_MARK = struct.Struct("<QI")


class DamagedError(RefusedError):
    """An acknowledged message can no longer be read. The message names the file and the position."""

    def __init__(self, path: Path, at: int, first: int, last: int) -> None:
        super().__init__(
            f"{path}, byte {at}: the journal is damaged there, so the received messages {first} to {last} "
            "cannot be read; restore the file, or start over with --fresh"
        )


class JournalPosition(NamedTuple):
    """A record and its byte range in a file, from `begin` up to, but not including, `end`."""

    record: JournalRecord
    begin: int
    end: int


class JournalFiles:
    """A directory of segment files, each named by the number of its first message.

    The file `durable` holds the number before which all messages are on disk. It is written after they are flushed, and
    no reader goes beyond it. The file `id` identifies the journal; a journal that is created again has another id.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._id: str | None = None

    @property
    def id(self) -> str | None:
        """The journal's id, or None if the journal does not exist yet."""
        if self._id is None:
            try:
                self._id = (self.directory / "id").read_text(encoding="ascii") or None
            except FileNotFoundError:
                return None
        return self._id

    def make(self) -> None:
        """Create the directory and the journal's id if they do not exist. Raises OSError if that fails."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.id is None:
            write_whole(self.directory / "id", world.new_id())

    def segments(self) -> list[tuple[int, Path]]:
        """Return the first message number and the path of each segment, in order."""
        return sorted((int(path.stem), path) for path in self.directory.glob("*.segment"))

    def segment(self, first: int) -> Path:
        """Return the path of the segment that begins with a message number."""
        return self.directory / f"{first:020d}.segment"

    def durable(self) -> int:
        """Return the number of the next message to become durable; all earlier ones are on disk.

        It is 1 in a new journal, or if the mark cannot be read.
        """
        try:
            with (self.directory / "durable").open("rb") as file:
                for _ in range(3):  # repeated, since the mark may just be written
                    content = os.pread(file.fileno(), _MARK.size, 0)
                    if len(content) == _MARK.size:
                        number, checksum = _MARK.unpack(content)
                        if zlib.crc32(content[:8]) == checksum:
                            return number
        except FileNotFoundError:
            pass
        return 1

    def mark_durable(self, file: int, number: int) -> None:
        """Write to the open file `durable` that all messages before a number are on disk. Raises OSError."""
        content = number.to_bytes(8, "little")
        os.pwrite(file, content + zlib.crc32(content).to_bytes(4, "little"), 0)

    def is_held(self) -> bool:
        """Return True if some process is currently receiving into this journal."""
        try:
            with (self.directory / "lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def note(self, facts: dict[str, Any]) -> None:
        """Store facts about the external system with the journal, so that every host sees them.

        They replace earlier ones. Raises OSError if they cannot be written.
        """
        write_whole(self.directory / "notes.json", json.dumps(facts))

    def noted(self) -> dict[str, Any]:
        """Return the facts that `note` stored last; empty if there are none."""
        try:
            return json.loads((self.directory / "notes.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def take_over(self, former: JournalFiles) -> None:
        """Copy the notes of the former journal, unless this journal has its own. Raises OSError if that fails."""
        if not self.noted():
            self.note(former.noted())

    def report(self, facts: dict[str, Any]) -> None:
        """Store the receiver's status for readers of the journal. Raises OSError if it cannot be written."""
        write_whole(self.directory / "receiver.json", json.dumps(facts), durably=False)

    def reported(self) -> dict[str, Any]:
        """Return the last status of the receiver; empty if there is none."""
        try:
            return json.loads((self.directory / "receiver.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}


def places(path: Path, begin: int = 0) -> Iterator[JournalPosition]:
    """Yield the records of a file from a byte offset on, up to the first one that is incomplete or invalid.

    Raises:
        OSError: the file is gone, or cannot be read.
    """
    with path.open("rb") as file:
        at = file.seek(begin)
        while True:
            head = file.read(HEAD_SIZE)
            size = size_of(head)
            record = None if size is None else load(head + file.read(size - HEAD_SIZE))
            if size is None or record is None:
                return
            yield JournalPosition(record, at, at + size)
            at += size
