"""Removing files that no commit names any more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def remove_files(paths: Iterable[str]) -> None:
    """Remove files. Their names are never used again, so this may happen at any time after they were forgotten."""
    for path in paths:
        Path(path).unlink(missing_ok=True)
