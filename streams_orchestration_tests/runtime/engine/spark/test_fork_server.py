"""Spark's Python processes are forked by one that has imported what they need."""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streams_orchestration.runtime.engine.spark.fork_server import expect_fork_server, start_fork_server
from streams_orchestration.runtime.processes.processes import family
from streams_orchestration_tests.waiting import until

pytestmark = pytest.mark.slow

TOLD = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ["TOLD"], sys.stdin.read(), "decimal" in sys.modules, flush=True)
sys.exit(7)
"""
WAITING = """
import sys
print("here", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A fork server; modules `told` and `waiting` can be run."""
    for name, code in {"told": TOLD, "waiting": WAITING}.items():
        (tmp_path / f"{name}.py").write_text(code)
    inherited = filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*inherited, *filter(None, sys.path)]))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, sys.executable)
    server = started(tmp_path / ("long" * 40) / "python-0-abc")
    yield server
    server.kill()
    server.communicate()


def started(directory: Path) -> subprocess.Popen[bytes]:
    listener = expect_fork_server(directory)
    assert listener is not None
    return start_fork_server(listener, [directory], ["decimal"])


@pytest.fixture
def python(kept: subprocess.Popen[bytes]) -> str:
    """Return the path that Spark starts for a Python."""
    del kept
    return os.environ["PYSPARK_PYTHON"]


def run_told(python: str, directory: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TOLD": "something"}
    command = [python, "-m", "told", "once", "twice"]
    return subprocess.run(
        command, input="read", capture_output=True, text=True, env=environment, cwd=directory, check=False
    )


def waiting(python: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([python, "-m", "waiting"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    # the forked process may speak before that
    until(lambda: catches_sigterm(process.pid), lambda: signals_of(psutil.Process(process.pid)))
    return process


def catches_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def forked(server: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(server.pid).children()


def test_a_process_is_what_it_was_asked_to_be(python: str, tmp_path: Path) -> None:
    ran = run_told(python, tmp_path)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout == f"['once', 'twice'] {Path.cwd()} something read True\n", "where the host works, not the JVM"


def test_hashes_are_those_of_every_other_start(python: str, tmp_path: Path) -> None:
    (tmp_path / "hashed.py").write_text("print(hash('key'))")
    plain = subprocess.check_output([sys.executable, "-m", "hashed"], env=os.environ | {"PYTHONHASHSEED": "0"})
    assert subprocess.check_output([python, "-m", "hashed"]) == plain


def test_a_forked_process_belongs_to_the_family_of_the_host(kept: subprocess.Popen[bytes], python: str) -> None:
    process = waiting(python)
    (pid,) = (each.pid for each in forked(kept))
    assert {pid, process.pid} <= {each.pid for each in family(os.getpid())}
    process.communicate()
    assert process.returncode == 0


def ended(process: psutil.Process) -> None:
    """Wait until a process runs no more; the parent that it has then may collect it late."""
    until(lambda: not runs(process), lambda: (signals_of(process), signals_of(psutil.Process())))


def signals_of(process: psutil.Process) -> str:
    """Return its state, and which signals it holds back, ignores and catches."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return ", ".join(line for line in lines if line.startswith(("State", "PPid", "Sig", "Shd")))


def runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(("end", "status"), [("terminate", 143), ("kill", -9)])
def test_a_forked_process_ends_with_the_process_that_stands_for_it(
    kept: subprocess.Popen[bytes], python: str, end: str, status: int
) -> None:
    process = waiting(python)
    (child,) = forked(kept)
    getattr(process, end)()
    ended(child)
    assert process.wait(10) == status


def test_a_forked_process_ends_whatever_the_host_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    (tmp_path / "waiting.py").write_text(WAITING)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        kept = started(tmp_path / "python-0-abc")
    finally:
        signal.signal(signal.SIGTERM, before)
    process = waiting(os.environ["PYSPARK_PYTHON"])
    (child,) = forked(kept)
    process.kill()
    ended(child)
    process.communicate()
    kept.kill()
    kept.communicate()


def test_a_process_that_loses_its_server_ends_and_the_next_one_is_an_ordinary_python(
    kept: subprocess.Popen[bytes], python: str, tmp_path: Path
) -> None:
    process = waiting(python)
    (child,) = forked(kept)
    kept.kill()
    assert process.wait(10) == 1
    ended(child)
    ran = run_told(python, tmp_path)
    assert (ran.returncode, ran.stdout) == (7, f"['once', 'twice'] {Path.cwd()} something read False\n")


@pytest.mark.parametrize(
    ("streams", "sent"),
    [
        ([0, 1, 2], b"no request"),
        ([0, 1, 2], marshal.dumps(7)),
        ([0, 1, 2], marshal.dumps(())),
        ([0], marshal.dumps(([], {}, b"/"))),
        ([0, 1, 2], b""),
    ],
)
def test_a_request_that_is_none_leaves_nothing_open(
    kept: subprocess.Popen[bytes], python: str, streams: list[int], sent: bytes, tmp_path: Path
) -> None:
    assert run_told(python, tmp_path).returncode == 7
    server = psutil.Process(kept.pid)
    before = server.num_fds()  # the connection of the process that has ended may be among them for a moment
    directory = Path(python).parent
    for _ in range(5):
        with socket.socket(socket.AF_UNIX) as client, contextlib.chdir(directory):
            client.connect("socket")
            socket.send_fds(client, [len(sent).to_bytes(4, "little")], streams)
            with contextlib.suppress(ConnectionError):  # the server has closed it already
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                assert client.recv(4) == b""
    assert run_told(python, tmp_path).returncode == 7
    until(lambda: server.num_fds() <= before, lambda: f"{server.num_fds()} descriptors, {before} before")


def test_a_fork_server_ends_with_its_host_and_removes_the_directories_of_the_session(
    kept: subprocess.Popen[bytes], python: str
) -> None:
    directory = Path(python).parent
    assert (directory / "socket").exists()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert kept.stdin is not None
    kept.stdin.close()  # as it is when the host was killed
    kept.wait(30)
    assert not directory.exists()


def test_a_directory_from_which_nothing_runs_has_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert expect_fork_server(tmp_path / "python-0-abc") is None
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
