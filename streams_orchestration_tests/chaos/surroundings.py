"""The surroundings of an application: a home, on a small disk if possible, and the environment of its processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.faults import SCHEMA
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime.stored import options_of
from streams_orchestration_tests.servers.faulty_s3 import FaultyS3
from streams_orchestration_tests.servers.s3 import BUCKET

DISK_BYTES = 256 << 20
"""The size of a small disk for a home."""
QUERIES_DISK_BYTES = 2 << 30
"""The same of an application with queries of Spark's: each store of their state takes 4 MiB there."""


@contextlib.contextmanager
def home_at(place: Path, size: int) -> Iterator[tuple[Home, Path | None]]:
    """Yield the home, on a disk of its own of so many bytes if that can be had."""
    root = place / "disk"
    root.mkdir()
    mounted = size > 0 and can_mount(root, size)
    try:
        yield Home(root / "home"), root if mounted else None
    finally:
        if mounted:
            keep = place / "kept"
            subprocess.run(["cp", "-a", str(root / "home"), str(keep)], check=False)
            subprocess.run(["umount", "-l", str(root)], check=False)


def can_mount(root: Path, size: int = DISK_BYTES) -> bool:
    """Mount a small file system in memory there; False where this machine does not let us."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(root)]
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


@contextlib.contextmanager
def environment(home: Home, served: Server | None, engine: str, storage: FaultyS3 | None = None) -> Iterator[None]:
    """Yield the environment of processes that use a home, a catalog, an engine and a storage."""
    before = dict(os.environ)
    os.environ.pop("STREAMS_CATALOG", None)
    if served is not None:
        os.environ["STREAMS_CATALOG"] = served.url(SCHEMA)
    if storage is not None:
        os.environ["STREAMS_STORAGE"] = f"s3://{BUCKET}/chaos"
        os.environ["STREAMS_STORAGE_OPTIONS"] = options_of(storage.s3)
        os.environ.update(storage.s3.credentials)
    os.environ["STREAMS_HOME"] = str(home.root)
    os.environ.pop("DAGSTER_HOME", None)
    paths = [str(Path(__file__).parent / "engine")] if engine == "local" else []
    paths += [str(Path(__file__).parents[2]), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
