"""A server of Google Cloud Storage: an emulator, which takes any client."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration_tests.servers.jars import NotToBeHadError, free_port, wait_for_port

START_SECONDS = 60.0
BUCKET = "bucket"
START = """
import sys, time
from gcp_storage_emulator.server import create_server
create_server("127.0.0.1", int(sys.argv[1]), in_memory=True, default_bucket=sys.argv[2]).start()
time.sleep(86_400)
"""


@dataclass(frozen=True)
class GoogleStorage:
    """A server with the bucket `bucket`."""

    port: int

    @property
    def storage(self) -> dict[str, Any]:
        """The parameter `storage`."""
        return {"endpoint": f"http://127.0.0.1:{self.port}", "anonymous": True, "project": "project"}

    def system(self) -> Any:
        """Return the server as `pyarrow.fs` sees it, independent of the product."""
        from pyarrow.fs import GcsFileSystem

        return GcsFileSystem(anonymous=True, endpoint_override=f"127.0.0.1:{self.port}", scheme="http")

    def put(self, name: str, content: bytes) -> str:
        """Write an object; gives its address."""
        with self.system().open_output_stream(f"{BUCKET}/{name}", compression=None) as sink:
            sink.write(content)
        return f"gs://{BUCKET}/{name}"

    def content(self, name: str) -> bytes:
        with self.system().open_input_stream(f"{BUCKET}/{name}", compression=None) as source:
            return source.read()


@contextmanager
def google_storage(directory: Path) -> Iterator[GoogleStorage]:
    """Yield a server in a process of its own."""
    if importlib.util.find_spec("gcp_storage_emulator") is None:
        message = "the emulator of Google Cloud Storage is not installed"
        raise NotToBeHadError(message)
    port, log = free_port(), directory / "gs.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(port), BUCKET], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        wait_for_port(port, process, START_SECONDS, log)
        yield GoogleStorage(port)
    finally:
        process.kill()
        process.wait()
