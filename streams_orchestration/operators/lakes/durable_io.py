"""File access for Iceberg that flushes local files to disk before the commit that names them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from streams_orchestration.operators.lakes.on_disk import local_path, sync_files


class DurableFileIO(PyArrowFileIO):
    """The library's file access, except that local files and their names are on disk once they are closed."""

    def new_output(self, location: str) -> PyArrowFile:
        """Return the output file; a local file is flushed to disk when it is closed."""
        output = super().new_output(location)
        return output if local_path(location) is None else _DurableFile(location, output._path, output._filesystem)


class _DurableFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> Any:  # noqa: FBT001, FBT002  as the library has it
        """Create a file and its directories, and return the stream; on close, content and name are on disk.

        An existing file is emptied if `overwrite`.
        """
        if not overwrite and self.exists():
            message = f"Cannot create file, already exists: {self.location}"
            raise FileExistsError(message)
        return _Stream(Path(self._path))


class _Stream(io.BufferedWriter):
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(io.FileIO(path, "wb"), 1 << 20)
        self._path = path

    def close(self) -> None:
        """Close the file, and flush its content and name to disk. Closing a second time does nothing."""
        if not self.closed:
            super().close()
            sync_files([self._path])
