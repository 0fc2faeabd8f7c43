"""The fork server of a host: imports once what Spark's Python processes need, and forks all of them.

Spark starts a Python process for each request to a source, one to plan for each query, and a parent for its workers;
each of them would spend a second or two on the same imports. `PYSPARK_PYTHON` names a script that requests a fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import marshal
import os
import runpy
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from streams_orchestration.runtime.engine.spark import forked_python
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
from streams_orchestration.runtime.processes.forks import keep_from_forks

IMPORTED = (
    "pandas",
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "streams_orchestration.runtime.engine.spark.stages",
    "streams_orchestration.runtime.queries.planner",
)
REQUEST_SECONDS = 10.0
"""Seconds without data after which a request that a client has not sent completely is refused."""
ACCEPT_RETRY_SECONDS = 0.1
"""Seconds between two tries to accept a client while the process has no free file descriptor."""
STREAMS = ("standard input", "standard output", "standard error")


def expect_fork_server(directory: Path) -> socket.socket | None:
    """Prepare a fork server for Spark's Python processes, and make Spark request them from it by `PYSPARK_PYTHON`.

    Call this before the JVM starts, which inherits that variable.

    Directories of the host's earlier starts are removed. Requests that come before the server is up wait for it. Its
    processes work in the working directory of this process, which is another one for a moment during this call. The
    directory is for this server alone, and replaces an existing one.

    Returns:
        The socket on which the server is to listen; None if no program may be run from the directory. The variable is
        not set then, and Spark starts ordinary Pythons.

    Raises:
        OSError: the directory cannot be written.
    """
    for old in directory.parent.glob(f"{directory.name.rpartition('-')[0]}-*"):
        shutil.rmtree(old, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)
    script = directory / "python"
    client = [sys.executable, "-I", "-S", forked_python.__file__, str(directory)]
    here = Path.cwd()
    script.write_text(f'#!/bin/sh\ncd {shlex.quote(str(here))}\nexec {shlex.join(client)} "$@"\n')
    script.chmod(0o700)
    if not os.access(script, os.X_OK):
        return None
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(directory)  # the path of a socket may not have more than some 100 bytes
        listener.bind("socket")
    finally:
        os.chdir(here)
    listener.listen()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = str(script)
    return listener


def start_fork_server(
    listener: socket.socket, directories: Sequence[Path], imported: Sequence[str] = IMPORTED
) -> subprocess.Popen[bytes]:
    """Start a fork server as a child of this process, with hashes that are the same after every start.

    Args:
        listener: the socket from `expect_fork_server`, which is closed here.
        directories: directories to remove when the server ends; the one of `expect_fork_server` is among them.
        imported: the modules that are imported before processes are forked.

    Returns:
        The server. Keep it: the server ends as soon as its standard input is closed.

    Raises:
        OSError: the process cannot be started; the socket stays open.
    """
    removed = [str(directory) for directory in directories]
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", __name__, str(listener.fileno()), json.dumps(removed), *imported],
        stdin=subprocess.PIPE,  # ends with this process, and so ends the server
        pass_fds=[listener.fileno()],
        # Spark starts its workers with this variable, so that `hash` is the same after every start
        env=os.environ | {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")},
    )
    listener.close()
    assert server.stdin is not None
    keep_from_forks(server.stdin)
    return server


class ForkServer:
    """Serves requests: forks a process, answers with its pid at once, and with its exit status when it has ended."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients: dict[int, socket.socket] = {}
        """Pid of a forked process -> the connection of its client."""
        self._ended, self._wakes = socket.socketpair()
        self._ended.settimeout(0.0)
        self._wakes.settimeout(0.0)
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Serve requests until the host has ended and so closed standard input; call this on the main thread."""
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        for source in (sys.stdin, self._listener, self._ended):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._ended:
                    self._ended.recv(4096)
                    self._reap()
                elif key.data in self._clients:
                    self._end_abandoned(key.data)

    def _accept(self) -> None:
        client: socket.socket | None = None
        request: ForkRequest | None = None
        try:
            client, _ = self._listener.accept()
            request = ForkRequest.received(client)
            pid = os.fork()
        except (OSError, EOFError, ValueError, TypeError) as error:
            print(f"no process was forked: {error}", file=sys.stderr)
            if request is not None:
                request.close()
            if client is None:  # no file can be opened: who connects waits
                time.sleep(ACCEPT_RETRY_SECONDS)
            else:
                client.close()
            return
        if pid == 0:
            self._selector.close()
            for mine in (self._listener, self._ended, self._wakes, client, *self._clients.values()):
                mine.close()
            request.become()
        request.close()
        self._clients[pid] = client
        self._selector.register(client, selectors.EVENT_READ, pid)
        with contextlib.suppress(OSError):
            client.sendall(pid.to_bytes(4, "little"))

    def _reap(self) -> None:
        while self._clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self._clients:
                code = os.waitstatus_to_exitcode(status)
                with contextlib.suppress(OSError):
                    self._forget(pid).sendall((128 - code if code < 0 else code).to_bytes(4, "little"))

    def _end_abandoned(self, pid: int) -> None:
        """Send SIGTERM to a process whose client was killed: Spark no longer needs the process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        self._selector.unregister(self._clients[pid])

    def _forget(self, pid: int) -> socket.socket:
        client = self._clients.pop(pid)
        with contextlib.suppress(KeyError):
            self._selector.unregister(client)
        return client


class ForkRequest(NamedTuple):
    """The arguments, environment, directory and streams of a requested process."""

    arguments: list[str]
    """`-m`, a module, and its arguments."""
    environment: dict[bytes, bytes]
    directory: bytes
    streams: list[int]
    """File descriptors of its standard input, output and error."""

    @classmethod
    def received(cls, client: socket.socket) -> ForkRequest:
        """Receive the request that a client sends; on an error close the streams that came with it.

        Raises:
            OSError: the connection has failed, or the client sends nothing for `REQUEST_SECONDS`.
            EOFError, ValueError, TypeError: the request is incomplete or wrong, or the client has gone.
        """
        client.settimeout(REQUEST_SECONDS)
        size, streams, _, _ = socket.recv_fds(client, 4, 3)
        try:
            if len(streams) != len(STREAMS):
                message = f"{len(streams)} streams came with the request instead of {len(STREAMS)}"
                raise ValueError(message)
            with client.makefile("rb") as sent:
                arguments, environment, directory = marshal.loads(  # noqa: S302  from a child of our own
                    sent.read(int.from_bytes(size, "little"))
                )
        except BaseException:
            _close(streams)
            raise
        return cls(arguments, environment, directory, streams)

    def close(self) -> None:
        """Close this process's copies of the requested process's streams."""
        _close(self.streams)

    def become(self) -> NoReturn:
        """Turn the process that was just forked into the requested one, and end it with the status of its module."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whatever the host ignores or holds back, it can be ended
            for number, stream in enumerate(self.streams):
                os.dup2(stream, number)
            self.close()
            os.chdir(self.directory)
            os.environb.clear()
            os.environb.update(self.environment)
            sys.argv = self.arguments[1:]
            runpy.run_module(self.arguments[1], run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:  # noqa: BLE001  the interpreter would print it and end, and so does this
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status & 0xFF)


def _ignore(*_: object) -> None:
    """Do nothing about a signal, which wakes the selector."""


def _close(streams: Sequence[int]) -> None:
    for stream in streams:
        os.close(stream)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message=".*found in sys.modules", module="runpy")
    hide_secrets()
    for name in sys.argv[3:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    for directory in json.loads(sys.argv[2]):
        shutil.rmtree(directory, ignore_errors=True)
