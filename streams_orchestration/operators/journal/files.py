"""The files of a journal: their names, the durable limit for readers, and their content."""

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
from streams_orchestration.operators.durable_files import write_whole
from streams_orchestration.operators.errors import RefusedError
from streams_orchestration.operators.journal.records import HEAD_SIZE, JournalRecord, load, size_of

_MARK = struct.Struct("<QI")


class DamagedError(RefusedError):
    """An acknowledged message cannot be read any more. The message names the file and the place in it."""

    def __init__(self, path: Path, at: int, first: int, last: int) -> None:
        super().__init__(
            f"{path}, byte {at}: the journal is damaged there, and messages {first} to {last}, which were received, "
            "cannot be read; bring the file back, or start anew with --fresh"
        )


class JournalPosition(NamedTuple):
    """A record in a file."""

    record: JournalRecord
    begin: int
    end: int


class JournalFiles:
    """A directory with segment files, named by the number of their first message.

    `durable` holds the number up to which messages are on disk. It is written after they are synchronised, and no
    reader goes beyond it. `id` identifies the journal; a journal that is created again has another id.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._id: str | None = None

    @property
    def id(self) -> str | None:
        """The id of the journal, or None before the journal exists."""
        if self._id is None:
            try:
                self._id = (self.directory / "id").read_text(encoding="ascii") or None
            except FileNotFoundError:
                return None
        return self._id

    def make(self) -> None:
        """Make the directory and give the journal its id, where that was not done."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.id is None:
            write_whole(self.directory / "id", world.new_id())

    def segments(self) -> list[tuple[int, Path]]:
        """Return the first number and the path of each segment, in order."""
        return sorted((int(path.stem), path) for path in self.directory.glob("*.segment"))

    def segment(self, first: int) -> Path:
        """Return the path of one."""
        return self.directory / f"{first:020d}.segment"

    def durable(self) -> int:
        """Return the number of the next message: all before it are on disk. 1 when nothing ever was."""
        try:
            with (self.directory / "durable").open("rb") as file:
                for _ in range(3):  # one that is being written
                    content = os.pread(file.fileno(), _MARK.size, 0)
                    if len(content) == _MARK.size:
                        number, checksum = _MARK.unpack(content)
                        if zlib.crc32(content[:8]) == checksum:
                            return number
        except FileNotFoundError:
            pass
        return 1

    def mark_durable(self, file: int, number: int) -> None:
        """Record that all messages before a number are on disk."""
        content = number.to_bytes(8, "little")
        os.pwrite(file, content + zlib.crc32(content).to_bytes(4, "little"), 0)

    def is_held(self) -> bool:
        """Return True if a process receives for this journal now."""
        try:
            with (self.directory / "lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts about the counterpart with the journal, over all hosts; they replace those before."""
        write_whole(self.directory / "notes.json", json.dumps(facts))

    def noted(self) -> dict[str, Any]:
        """Return the facts that were noted last."""
        try:
            return json.loads((self.directory / "notes.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def take_over(self, former: JournalFiles) -> None:
        """Take the notes of the journal whose place this one takes, unless it has notes of its own."""
        if not self.noted():
            self.note(former.noted())

    def report(self, facts: dict[str, Any]) -> None:
        """Write down how receiving goes, for who reads."""
        write_whole(self.directory / "receiver.json", json.dumps(facts), durably=False)

    def reported(self) -> dict[str, Any]:
        """Return the last report of the receiver."""
        try:
            return json.loads((self.directory / "receiver.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}


def places(path: Path, begin: int = 0) -> Iterator[JournalPosition]:
    """Yield the records of a file from a byte on, up to the first that is none."""
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
