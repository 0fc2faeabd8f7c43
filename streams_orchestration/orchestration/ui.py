"""Dagster's UI and daemon over the applications of a state directory, as children of one foreground process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from streams_orchestration.orchestration.instance import LOCATION, dagster_home, dagster_instance
from streams_orchestration.runtime import api

ADDRESS = "127.0.0.1"
WEBSERVER = "streams_orchestration.orchestration.webserver"
HOSTS = "STREAMS_UI_HOSTS"
"""Environment variable with further values of the header Host that the web server answers, separated by commas."""
WEBSERVER_START_LIMIT = 90.0
"""Seconds that the web server may take until it answers; on a busy machine it gets more."""
STOP_LIMIT = 15.0
"""Seconds a child may take to stop before it is killed."""


class UserInterfaceError(api.StreamsRuntimeError):
    """The UI did not start, or one of its processes ended unexpectedly."""


def serve(home: api.Home, port: int, specs: Path, hosts: Sequence[str] = ()) -> int:
    """Serve the UI on the loopback address until Ctrl-C or SIGTERM; then stop the web server and the daemon.

    Args:
        home: the state directory; its Dagster storage is created and migrated first.
        port: the TCP port on 127.0.0.1.
        specs: the directory with the specs of the applications to show.
        hosts: further values of the header Host that are answered, such as the name of a proxy in front.

    Returns:
        The exit status, 0.

    Raises:
        UserInterfaceError: the port is taken, or a process of the UI ended by itself; the message names its log.
        HostLaunchError: the system's limit of open files is too low for the UI's processes.
        StateDirectoryError, SettingError: the state directory or a setting in the environment cannot be used.
        OSError: the workspace file or a log cannot be written, or a process cannot be started.
    """
    _require_free(port)
    api.require_open_files("Dagster's UI")
    api.raise_open_files()
    log_size = api.Settings.from_environment().log_size
    with dagster_instance(home.prepare()):
        pass
    directory = dagster_home(home)
    workspace = directory / "workspace.yaml"
    workspace.write_text(
        "load_from:\n  - python_module:\n      module_name: streams_orchestration.orchestration.definitions\n"
        f"      location_name: {LOCATION}\n"
    )
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(directory),
        "STREAMS_HOME": str(home.root),
        "STREAMS_SPECS": str(specs.absolute()),
        HOSTS: ",".join((*hosts, *filter(None, [os.environ.get(HOSTS)]))),
    }
    web = [sys.executable, "-m", WEBSERVER, "--host", ADDRESS, "--port", str(port), "--workspace", str(workspace)]
    daemon = [script("dagster-daemon"), "run", "--workspace", str(workspace)]
    children: dict[Path, subprocess.Popen[bytes]] = {}
    with _stop_on_signals():
        try:
            for name, command in (("webserver", web), ("daemon", daemon)):
                log = directory / f"{name}.log"
                children[log] = _start(command, environment, log)
            _await_ready(port, children)
            print(f"Dagster UI: http://{ADDRESS}:{port}  (Ctrl-C stops it; applications run on)", flush=True)
            while True:
                _require_alive(children)
                for log in children:
                    with suppress(OSError):  # a full disk, say; the log is not rotated
                        api.rotate_log(log, log_size)
                time.sleep(0.5)
        except KeyboardInterrupt:
            return 0
        finally:
            _stop(children)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            message = (
                f"port {port} on {ADDRESS} cannot be used: {error.strerror}. Stop what listens there or use --port."
            )
            raise UserInterfaceError(message) from error


def script(name: str) -> str:
    """Return the path of a command that is installed beside this Python."""
    return str(Path(sysconfig.get_path("scripts")) / name)


def _start(command: list[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a child in its own session, so that Ctrl-C in the terminal reaches it only once, through this process.

    The output and errors of the child are appended to the log.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _await_ready(port: int, children: Mapping[Path, subprocess.Popen[bytes]]) -> None:
    patience, passed = api.LoadAdjustedClock(), 0.0
    while patience.used < WEBSERVER_START_LIMIT:
        passed = patience.advance()
        _require_alive(children)
        try:
            with urllib.request.urlopen(f"http://{ADDRESS}:{port}/server_info", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    message = f"the web server did not answer within {passed:.0f} s. Its log: {next(iter(children))}"
    raise UserInterfaceError(message)


def _require_alive(children: Mapping[Path, subprocess.Popen[bytes]]) -> None:
    for log, child in children.items():
        if child.poll() is not None:
            message = f"the {log.stem} ended with status {child.returncode}. Its log: {log}"
            raise UserInterfaceError(message)


def _stop(children: Mapping[Path, subprocess.Popen[bytes]]) -> None:
    for child in children.values():
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
    deadline = time.monotonic() + STOP_LIMIT
    for child in children.values():
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def _stop_on_signals() -> Generator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        # The first signal ends the wait; further ones must not cut the clean stop short.
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
