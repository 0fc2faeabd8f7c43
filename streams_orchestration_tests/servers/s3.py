"""Two S3 servers: moto's, which takes any credentials, and S3Proxy, which checks them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration_tests.servers.jars import NotToBeHadError, RestartableServer, free_port, jars, wait_for_port

S3PROXY = "org.gaul:s3proxy:2.6.0"
START_SECONDS = 60.0
KEY, SECRET = "AKPLANTEDKEY", "planted-secret-key"
BUCKET = "bucket"
WITHOUT_CHECKSUMS = {
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
"""S3Proxy does not know the checksums that clients send, and expect, by default."""


@dataclass(frozen=True)
class S3:
    """A server with the bucket `bucket`."""

    endpoint: str

    @property
    def storage(self) -> dict[str, str]:
        """The parameter `storage`, with the secrets in variables that `credentials` has."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "accessKey": "${env:TEST_S3_KEY}",
            "secretKey": "${env:TEST_S3_SECRET}",
        }

    @property
    def credentials(self) -> dict[str, str]:
        """The environment that the parameter `storage` refers to."""
        return {"TEST_S3_KEY": KEY, "TEST_S3_SECRET": SECRET, **WITHOUT_CHECKSUMS}

    def system(self) -> Any:
        """Return the server as `pyarrow.fs` sees it, independent of the product."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=KEY, secret_key=SECRET, endpoint_override=self.endpoint, region="us-east-1",
            allow_bucket_creation=True, allow_bucket_deletion=True,
        )  # fmt: skip

    def put(self, name: str, content: bytes) -> str:
        """Write an object; gives its address."""
        with self.system().open_output_stream(f"{BUCKET}/{name}", compression=None) as sink:
            sink.write(content)
        return f"s3://{BUCKET}/{name}"

    def names(self, directory: str = "") -> list[str]:
        """Return all objects, in order."""
        from pyarrow.fs import FileSelector

        place = f"{BUCKET}/{directory}".rstrip("/")
        entries = self.system().get_file_info(FileSelector(place, recursive=True, allow_not_found=True))
        return sorted(info.path.removeprefix(f"{BUCKET}/") for info in entries if info.is_file)

    def content(self, name: str) -> bytes:
        with self.system().open_input_stream(f"{BUCKET}/{name}", compression=None) as source:
            return source.read()


@contextmanager
def moto(directory: Path, host: str = "127.0.0.1") -> Iterator[S3]:
    """Yield a server of moto in a process of its own, which listens at an address of this machine."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        message = "moto's server is not installed"
        raise NotToBeHadError(message)
    port = free_port()
    module = "streams_orchestration_tests.servers.moto_server"
    command = [sys.executable, "-m", module, "-H", host, "-p", str(port)]
    process = started(command, port, directory / "moto.log", host)
    try:
        server = S3(f"http://{host}:{port}")
        server.system().create_dir(BUCKET)
        yield server
    finally:
        process.kill()
        process.wait()


class S3Proxy(RestartableServer):
    """A server of S3Proxy, whose buckets are directories; it runs, stops and runs again."""

    def __init__(self, directory: Path, port: int | None = None) -> None:
        self.directory, self.port = directory, port or free_port()
        self.s3 = S3(f"http://127.0.0.1:{self.port}")

    def create(self) -> None:
        """Write the settings."""
        (self.directory / "buckets" / BUCKET).mkdir(parents=True)
        (self.directory / "s3proxy.conf").write_text(
            f"s3proxy.endpoint={self.s3.endpoint}\ns3proxy.authorization=aws-v2-or-v4\n"
            f"s3proxy.identity={KEY}\ns3proxy.credential={SECRET}\n"
            f"jclouds.provider=filesystem\njclouds.filesystem.basedir={self.directory / 'buckets'}\n"
        )
        (self.directory / "logback.xml").write_text("<configuration/>")

    def start(self) -> None:
        """Start, and return when it listens."""
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{self.directory}:{jars(S3PROXY)}/*"]
        command = ["java", *options, "org.gaul.s3proxy.Main", "--properties", str(self.directory / "s3proxy.conf")]
        self._process = started(command, self.port, self.directory / "s3proxy.log")


@contextmanager
def s3proxy(directory: Path, port: int | None = None) -> Iterator[S3Proxy]:
    """Yield a server of S3Proxy that runs."""
    server = S3Proxy(directory, port)
    server.create()
    try:
        server.start()
        yield server
    finally:
        server.kill()


def started(command: list[str], port: int, log: Path, host: str = "127.0.0.1") -> subprocess.Popen[bytes]:
    """Return a server's process, once it listens."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_for_port(port, process, START_SECONDS, log, host)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process
