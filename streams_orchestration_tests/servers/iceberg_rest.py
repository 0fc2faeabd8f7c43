"""A catalog of Iceberg that is reached by REST: Nessie, with its tables' files on an S3 server."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

from streams_orchestration_tests.servers.jars import (
    NotToBeHadError,
    RestartableServer,
    free_port,
    program,
    wait_for_port,
)
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.servers.s3 import BUCKET, KEY, S3, SECRET

NESSIE = "org.projectnessie.nessie:nessie-quarkus:0.99.0:jar:runner"
LEAST_JAVA = 21
START_SECONDS = 180.0
_VERSION = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)


class RestCatalog(RestartableServer):
    """A catalog that runs, stops and runs again with what it knew.

    Args:
        directory: of its files.
        s3: where the files of the tables are.
    """

    def __init__(self, directory: Path, s3: S3) -> None:
        self.directory, self.s3, self.port = directory, s3, free_port()

    def properties(self, port: int | None = None) -> dict[str, str]:
        """Return the parameter `catalog`, with the secrets in variables that the fixture `s3` sets.

        Args:
            port: of a proxy in front of it.
        """
        return {
            "type": "rest",
            "uri": f"http://127.0.0.1:{port or self.port}/iceberg",
            "s3.endpoint": self.s3.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "${env:TEST_S3_KEY}",
            "s3.secret-access-key": "${env:TEST_S3_SECRET}",
        }

    def proxy(self) -> Proxy:
        """Return a proxy in front of it."""
        return Proxy(self.port)

    def table(self) -> str:
        """Return a name that no table has."""
        return f"lake.t{uuid.uuid4().hex[:12]}"

    def start(self) -> None:
        """Start, and return when it listens."""
        s3 = "nessie.catalog.service.s3.default-options"
        settings = {
            "quarkus.http.host": "127.0.0.1", "quarkus.http.port": self.port, "quarkus.management.port": free_port(),
            "quarkus.log.level": "WARN", "nessie.version.store.type": "ROCKSDB",
            "nessie.version.store.persist.rocks.database-path": self.directory / "catalog",
            "nessie.catalog.default-warehouse": "tables",
            "nessie.catalog.warehouses.tables.location": f"s3://{BUCKET}/tables",
            f"{s3}.endpoint": self.s3.endpoint, f"{s3}.region": "us-east-1", f"{s3}.path-style-access": "true",
            f"{s3}.request-signing-enabled": "false", f"{s3}.access-key": "urn:nessie-secret:quarkus:login",
            "login.name": KEY, "login.secret": SECRET,
        }  # fmt: skip
        options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options += [f"-D{name}={value}" for name, value in settings.items()]
        log = self.directory / "catalog.log"
        with log.open("ab") as output:
            (jar,) = program(NESSIE).glob("*.jar")
            command = [_java(), *options, "-jar", str(jar)]
            self._process = subprocess.Popen(
                command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        wait_for_port(self.port, self._process, START_SECONDS, log)


@contextlib.contextmanager
def rest_catalog(directory: Path, s3: S3) -> Iterator[RestCatalog]:
    """Yield a catalog that runs.

    Raises:
        NotToBeHadError: its programs cannot be had here.
    """
    server = RestCatalog(directory, s3)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def _java() -> str:
    """Return a Java that is new enough, of those that are installed.

    Raises:
        NotToBeHadError: there is none.
    """
    homes = [Path(home) for home in [os.environ.get("JAVA_HOME")] if home]
    if (there := shutil.which("java")) is not None:
        homes.append(Path(there).resolve().parents[1])
    for home in (*homes, *sorted(Path("/usr/lib/jvm").glob("*"))):
        with contextlib.suppress(OSError):
            version = _VERSION.search((home / "release").read_text(encoding="utf-8"))
            if version is not None and int(version[1]) >= LEAST_JAVA:
                return str(home / "bin" / "java")
    message = f"there is no Java {LEAST_JAVA}, which {NESSIE} needs"
    raise NotToBeHadError(message)
