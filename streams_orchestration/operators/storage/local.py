"""`LocalStorage`: files of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.operators.durable_files import NO_LINKS, make_directory, write_whole
from streams_orchestration.operators.storage.input_files import resolve_inputs
from streams_orchestration.operators.storage.port import File, Listed


@dataclass(frozen=True)
class LocalStorage:
    """Files of this machine. A published file gets its final name by a hard link."""

    base: Path = Path()
    """Relative paths start from here."""

    def files(self, place: str) -> Sequence[File]:
        """Return the files that a path, a directory or a pattern names; `package://` is known, too."""
        return resolve_inputs(place, self.base)

    def file(self, place: str) -> Path:
        """Return the file of this name."""
        return self.base / place

    def below(self, place: str) -> Sequence[File]:
        """Return all files in a directory."""
        return sorted(path for path in (self.base / place).rglob("*") if path.is_file())

    def listed(self, place: str) -> Sequence[Listed]:
        """Return the files in a directory, except those that are removed during the call."""
        files: list[Listed] = []
        with os.scandir(self.base / place) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        status = entry.stat()
                        files.append(Listed(entry.name, status.st_size, status.st_mtime_ns))
        return files

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of all files in a directory."""
        return {str(path): path.stat().st_size for path in map(Path, map(str, self.below(place)))}

    def get(self, place: str) -> bytes:
        """Return the whole content of a file."""
        return (self.base / place).read_bytes()

    def put(self, place: str, data: Any) -> None:
        """Write a file aside, then rename it."""
        path = self.base / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)

    def copy(self, place: str, other: str) -> None:
        """Copy a file aside, then rename it."""
        self.put(other, self.get(place))

    def publish(self, pending: Path, final: str) -> None:
        """Give a file its final name, which `sync_names` then has on disk; never takes the place of another file."""
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


def is_same(pending: Path, final: Path) -> bool:
    """Return True if both names are of one file, or one of them is gone: the final name is of no other file."""
    try:
        return pending.samefile(final)
    except FileNotFoundError:
        return True


def _move(pending: Path, target: Path) -> None:
    """Rename a file where there are no hard links; an empty file takes the name first, which fails where it exists.

    A process that is killed between the two calls leaves the empty file, which is then reported as another file.

    Raises:
        FileExistsError: another file has the name.
        FileNotFoundError: the pending file is gone.
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
