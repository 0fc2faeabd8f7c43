"""Files with the stacks of workers that crash, one for each worker and one for the processes that its tests fork.

Pytest writes such a stack among the output of all workers, and none once the tests are over. A file also names a crash
at the end of a worker, which may come after that of the whole run: the next run begins with the file's name.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Collection
from io import FileIO
from pathlib import Path

_files: list[FileIO] = []
"""The file of this worker, and that of the processes that its tests fork; empty in other processes."""


def directory(root: Path) -> Path:
    """Return the directory of the files, which `make clean` removes."""
    return root / ".pytest_cache" / "crashes"


def begin(root: Path, worker: str) -> None:
    """Have the stacks of all threads written into the worker's file if this process crashes, and where it was then."""
    place = directory(root)
    place.mkdir(parents=True, exist_ok=True)
    _files[:] = [FileIO(place / f"{worker}-{os.getpid()}{suffix}.txt", "w") for suffix in ("", "-forks")]
    faulthandler.enable(_files[0])
    os.register_at_fork(after_in_child=lambda: faulthandler.enable(_files[1]))


def note_end(moment: str) -> None:
    """Note that the worker comes to its end; its tests name themselves in the stacks."""
    if _files:
        _files[0].write(f"{moment}\n".encode())
        faulthandler.enable(_files[0])  # pytest disables it at its end


def end() -> None:
    """Remove the files of a worker that has not crashed, nor have the processes that its tests forked."""
    for file in _files:
        path = Path(os.fsdecode(file.name))
        if not _has_crash(path):
            path.unlink(missing_ok=True)


def found(root: Path, known: Collection[Path] = ()) -> list[Path]:
    """Return the files with a crash, without those that are known."""
    return [path for path in sorted(directory(root).glob("*.txt")) if path not in known and _has_crash(path)]


def _has_crash(path: Path) -> bool:
    try:
        return "Fatal Python error" in path.read_text(errors="replace")
    except FileNotFoundError:
        return False
