"""The disk of a simulation: what was not synchronised may be lost with the power, and writing may fail.

Files are real ones in a directory of a file system that gives no inode twice, as one in memory. Beside it lie second
names of all files whose content was synchronised. A loss of power decides for every name that differs from the
synchronised one which of the two is found again, and for every file whose content was not synchronised how much of it
is. That is what POSIX allows; file systems keep more.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streams_orchestration.operators.journal.source import JOURNAL
from streams_orchestration_tests.simulation import targets
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

BLOCK = 512
"""Bytes that a disk writes as a whole."""
SERVERS = ("catalog.db", targets.FILE)
"""Prefixes of the files of databases, whose commits are durable."""
WRITING = frozenset("wax+")


@dataclass
class Disk:
    """The files below a directory, and what of them is on disk."""

    scheduler: Scheduler
    root: Path
    aside: Path
    """A directory on the same file system, for second names."""
    full_until: float = 0.0
    """Simulated time until which nothing can be written."""
    flipped: set[str] = field(default_factory=set[str])
    """Names of files of which a bit was flipped."""
    changes: int = 0
    """The number of calls that have made, moved or removed a name, and of losses of power."""
    _sizes: dict[int, int] = field(default_factory=dict[int, int])
    """Inode of a file -> its bytes that are on disk."""
    _names: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    """Inode of a directory -> the names in it that are on disk, each with its inode."""

    def keeps(self, path: Path) -> bool:
        """Return True if a file is found again after a loss of power, with its content."""
        inode = path.stat().st_ino
        return self._is_kept(inode) and self._is_named(path, inode)

    def settle(self) -> None:
        """Let all that there is be on disk."""
        self._names = {}
        for directory, _, _ in os.walk(self.root):
            for entry in self._synchronised(directory, Path(directory).stat().st_ino):
                if entry.is_file(follow_symlinks=False):
                    self._keep(entry.path, entry.inode(), entry.stat().st_size)

    def flip(self, path: Path) -> str:
        """Flip a bit of a file that is at rest, whatever names it has; return where."""
        size = path.stat().st_size
        at = self.scheduler.choices.pick("flip", (1,) * 64) * size // 64
        with path.open("r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ (1 << self.scheduler.choices.pick("bit", (1,) * 8))]))
        return f"byte {at} of {size} of {path.name}"

    def lose_power(self) -> str:
        """Lose some of what is not on disk; return how much."""
        self.changes += 1
        lost: list[str] = []
        torn: dict[int, int] = {}
        self._lose_names(self.root, lost)
        for directory, directories, names in os.walk(self.root):
            directories.sort()
            for name in sorted(names):
                path = Path(directory, name)
                status = path.lstat()
                kept = self._sizes.get(status.st_ino, 0) if self._is_kept(status.st_ino) else -1
                if name.startswith(SERVERS) or not stat.S_ISREG(status.st_mode) or kept >= status.st_size:
                    continue
                if status.st_ino not in torn:
                    rest = status.st_size - max(kept, 0)
                    blocks = -(-rest // BLOCK)
                    # nothing, all, or a part
                    share = self.scheduler.choices.pick("torn", (2, 2, 1, 1, 1)) / 4
                    torn[status.st_ino] = max(kept, 0) + min(int(blocks * share) * BLOCK, rest)
                    os.truncate(path, torn[status.st_ino])
        self.settle()
        return f"{len(lost)} names and {len(torn)} contents were not on disk"

    def _lose_names(self, directory: Path, lost: list[str]) -> None:
        with os.scandir(directory) as entries:
            there = {entry.name: entry.inode() for entry in entries}
        known = self._names.get(directory.stat().st_ino, {})
        for name in sorted({*there, *known}):
            path = directory / name
            if name.startswith(SERVERS) or there.get(name) == known.get(name):
                continue
            kept = None if (inode := known.get(name)) is None else self.aside / str(inode)
            if name not in there and (kept is None or not kept.exists()):
                continue  # a directory that was removed
            lost.append(name)
            if self.scheduler.choices.pick("power", (1, 1)):  # the newest state of the name is on disk, too
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if kept is not None and kept.exists():
                os.link(kept, path)
        for path in sorted(directory.iterdir()):
            if path.is_dir() and not path.is_symlink():
                self._lose_names(path, lost)

    def _is_kept(self, inode: int) -> bool:
        return (self.aside / str(inode)).exists()

    def _keep(self, path: str, inode: int, size: int) -> None:
        self._sizes[inode] = size
        with contextlib.suppress(FileExistsError):
            os.link(path, self.aside / str(inode))

    def _is_named(self, path: Path, inode: int) -> bool:
        if path == self.root:
            return True
        parent = path.parent.stat().st_ino
        return self._names.get(parent, {}).get(path.name) == inode and self._is_named(path.parent, parent)

    def _synchronised(self, directory: str, inode: int) -> list[os.DirEntry[str]]:
        with os.scandir(directory) as entries:
            found = [entry for entry in entries if not entry.name.startswith(SERVERS)]
        self._names[inode] = {entry.name: entry.inode() for entry in found}
        return found

    def __post_init__(self) -> None:
        self._prefix = str(self.root)

    def _descriptors(self) -> set[int]:
        """Return the open files of the process that runs."""
        assert self.scheduler.current is not None
        return self.scheduler.current.process.state.setdefault("open files", set())

    def end(self, process: SimulatedProcess) -> None:
        """Close the files of a process that has ended, which frees its locks."""
        for descriptor in process.state.pop("open files", ()):
            os.close(descriptor)

    def _below(self, path: object) -> bool:
        return self.scheduler.current is not None and str(path).startswith(self._prefix)

    def _refuse(self, path: object) -> None:
        self._require(path)
        if self.scheduler.now < self.full_until:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def _require(self, path: object) -> None:
        """Raise OSError if the machine of the caller does not reach the files, or the disk below them is broken."""
        machine = self.scheduler.machine
        is_bad = machine.bad_disk and str(path).startswith(machine.bad_disk)
        if is_bad or self.scheduler.now < machine.storage_away_until:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let processes within a block write on this disk."""
        open_path = Path.open

        def fsync(descriptor: int) -> None:
            path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  a Path costs more than the call
            if not self._below(path):
                return
            self.scheduler.step("sync")
            self._refuse(path)
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                self._synchronised(path, status.st_ino)
            elif status.st_nlink:
                self._keep(path, status.st_ino, status.st_size)

        open_descriptor, close, pwrite = os.open, os.close, os.pwrite

        def descriptor_of(path: Any, flags: int, *more: Any, **named: Any) -> int:
            if not self._below(path):
                return open_descriptor(path, flags, *more, **named)
            (self._refuse if flags & os.O_CREAT else self._require)(path)
            descriptor = open_descriptor(path, flags, *more, **named)
            if f"/{JOURNAL}/" in str(path):  # others may close theirs in ways that are not seen here
                self._descriptors().add(descriptor)
            return descriptor

        def closed(descriptor: int) -> None:
            if self.scheduler.current is not None:
                self._descriptors().discard(descriptor)
            close(descriptor)

        def written(descriptor: int, content: bytes, at: int) -> int:
            path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  a Path costs more than the call
            if self._below(path):
                self.scheduler.step("write")
                self._refuse(path)
            return pwrite(descriptor, content, at)

        def stepped(call: Callable[..., None], name: str, *, new: int | None = None) -> Callable[..., None]:
            """Return a call that is a step; `new` is the number of the argument that is a new name."""

            def called(*arguments: Any, **named: Any) -> None:
                if self._below(arguments[0]) and (new is None or not os.path.lexists(arguments[new])):
                    self.scheduler.step(name)
                    self._require(arguments[0])
                    if new is not None:
                        self._refuse(arguments[new])
                self.changes += 1
                call(*arguments, **named)

            return called

        def opened(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
            if self._below(path):
                (self._refuse if WRITING & set(mode) else self._require)(path)
            return open_path(path, mode, *more, **named)

        with (
            patch.object(os, "fsync", fsync),
            patch.object(os, "fdatasync", fsync),
            patch.object(os, "open", descriptor_of),
            patch.object(os, "close", closed),
            patch.object(os, "pwrite", written),
            patch.object(os, "link", stepped(os.link, "link", new=1)),
            patch.object(os, "rename", stepped(os.rename, "rename")),
            patch.object(os, "replace", stepped(os.replace, "rename")),
            patch.object(os, "unlink", stepped(os.unlink, "unlink")),
            patch.object(os, "mkdir", stepped(os.mkdir, "mkdir", new=0)),
            patch.object(Path, "open", opened),
        ):
            yield
