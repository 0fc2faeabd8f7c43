"""Durable files: the one way in which files are written that must survive a loss of power.

Each step is on disk before the next one relies on it:

1. `durable` flushes the content of one file, `sync_contents` the contents of several. They are flushed together, which
  takes hardly longer than one on a journaling file system. After a loss of power such a file may still lack its name.
2. A rename or a link gives a finished file its final name.
3. `sync_names` flushes the names, by one call for each directory.

Only then may another place rely on the file: a commit that names it, or the removal of its former name.

A removed file may be found again after a loss of power until `sync_removals` or `sync_trees` has flushed its removal.
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

MAX_PARALLEL_FLUSHES = 8
"""The largest number of files or directories that are flushed in parallel."""
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Error numbers that mean that a file system has no hard links."""
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)
"""Error numbers of file systems that cannot flush directories: there, names are durable when their call returns."""
flushed_names: set[Path] = set()
"""Directories whose own names this process has already flushed to disk."""


@contextmanager
def durable(path: Path, *, synced: bool = True) -> Iterator[IO[bytes]]:
    """Open a new file whose content is on disk when the block ends; an existing one is overwritten.

    On an error the file is removed.

    Args:
        path: the path of the file.
        synced: flush the file here. If false, the caller flushes it later with `sync_contents`.

    Raises:
        OSError: the file cannot be written; `filename` names it.
    """
    try:
        with path.open("wb") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
    except BaseException as error:
        _discard(path)
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise


def write_durably(path: Path, *parts: Any, synced: bool = True) -> None:
    """Write a new file of some parts, each of which is bytes; see `durable`."""
    with durable(path, synced=synced) as file:
        file.writelines(parts)


def sync_contents(paths: Iterable[Path]) -> None:
    """Flush the contents of files to disk.

    Raises:
        OSError: a file is gone or cannot be flushed; `filename` names it.
    """
    in_parallel(_sync, sorted(set(paths)))


def write_whole(path: Path, data: Any, *, durably: bool = True) -> None:
    """Replace a file atomically: readers see either the old or the new content. Several processes may do so at once.

    Args:
        path: the path of the file.
        data: the content, bytes or a text.
        durably: also survive a loss of power; otherwise only the end of this process.

    Raises:
        OSError: the file cannot be written and keeps its old content, or its name cannot be flushed.
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
        _discard(part)
        raise
    if durably:
        sync_names([path])


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file that never changes to a second name. If the file system cannot link, copy it atomically.

    A copy replaces an existing file with the second name.

    Raises:
        FileExistsError: the second name is already taken, and the file system has hard links.
        OSError: the file is gone, or cannot be copied.
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
            _discard(aside)


def sync_names(paths: Iterable[Path]) -> None:
    """Flush the names of files to disk, and the names of new directories above them.

    Raises:
        OSError: a directory is gone or cannot be flushed; `filename` names it.
    """
    directories = sorted({path.parent for path in paths})
    in_parallel(sync_directory, directories)
    for directory in directories:
        _sync_above(directory)


def sync_directory(directory: Path) -> None:
    """Flush the names in a directory to disk. Do nothing if the file system cannot flush directories.

    Raises:
        OSError: the directory is gone or cannot be flushed; `filename` names it.
    """
    try:
        _sync(directory)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_removals(paths: Iterable[Path]) -> None:
    """Flush the removal of files or directories to disk; a path whose parent directory does not exist is left out.

    Raises:
        OSError: a directory cannot be flushed; `filename` names it.
    """
    in_parallel(_sync_if_there, sorted({path.parent for path in paths}))


def sync_trees(directories: Iterable[Path]) -> None:
    """Flush the removal of all files below some directories to disk; a directory that does not exist is left out.

    Raises:
        OSError: a directory cannot be flushed; `filename` names it.
    """
    in_parallel(_sync_if_there, sorted({Path(place) for top in directories for place, _, _ in os.walk(top)}))


def make_directory(directory: Path) -> None:
    """Create a directory and its parents, and flush their names to disk. Raises OSError if that fails."""
    directory.mkdir(parents=True, exist_ok=True)
    _sync_above(directory)


def forget_names(directory: Path) -> None:
    """Forget flushed names in a removed directory. Names in a new directory of the same name are then flushed again."""
    flushed_names.difference_update([each for each in tuple(flushed_names) if each.is_relative_to(directory)])


def checksum_of(path: Path) -> int:
    """Return the CRC-32 of a file's content.

    Raises:
        OSError: the file cannot be read.
    """
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _discard(path: Path) -> None:
    """Remove a file, if it can be removed: the caller raises the error that made it useless."""
    with suppress(OSError):
        path.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)


def _sync_if_there(directory: Path) -> None:
    """Flush the names in a directory; do nothing if it is gone. Raises OSError if it cannot be flushed."""
    with suppress(FileNotFoundError):
        sync_directory(directory)


def in_parallel(action: Callable[[Path], None], paths: Sequence[Path]) -> None:
    """Run an action on several paths in parallel; raise the first error."""
    if len(paths) < 2:
        for path in paths:
            action(path)
        return
    *others, own = paths
    with world.Pool(min(len(others), MAX_PARALLEL_FLUSHES - 1)) as pool:
        started = [pool.submit(action, path) for path in others]
        try:
            action(own)  # this thread would only wait
        finally:
            for done in started:
                done.result()


def _sync_above(directory: Path) -> None:
    """Flush the names of a directory and its parents to disk, once per process; skip parents without permission.

    If one of them fails, the next call flushes all of them again.
    """
    flushed: list[Path] = []
    for each in (directory, *directory.parents):
        if each in flushed_names or each == each.parent:
            break
        with suppress(PermissionError):  # this user cannot have made the directory
            sync_directory(each.parent)
        flushed.append(each)
    flushed_names.update(flushed)
