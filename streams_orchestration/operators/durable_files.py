"""Durable files: the one way in which files are written that must survive a loss of power.

Each step is on disk before the next one relies on it:

1. `durable` flushes the content of one file, `sync_contents` that of several. They are flushed together, which takes
   hardly longer than one on a journaling file system. After a loss of power such a file may still lack its name.
2. A rename or a link gives a finished file its final name.
3. `sync_names` flushes the names, by one call for each directory.

Only then may another place rely on the file: a commit that names it, or the removal of its former name.
"""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from streams_orchestration import world

AT_ONCE = 8
"""Files or directories that are synchronised at the same time."""
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors of file systems without hard links."""
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)
"""Errors of file systems that synchronise no directories: names are on disk when the call that made them returns."""
_named: set[Path] = set()
"""Directories whose own names this process has flushed to disk."""


@contextmanager
def durable(path: Path, *, synced: bool = True) -> Iterator[IO[bytes]]:
    """Open a new file whose content is on disk when the block ends. If it cannot be written, it is removed.

    Args:
        path: the path of the file.
        synced: otherwise `sync_contents` has its content on disk later.

    Raises:
        OSError: it cannot be written; `filename` names it.
    """
    try:
        with path.open("wb") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise


def write_durably(path: Path, data: Any, *, synced: bool = True) -> None:
    """Write a new file with some bytes; see `durable`."""
    with durable(path, synced=synced) as file:
        file.write(data)


def sync_contents(paths: Iterable[Path]) -> None:
    """Flush the contents of files to disk.

    Raises:
        OSError: a file is gone or cannot be synchronised; `filename` names it.
    """
    _together(_sync, sorted(set(paths)))


def write_whole(path: Path, data: Any, *, durably: bool = True) -> None:
    """Write a file that others see with all of its content, or as it was before; several processes may do so at once.

    Args:
        path: the path of the file.
        data: the content, bytes or a text.
        durably: it survives a loss of power, too; otherwise only the end of this process.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    part = path.with_name(f".{path.name}.{world.new_id()}")
    content = data.encode() if isinstance(data, str) else data
    try:
        if durably:
            write_durably(part, content)
        else:
            part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durably:
        sync_names([path])


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that never changes a second name. Copy it, whole or not at all, where a link is impossible.

    Raises:
        FileExistsError: A file has that name already.
        OSError: The file is gone, or cannot be copied.
    """
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (*NO_LINKS, errno.EXDEV):
            raise
        aside = target.with_name(f"_{world.new_id()}{target.suffix}")
        try:
            with source.open("rb") as original, durable(aside) as copy:
                shutil.copyfileobj(original, copy, 1 << 20)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)


def sync_names(paths: Iterable[Path]) -> None:
    """Flush the names of files to disk, and the names of new directories above them.

    Raises:
        OSError: a directory is gone or cannot be synchronised; `filename` names it.
    """
    directories = sorted({path.parent for path in paths})
    _together(sync_directory, directories)
    for directory in directories:
        _sync_above(directory)


def sync_directory(directory: Path) -> None:
    """Flush the names in a directory to disk.

    Raises:
        OSError: it is gone or cannot be synchronised; `filename` names it.
    """
    try:
        _sync(directory)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def make_directory(directory: Path) -> None:
    """Make a directory, with its name on disk when this returns."""
    directory.mkdir(parents=True, exist_ok=True)
    _sync_above(directory)


def forget_names(directory: Path) -> None:
    """Note that a directory was removed, so that a new one in its place is flushed again."""
    _named.difference_update([each for each in tuple(_named) if each.is_relative_to(directory)])


def checksum_of(path: Path) -> int:
    """Return the CRC-32 of a file's content.

    Raises:
        OSError: it cannot be read.
    """
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)


def _together(action: Callable[[Path], None], paths: Sequence[Path]) -> None:
    """Do something with each of several paths, at the same time."""
    if len(paths) < 2:
        for path in paths:
            action(path)
        return
    with world.Pool(min(len(paths), AT_ONCE)) as pool:
        for done in [pool.submit(action, path) for path in paths]:
            done.result()


def _sync_above(directory: Path) -> None:
    """Flush the name of a directory and of its parents to disk, once in this process."""
    for each in (directory, *directory.parents):
        if each in _named or each == each.parent:
            return
        with suppress(PermissionError):  # this user cannot have made it
            sync_directory(each.parent)
        _named.add(each)
