"""The archive of Spark's classes (class data sharing): a JVM that maps it need not load, check and link them anew.

It is written by the first JVM that ends well, and belongs to one Java, one Spark and one set of options. A JVM that it
does not fit ignores it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pyspark

FREE_BYTES = 1024 * 1024 * 1024
"""Left on the disk, or else no archive is written; it takes some 150 MB."""
KEPT = 2
"""Archives that are kept, the youngest ones."""
STALE_SECONDS = 3600.0
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""The JVM says of thousands of classes why they are not in the archive."""

log = logging.getLogger("streams.host")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """One archive, there or to be written."""

    path: Path
    writes: Path | None
    """Where the JVM writes it when it ends; None when it is there, or cannot be written."""

    @classmethod
    def find(cls, java: Path, options: str, directory: Path | None = None) -> ClassArchive:
        """The archive for a JVM.

        Args:
            java: the program.
            options: of the JVM.
            directory: of archives; that of the user's caches when None.
        """
        directory = (
            directory or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "streams_orchestration"
        )
        program, jars = java.resolve(), Path(pyspark.__file__).parent / "jars"
        parts = [options, pyspark.__version__, *(f"{path} {path.stat().st_mtime_ns}" for path in (program, jars))]
        path = directory / f"spark-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}.jsa"
        if path.exists():
            return cls(path, None)
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            if os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > FREE_BYTES:
                return cls(path, path.with_suffix(f".{os.getpid()}.tmp"))
        return cls(path, None)

    @property
    def options(self) -> str:
        """For the JVM's command line."""
        if self.writes is not None:
            return f"-XX:ArchiveClassesAtExit={self.writes} {QUIET}"
        return f"-XX:SharedArchiveFile={self.path} {QUIET}" if self.path.exists() else ""

    def keep(self) -> None:
        """Take the archive that the JVM has written, once it has ended; leave only the youngest ones."""
        if self.writes is None or not self.writes.exists():
            return
        try:
            self.writes.replace(self.path)
            log.info("Spark's classes are archived in %s, for a quicker start", self.path)
            archives = sorted(self.path.parent.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime)
            stale = [path for path in self.path.parent.glob("spark-*.tmp") if _age(path) > STALE_SECONDS]
            for path in (*archives[:-KEPT], *stale):
                path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s could not be written: %s", self.path, error.strerror)


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime
