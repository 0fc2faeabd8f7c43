"""An S3 server, moto's, that refuses or delays requests as a file says, which is read at each of them.

As a program: `python -m streams_orchestration_tests.servers.faulty_s3 PORT FILE`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.s3 import BUCKET, S3, started

WRITES = ("PUT", "POST")
_ANSWER = b"<?xml version='1.0'?><Error><Code>%s</Code><Message>a fault of a test</Message></Error>"


@dataclass(frozen=True)
class Trouble:
    """The faults that the server injects into requests."""

    refuses_writes: bool = False
    """They are answered by 503, and nothing is written."""
    hides_writes: bool = False
    """They are answered by 500, and it is written all the same."""
    read_seconds: float = 0.0
    """The seconds that reads take longer."""


class FaultyS3:
    """A server that runs, and what happens to it."""

    def __init__(self, s3: S3, process: subprocess.Popen[bytes], control: Path) -> None:
        self.s3 = s3
        self._process = process
        self._control = control

    @contextmanager
    def troubled(self, trouble: Trouble) -> Iterator[None]:
        """Within the block requests meet this."""
        tell(self._control, trouble)
        try:
            yield
        finally:
            tell(self._control, Trouble())

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the block no request is answered."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


def tell(control: Path, trouble: Trouble) -> None:
    """Write the file, whole at any moment."""
    part = control.with_suffix(".part")
    part.write_text(json.dumps(asdict(trouble)))
    part.replace(control)


@contextmanager
def faulty_s3(directory: Path) -> Iterator[FaultyS3]:
    """Yield a server with an empty bucket; its log and its file are in a directory."""
    port, control = free_port(), directory / "trouble.json"
    tell(control, Trouble())
    command = [sys.executable, "-m", __name__, str(port), str(control)]
    process = started(command, port, directory / "s3.log")
    try:
        server = S3(f"http://127.0.0.1:{port}")
        server.system().create_dir(BUCKET)
        yield FaultyS3(server, process, control)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def troubling(application: Application, control: Path) -> Application:
    """Return a WSGI application in front of another one."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        trouble = Trouble(**json.loads(control.read_text()))
        if environ["REQUEST_METHOD"] not in WRITES:
            time.sleep(trouble.read_seconds)
            return application(environ, start_response)
        if trouble.refuses_writes:
            environ["wsgi.input"].read()  # else the connection is closed while the client sends
            return _error(start_response, "503 Service Unavailable", b"SlowDown")
        if trouble.hides_writes:
            list(application(environ, lambda *_: None))
            return _error(start_response, "500 Internal Server Error", b"InternalError")
        return application(environ, start_response)

    return answer


def _error(start_response: Callable[..., Any], status: str, code: bytes) -> Iterable[bytes]:
    body = _ANSWER % code
    start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


def main(port: int, control: Path) -> None:
    """Serve for ever."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import run_simple

    from streams_orchestration_tests.servers.moto_server import remember_hosts

    remember_hosts()
    application: Any = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, troubling(application, control), threaded=True, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
