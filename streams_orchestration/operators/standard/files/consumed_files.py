"""FileSource with `deleteFile` or `moveFileToDirectory`: a file that cuts no longer need is deleted or moved away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streams_orchestration.operators.contract.operator import Offset, OperatorContext
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.files.source_parameters import FileSourceParameters
from streams_orchestration.operators.storage.durable_files import link_or_copy, sync_names, sync_removals
from streams_orchestration.operators.storage.port import File, is_address


class ConsumedFiles(FileSource):
    """The source that removes its files: each is deleted, or moved, when no reset can go back to it.

    An offset lists the files that were read to their ends and are left, each with its name, inode, modification time
    and the number of bytes that were read. A file with unread bytes, or one that has changed since, is left. A line
    that is appended between this check and the removal is not read, so writers should move finished files into place.

    If the directory already has a file of that name, the moved file gets a number after its name, as in IBM Streams.
    """

    removes = True
    confirms_at_end = True
    """True, so that `confirm` is called once more when the host stops: it removes the files of the last cut at once."""

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raise ValueError as FileSource does, and if files cannot be removed or the directory does not exist."""
        if is_address(parameters.file) or parameters.file.startswith("package://") or parameters.interleave:
            message = (
                "deleteFile and moveFileToDirectory are for local files only, and cannot be combined with interleave"
            )
            raise ValueError(message)
        place = context.base / (parameters.move_file_to_directory or "")
        if not place.is_dir():
            message = f"moveFileToDirectory: {place}: this directory does not exist; create it, or name another one"
            raise ValueError(message)
        super().check(context, parameters)

    def setup(self) -> None:
        """Prepare as FileSource does, see `FileSource.setup`; no file was read yet."""
        super().setup()
        self.read: list[list[Any]] = []
        """The files that were read to their ends, as an offset lists them."""

    def _go_to(self, offset: Offset) -> None:
        self.read = list(offset.get("read", ()))
        super()._go_to(offset)

    def _goes_on(self) -> bool:
        more = super()._goes_on()
        if self.ended and isinstance(self.path, Path):
            identity = self.identity
            self.read.append([self._name(self.path), identity.node, identity.modified, identity.size])
        return more

    def _offset(self) -> Offset:
        self.read = [each for each in self.read if self._as_read(each) is not None]
        return super()._offset() | ({"read": list(self.read)} if self.read else {})

    def _as_read(self, read: Sequence[Any]) -> Path | None:
        """Return the path of a file that was read; None if it is gone or has changed since."""
        name, *stamp = read
        path = self.storage.file(name)
        return path if isinstance(path, Path) and _stamp(path) == stamp else None

    def _pattern_names_several(self) -> bool:
        place = self.context.base / self.parameters.file
        return place.is_dir() or any(mark in self.parameters.file for mark in "*?[")

    def _files(self) -> Sequence[File]:
        """Return the files that are left; none if no name matches. A single file counts even if it is gone."""
        if not self._pattern_names_several():
            return [self.storage.file(self.parameters.file)]
        try:
            return super()._files()
        except ValueError:
            return []

    def available(self, offset: Offset) -> Offset | None:
        """Return the last file that is left, and its size; the offset's own file with size 0 if none is left."""
        left = [file for file in self._files() if isinstance(file, Path) and file.exists()]
        if left:
            return {"file": self._name(left[-1]), "size": left[-1].stat().st_size}
        return {"file": offset.get("file", self.parameters.file), "size": 0}

    def confirm(self, offset: Offset) -> None:
        """Delete or move the files that the offset lists as read, unless they have changed since; this is then on disk.

        Raises:
            FileExistsError: another process has taken the free name meanwhile.
            OSError: a file cannot be removed or moved.
        """
        files = [file for read in offset.get("read", ()) if (file := self._as_read(read)) is not None]
        for file in files:
            if not self.parameters.delete_file:
                self._keep(file)
            file.unlink(missing_ok=True)
        sync_removals(files)

    def _keep(self, file: Path) -> None:
        """Give a file a second name in the directory that it moves to, or copy it to another file system; flush it."""
        target = self._free_name(file)
        if not os.path.lexists(target):
            link_or_copy(file, target)
            if not _is_same(target, file):
                shutil.copystat(file, target)
        sync_names([target])

    def _free_name(self, file: Path) -> Path:
        """Return the first path in the directory that no other file has: the file's name, or its name and a number."""
        place = self.context.base / (self.parameters.move_file_to_directory or "") / file.name
        number = 0
        while os.path.lexists(place) and not _is_same(place, file):
            number += 1
            place = place.with_name(f"{file.name}.{number}")
        return place


def _is_same(path: Path, other: Path) -> bool:
    """Return True if two paths are names of one file or of one symbolic link, which is not followed."""
    return os.path.samestat(path.lstat(), other.lstat())


def _stamp(path: Path) -> list[object]:
    """Return the inode, the time and the size of a file as an offset lists them; empty if the file is gone."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return []
    return [str(found.st_ino), found.st_mtime_ns, found.st_size]
