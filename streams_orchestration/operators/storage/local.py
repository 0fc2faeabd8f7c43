"""`LocalStorage`: storage on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.operators.storage.durable_files import NO_LINKS, make_directory, write_whole
from streams_orchestration.operators.storage.input_files import resolve_inputs
from streams_orchestration.operators.storage.port import File, ListedFile


@dataclass(frozen=True)
class LocalStorage:
    """Storage on this machine. A published file gets its final name by a hard link, or else by a rename.

    Methods raise OSError if a file or directory cannot be read or written.
    """

    base: Path = Path()
    """The directory against which relative paths are resolved."""

    def files(self, place: str) -> Sequence[File]:
        """Return the files that a path, a directory, a pattern or a `package://` path names; see `resolve_inputs`.

        Raises:
            ValueError: there are none; the message gives the remedy.
        """
        return resolve_inputs(place, self.base)

    def file(self, place: str) -> Path:
        """Return the path of a file, which need not exist."""
        return self.base / place

    def below(self, place: str) -> Sequence[File]:
        """Return all files below a directory, sorted by path; none if it does not exist; see `files_below`."""
        return files_below(self.base / place)

    def listed(self, place: str) -> Sequence[ListedFile]:
        """Return the files in a directory, except those that are removed during the call.

        Symbolic links that lead nowhere, or back to themselves, are left out, too.

        Raises:
            NotADirectoryError, FileNotFoundError: there is no such directory.
        """
        files: list[ListedFile] = []
        with os.scandir(self.base / place) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if Path(entry.path).is_file():
                        status = entry.stat()
                        files.append(ListedFile(entry.name, status.st_size, status.st_mtime_ns))
        return files

    def put(self, place: str, data: Any) -> None:
        """Write a file atomically, by way of a temporary file, and create its directories."""
        path = self.base / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)

    def publish(self, pending: Path, final: str) -> None:
        """Give a file its final name, atomically, and create the directory. The pending name may remain.

        The name survives a loss of power only after `sync_names`. The call may be repeated after a crash at any point,
        and by several processes at the same time.

        Raises:
            FileExistsError: another file has the final name.
            FileNotFoundError: the pending file is gone, since another process published it or a reset removed it.
        """
        target = Path(final)
        make_directory(target.parent)
        try:
            os.link(pending, target)
        except FileExistsError:
            if not is_same(pending, target):
                raise
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            _move(pending, target)


def files_below(directory: Path, pattern: str = "*") -> list[Path]:
    """Return the files below a directory whose names match a pattern, sorted by path.

    Files and directories that another process removes during the call are left out, and so are those that may not be
    read. `Path.rglob` fails if a directory is removed between its listing and its reading.

    Raises:
        OSError: a directory cannot be read for another reason.
    """
    files: list[Path] = []
    for place, _, names in os.walk(directory, onerror=_refuse_all_but_gone):
        files += (path for path in (Path(place, name) for name in names) if path.match(pattern) and path.is_file())
    return sorted(files)


def _refuse_all_but_gone(error: OSError) -> None:
    if not isinstance(error, (FileNotFoundError, PermissionError)):
        raise error


def is_same(pending: Path, final: Path) -> bool:
    """Return True if both names refer to the same file, or if a name does not exist."""
    try:
        return pending.samefile(final)
    except FileNotFoundError:
        return True


def _move(pending: Path, target: Path) -> None:
    """Rename a file on a file system without hard links, without replacing another file.

    An empty file reserves the name first. If the process is killed before the rename, the empty file remains and is
    later reported as another file.
    """
    pending.stat()
    try:
        target.open("xb").close()
    except FileExistsError:
        if pending.exists():
            raise
    try:
        pending.rename(target)
    except OSError:  # another process has moved the file meanwhile, or has taken it back
        if not target.stat().st_size:
            target.unlink()
        raise
