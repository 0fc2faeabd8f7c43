"""Files of lake tables on this disk: what a commit names is on disk before it, and the commit before it counts.

The libraries synchronise nothing. Data files that a sink has brought in have their names on disk before the commit that
names them. What pyiceberg writes itself is on disk before its commit, too (`durable_io.py`). What deltalake writes with
the commit - its log entry, and data files of its own - is synchronised before the delivery counts as made, since the
waiting files are removed then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from streams_orchestration.operators.durable_files import sync_contents, sync_names

REPEATED = 100
"""Newest commits of a table that are synchronised where a delivery had been made before its process ended."""


def local_path(address: str) -> Path | None:
    """Return the path of a file of this machine; None of one in an object store."""
    parsed = urlparse(address)
    if parsed.scheme not in ("", "file"):
        return None
    return Path(parsed.path if parsed.scheme else address)


def sync_files(files: Iterable[Path]) -> None:
    """Have files, with their names, on disk; those that are gone have been replaced by later commits.

    Raises:
        OSError: one cannot be synchronised.
    """
    there = [path for path in files if path.exists()]
    sync_contents(there)
    sync_names(there)


def delta_files(table: Path, versions: Iterable[int]) -> Iterator[Path]:
    """Yield the log entries of versions of a Delta table, and the data files that they add."""
    for version in versions:
        entry = table / "_delta_log" / f"{version:020}.json"
        if not entry.exists():
            continue
        yield entry
        for line in entry.read_text(encoding="utf-8").splitlines():
            if "add" in (action := json.loads(line)):
                yield table / unquote(action["add"]["path"])
