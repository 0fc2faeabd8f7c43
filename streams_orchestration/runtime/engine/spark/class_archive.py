"""The archive of Spark's classes (class data sharing), with which a JVM need not load, check and link them again.

The JVM of the first application that completes writes it after the end. An archive belongs to one Java, one Spark and
one set of options; a JVM that it does not fit ignores it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from streams_orchestration.runtime.engine.spark.spark_home import cache_directory

FREE_BYTES = 1024 * 1024 * 1024
"""Bytes that must stay free on the disk for an archive to be written; an archive takes some 150 MB."""
MAX_ARCHIVES = 2
"""The number of archives that are kept, the last used ones."""
STALE_SECONDS = 3600.0
"""The age in seconds at which an incomplete archive counts as left by a killed JVM."""
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""JVM options that keep messages on an archive that does not fit out of the log."""

log = logging.getLogger("streams.host")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The file of an archive of the classes that Spark loads, which lets a JVM start faster."""

    path: Path
    writes: Path | None
    """The file that the JVM is to write; None if the archive exists, or cannot be written."""

    @classmethod
    def find(cls, java: Path, options: str, home: Path, directory: Path | None = None) -> ClassArchive:
        """Find the archive for a JVM, and mark it as used by its modification time.

        If it is missing, its directory is created. The JVM is to write it if the directory can be written, and has more
        than `FREE_BYTES` free on its disk; otherwise no archive is made. Archives are in `directory`, by default in the
        directory of the user's caches.

        Raises:
            OSError: the program or Spark's jars do not exist.
        """
        directory = directory or cache_directory()
        program, jars = java.resolve(), home / "jars"
        parts = [options, version("pyspark"), *(f"{path} {path.stat().st_mtime_ns}" for path in (program, jars))]
        path = directory / f"spark-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}.jsa"
        with contextlib.suppress(OSError):
            os.utime(path)
        if path.exists():
            return cls(path, None)
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            if os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > FREE_BYTES:
                return cls(path, path.with_suffix(f".{os.getpid()}.tmp"))
        return cls(path, None)

    @property
    def options(self) -> str:
        """The options with which the JVM uses the archive; empty if there is no archive."""
        return f"-XX:SharedArchiveFile={self.path} {QUIET}" if self.path.exists() else ""

    def write(self, gateway: Any) -> None:
        """Make the JVM write the archive to `writes`, as `jcmd VM.cds static_dump` does, and wait until it has done so.

        An option to write it when the JVM ends would slow down the JVM by seconds; this takes time only afterwards. An
        error of the JVM is raised as Py4J's.
        """
        java = gateway.jvm.java.lang

        def array(kind: Any, *items: Any) -> Any:
            made = gateway.new_array(kind, len(items))
            for number, item in enumerate(items):
                made[number] = item
            return made

        strings = "[Ljava.lang.String;"
        kinds = ("javax.management.ObjectName", "java.lang.String", "[Ljava.lang.Object;", strings)
        invoke = java.Class.forName("javax.management.MBeanServerConnection").getMethod(
            "invoke", array(java.Class, *map(java.Class.forName, kinds))
        )
        arguments = array(java.Object, array(java.String, "static_dump", str(self.writes)))
        commands = gateway.jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
        server = java.management.ManagementFactory.getPlatformMBeanServer()
        invoke.invoke(server, array(java.Object, commands, "vmCds", arguments, array(java.String, strings)))

    def drop(self) -> None:
        """Remove the incomplete archive of a JVM that was killed; do nothing if it was to write none."""
        if self.writes is not None:
            for path in (self.writes, self.writes.with_name(f"{self.writes.name}.classlist")):
                path.unlink(missing_ok=True)

    def keep(self) -> None:
        """Move the archive that the JVM has written to its place; do nothing if it has written none.

        Incomplete archives that are older than `STALE_SECONDS`, and all but the `MAX_ARCHIVES` last used archives, are
        removed. Failures are logged.
        """
        if self.writes is None or not self.writes.exists():
            return
        try:
            self.writes.replace(self.path)
            log.info("Spark's classes are archived in %s, for a quicker start", self.path)
            archives = sorted(self.path.parent.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime)
            stale = [path for path in self.path.parent.glob("spark-*.tmp*") if _age(path) > STALE_SECONDS]
            for path in (*archives[:-MAX_ARCHIVES], *stale):
                path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s could not be written: %s", self.path, error.strerror)


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime
