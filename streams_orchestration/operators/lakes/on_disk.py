"""Flushes lake tables on this machine to disk: files before the commit that names them, and then the commit itself.

The libraries flush nothing. Data files of a sink are flushed, with their names, before the commit that names them, and
so are the files that pyiceberg writes itself (`durable_io.py`). What deltalake writes during the commit - its log entry
and data files - is flushed before the delivery counts as made, since the waiting files are then removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from streams_orchestration.operators.storage.durable_files import sync_contents, sync_names

MAX_FLUSHED_COMMITS = 100
"""The number of newest commits to flush if a delivery was already made. Its process may have ended before flushing
them.
"""


def local_path(address: str) -> Path | None:
    """Return the local path of a file, or None for an address in an object store."""
    parsed = urlparse(address)
    if parsed.scheme not in ("", "file"):
        return None
    return Path(parsed.path if parsed.scheme else address)


def sync_files(files: Iterable[Path]) -> None:
    """Flush files and their names to disk. Missing files are skipped: later commits have replaced them.

    Raises:
        OSError: a file cannot be flushed.
    """
    there = [path for path in files if path.exists()]
    sync_contents(there)
    sync_names(there)


def delta_files(table: Path, versions: Iterable[int]) -> Iterator[Path]:
    """Yield the log files of versions of a Delta table that exist, and the data files that they add."""
    for version in versions:
        entry = table / "_delta_log" / f"{version:020}.json"
        if not entry.exists():
            continue
        yield entry
        for line in entry.read_text(encoding="utf-8").splitlines():
            if "add" in (action := json.loads(line)):
                yield table / unquote(action["add"]["path"])
