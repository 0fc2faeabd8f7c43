"""The identity of an input file, which offsets store to tell a replaced file from one that grew, and parts of files."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Literal, NamedTuple

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.storage.remote import RemoteFile

HEAD_BYTES = 4096
"""The number of leading bytes whose checksum is part of a file's identity."""
BLOCK_BYTES = 1 << 20
TEXT_FORMATS = ("csv", "line", "jsonl", "splCsv", "splTxt")


class FileIdentity(NamedTuple):
    """The identity of a file at the time when it was opened."""

    size: int
    """The size in bytes."""
    modified: int
    """Modification time in nanoseconds since 1970; 0 if a copy on another machine is accepted as the same file."""
    node: str
    """The inode, or an object's ETag; empty if a store gives none, or if a copy on another machine is accepted."""
    head: int = 0
    """CRC-32 of the first `HEAD_BYTES` bytes; 0 for a file that cannot grow."""

    @property
    def shown(self) -> str:
        """The size, and if it is known the modification time in UTC, as words for messages."""
        if not self.modified:
            return f"{self.size} bytes"
        when = datetime.fromtimestamp(self.modified / 1e9, UTC).isoformat(timespec="seconds")
        return f"{self.size} bytes of {when}"


def can_grow(file: File, format: str) -> bool:
    """Return True for the path of a local text file not named `.gz` or `.zip`: rows may be appended to it."""
    return isinstance(file, Path) and format in TEXT_FORMATS and file.suffix not in (".gz", ".zip")


def identity_of(file: File, format: str, size: int | None = None) -> FileIdentity:
    """Return the current identity of a file, or of the first `size` bytes of a local file.

    Raises:
        OSError, StorageError: the file cannot be examined.
    """
    status = file.stat()
    if isinstance(file, RemoteFile):
        return FileIdentity(status.st_size, status.st_mtime_ns, file.etag())
    held: int = status.st_size if size is None else size
    head = _head(file, held) if can_grow(file, format) else 0
    return FileIdentity(held, status.st_mtime_ns, str(status.st_ino), head)


def check_same(file: File, format: str, before: FileIdentity, now: FileIdentity, row: int, *, ended: bool) -> None:
    """Check that a file is the one that was read before, possibly with appended rows.

    Args:
        file: the file as it is now.
        format: the format of its rows.
        before: the identity when it was read.
        now: the current identity.
        row: the number of rows that were read.
        ended: True if the file was read to its end.

    Raises:
        DataError: the file was replaced, truncated or rewritten, or with `ended` its last line was continued.
        OSError: the file cannot be read.
    """
    same_node = before.node in ("", now.node)
    same_version = same_node or not isinstance(file, RemoteFile)
    if before.size == now.size and before.modified in (0, now.modified) and same_version:
        return
    if can_grow(file, format) and same_node and now.size > before.size:
        if _head(file, before.size) != before.head:
            what = "its first bytes have changed"
        elif ended and _splits_line(file, before.size):
            what = "its last line was read before it was complete; append whole lines"
        else:
            return
    else:
        what = "it was cut, replaced or rewritten"
    message = (
        f"{file}: {row} rows were read when it had {before.shown}; now it has {now.shown}: {what}; restore the former "
        "file, or read this one from its beginning with --fresh"
    )
    raise DataError(message)


def has_grown(file: File, format: str, known: FileIdentity, row: int, *, may_be_gone: bool) -> bool:
    """Return True if a file has grown since it was read to its end. If it had no rows, any change counts.

    Args:
        file: the file.
        format: the format of its rows.
        known: the identity when it was read.
        row: the number of rows that were read.
        may_be_gone: True to return False for a file that is missing.

    Raises:
        FileNotFoundError: the file is missing, and `may_be_gone` is false.
        OSError, StorageError: the file cannot be examined.
        DataError: the file had rows, and was replaced, truncated or rewritten, or its last line was continued.
    """
    try:
        now = identity_of(file, format)
    except FileNotFoundError:
        if may_be_gone:
            return False
        raise
    if row:
        check_same(file, format, known, now, row, ended=True)
    return now != known if not row else now.size > known.size


def whole_lines(file: Path, size: int, *, ended: bool) -> int:
    """Return how many of the first `size` bytes of a file are whole lines.

    Without `ended`, all bytes count if there is only one line, or if the last line has an odd number of quotes, since
    it then belongs to a record of several lines.

    Args:
        file: the file.
        size: the number of bytes that count.
        ended: True if only lines count that end with a line feed; 0 is returned if there are none.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as opened:
        end, tail = size, b""
        while end > 0 and b"\n" not in tail:
            begin = max(end - BLOCK_BYTES, 0)
            opened.seek(begin)
            tail, end = opened.read(end - begin) + tail, begin
    line = tail.rpartition(b"\n")[2]
    if ended:
        return size - len(line)
    return size if line.count(b'"') % 2 or len(line) == size else size - len(line)


def _head(file: File, size: int) -> int:
    with file.open("rb") as opened:
        return zlib.crc32(opened.read(min(size, HEAD_BYTES)))


def _splits_line(file: File, place: int) -> bool:
    """Return True if neither the byte at a position nor the one before it ends a line; False at the beginning."""
    with file.open("rb") as opened:
        opened.seek(max(place - 1, 0))
        around = opened.read(2 if place else 1)
    return bool(place) and not any(byte in b"\r\n" for byte in around)


@dataclass(frozen=True)
class FilePart:
    """The first bytes of a local file, with those methods of `pathlib.Path` that file readers use."""

    path: Path
    size: int

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.name

    @property
    def suffix(self) -> str:
        """The suffix of the name, as in `pathlib`."""
        return self.path.suffix

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the first `size` bytes of the file for reading, seekable."""
        return io.BufferedReader(_First(self.path.open(mode, buffering=0), self.size), BLOCK_BYTES)

    def stat(self) -> Any:
        """Return an object with the size of this part in bytes as `st_size`."""
        return SimpleNamespace(st_size=self.size)

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        """Remove the whole file. A missing file is an error unless `missing_ok`."""
        self.path.unlink(missing_ok=missing_ok)


class _First(io.RawIOBase):
    """The first `size` bytes of an open file."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file = file
        self._size = size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = max(self._size - self._file.tell(), 0)
        return self._file.readinto(memoryview(buffer)[:left]) or 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            offset, whence = self._size + offset, io.SEEK_SET
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def identity_elsewhere(values: Sequence[Any]) -> list[Any]:
    """Return a stored identity without time and node, so that a copy of the file on another machine is accepted."""
    return list(FileIdentity(*values)._replace(modified=0, node=""))
