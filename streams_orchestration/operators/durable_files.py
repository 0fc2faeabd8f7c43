"""Files and names that are there after a loss of power."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str, *, durably: bool = True) -> None:
    """Write a file so that it is there with all of its content or as it was before."""
    aside = path.with_suffix(".part")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if durably:
            os.fsync(file.fileno())
    aside.rename(path)
    if durably:
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Have the names in a directory on disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
