"""FileSource with `deleteFile` or `moveFileToDirectory`: a file that no cut needs any more is deleted or moved away."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from streams_orchestration.operators.contract import Offset, OperatorContext
from streams_orchestration.operators.standard.file_source import FileSource
from streams_orchestration.operators.standard.file_source_parameters import FileSourceParameters
from streams_orchestration.operators.storage.port import File, is_address


class ConsumedFiles(FileSource):
    """The source that removes its files: each is deleted, or moved, when no reset can go back to it.

    If the directory already has a file of that name, the moved file gets a number after its name, as in IBM Streams.
    """

    removes = True
    confirms_at_end = True
    """True to be confirmed once more when the host stops, since nothing has to be waited for."""

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raise ValueError as FileSource does, and if files cannot be removed or the directory does not exist."""
        if is_address(parameters.file) or parameters.file.startswith("package://") or parameters.interleave:
            message = "deleteFile and moveFileToDirectory are for local files, and cannot be combined with interleave"
            raise ValueError(message)
        place = context.base / (parameters.move_file_to_directory or "")
        if not place.is_dir():
            message = f"moveFileToDirectory: {place}: no such directory; make it, or name another one"
            raise ValueError(message)
        super().check(context, parameters)

    def _pattern_names_several(self) -> bool:
        place = self.context.base / self.parameters.file
        return place.is_dir() or any(mark in self.parameters.file for mark in "*?[")

    def _files(self) -> Sequence[File]:
        """Return the files that are left. A single file counts even if it is gone."""
        if not self._pattern_names_several():
            return [self.storage.file(self.parameters.file)]
        try:
            return super()._files()
        except ValueError:
            return []

    def available(self, offset: Offset) -> Offset | None:
        """Return the last file that is left, and its size; the offset's own file if none is left."""
        left = [file for file in self._files() if isinstance(file, Path) and file.exists()]
        if left:
            return {"file": self._name(left[-1]), "size": left[-1].stat().st_size}
        return {"file": offset.get("file", self.parameters.file), "size": 0}

    def confirm(self, offset: Offset) -> None:
        """Delete or move the files before the offset.

        Raises:
            OSError: a file cannot be removed.
        """
        current = self.storage.file(offset["file"]) if "file" in offset else self.storage.file(self.parameters.file)
        done = [file for file in self._files() if isinstance(file, Path) and str(file) < str(current)]
        if offset.get("ended") and isinstance(current, Path):
            done.append(current)
        for file in done:
            if not file.exists():
                continue
            if self.parameters.delete_file:
                file.unlink(missing_ok=True)
            else:
                shutil.move(file, self._free_name(file.name))

    def _free_name(self, name: str) -> Path:
        """Return a name in the directory that no file has yet."""
        place = self.context.base / (self.parameters.move_file_to_directory or "") / name
        number = 0
        while place.exists():
            number += 1
            place = place.with_name(f"{name}.{number}")
        return place
