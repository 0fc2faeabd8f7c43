"""Rotation of logs: the oldest bytes move to a file beside the log, while other processes append to it.

A log's writers are a host, its JVM and their Python processes, most of which have its descriptor by inheritance and
could not open another file. So the log stays the same file. Its first bytes are copied to a file beside it, and then
removed from its front in one step of the file system (`FALLOC_FL_COLLAPSE_RANGE`: ext4, XFS), which loses nothing.
Where a file system cannot do that, the whole file is copied and emptied; lines that are appended between the last read
and that moment are lost.

A position in a log counts all bytes that were ever written to it. The name of an old file ends with the position after
its last byte.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LOG_BYTES = 64 << 20
"""The size in bytes at which a log is rotated, unless a setting gives another one."""
MAX_OLD_LOGS = 1
"""The number of old files of a log that are kept."""
COPIED_BYTES = 1 << 20
"""The number of bytes that are copied at a time."""
_PART = ".part"
"""The suffix of a copy that is not complete."""
_COLLAPSE_RANGE = 0x08
"""Linux's `FALLOC_FL_COLLAPSE_RANGE`."""


@dataclass(frozen=True, slots=True)
class _Old:
    """An old file of a log."""

    path: Path
    end: int
    """The position in the log after the last byte of the old file."""

    @property
    def begin(self) -> int:
        """The position of the old file's first byte."""
        return self.end - self.path.stat().st_size


def rotate_log(path: Path, limit: int) -> bool:
    """Move the first bytes of a log that is longer than the limit to an old file.

    The newest `MAX_OLD_LOGS` old files are kept. A rotation whose process died is completed first. Any process may call
    this at any time. A limit of 0 allows any number of bytes.

    Returns:
        True if the log was rotated; False also while somebody reads it, or another process rotates it.

    Raises:
        OSError: the old file cannot be written, for example on a full disk; the log is unchanged.
    """
    if not limit or not (_size(path) > limit or _part(path).exists()):
        return False
    with path.open("r+b") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            size = os.fstat(log.fileno()).st_size
            _finish(path, size)
            if size <= limit:
                return False
            _move(path, log, size)
            for old in _olds(path)[:-MAX_OLD_LOGS]:
                old.path.unlink(missing_ok=True)
        finally:
            fcntl.flock(log, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open, too
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _finish(path: Path, size: int) -> None:
    """Complete a rotation whose process died after truncating the log; the log is then shorter than its copy.

    Otherwise do nothing.
    """
    part = _part(path)
    if part.exists() and part.stat().st_size > size:
        part.rename(f"{path}.{base_of(path) + part.stat().st_size}")


def _move(path: Path, log: BinaryIO, size: int) -> None:
    block = os.fstatvfs(log.fileno()).f_bsize
    length = (size - 1) // block * block
    part, base = _part(path), base_of(path)
    try:
        with part.open("wb") as old:
            if hasattr(os, "posix_fallocate") and length:
                os.posix_fallocate(old.fileno(), 0, length)  # a full disk is noticed before anything is copied
            _copy(log, old, length)
            if not (length and collapse(log.fileno(), length)):
                length += _copy(log, old, None)
                os.ftruncate(log.fileno(), 0)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error says more
            part.unlink()
        raise
    part.rename(f"{path}.{base + length}")


def _copy(log: BinaryIO, old: BinaryIO, length: int | None) -> int:
    """Copy the next `length` bytes of a log, or all up to its end if it is None; return the number of copied bytes."""
    copied = 0
    while length is None or copied < length:
        piece = os.read(log.fileno(), COPIED_BYTES if length is None else min(COPIED_BYTES, length - copied))
        if not piece:
            break
        old.write(piece)
        old.flush()
        copied += len(piece)
    return copied


def collapse(descriptor: int, length: int) -> bool:
    """Remove bytes from the front of a file; return False if the system or the file system cannot do so."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return call(descriptor, _COLLAPSE_RANGE, 0, length) == 0


def _olds(path: Path) -> list[_Old]:
    """Return the old files of a log, oldest first."""
    numbers = [(old, old.name.removeprefix(f"{path.name}.")) for old in path.parent.glob(f"{glob.escape(path.name)}.*")]
    return sorted((_Old(old, int(number)) for old, number in numbers if number.isdecimal()), key=lambda old: old.end)


def base_of(path: Path) -> int:
    """Return the position of the first byte of a log's own file; 0 if no old file precedes it."""
    olds = _olds(path)
    return olds[-1].end if olds else 0


def _part(path: Path) -> Path:
    return path.with_name(path.name + _PART)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A log with its old files, as one text; it is not rotated while it is open."""

    begin: int
    """The position of the first byte that is kept."""
    base: int
    """The position of the first byte of the log's own file."""
    end: int
    """The position after the last byte."""
    _files: tuple[tuple[int, BinaryIO], ...]
    """The files, each with the position of its first byte."""

    def read(self, start: int, size: int) -> bytes:
        """Return at most `size` bytes from a position on, which is at least `begin`; none at the end of the log."""
        data = b""
        for number, (begin, file) in enumerate(self._files):
            end = self._files[number + 1][0] if number + 1 < len(self._files) else None
            if len(data) < size and (end is None or start + len(data) < end):
                file.seek(start + len(data) - begin)
                data += file.read(size - len(data) if end is None else min(size, end - start) - len(data))
        return data


@contextmanager
def open_log(path: Path) -> Generator[OpenLog]:
    """Open a log, with its newest `MAX_OLD_LOGS` old files, for reading; wait while another process rotates it.

    Without locks in the file system, it may be rotated meanwhile.

    Raises:
        OSError: the log does not exist, or cannot be read.
    """
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(path.open("rb"))
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(log, fcntl.LOCK_SH)
            stack.callback(fcntl.flock, log, fcntl.LOCK_UN)
        olds = _olds(path)[-MAX_OLD_LOGS:]
        base = olds[-1].end if olds else 0
        files = [(old.begin, stack.enter_context(old.path.open("rb"))) for old in olds]
        files.append((base, log))
        yield OpenLog(files[0][0], base, base + log.seek(0, os.SEEK_END), tuple(files))
