"""Java programs from Maven's repository, copied once into a directory of this user."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from streams_orchestration_tests.waiting import until

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streams_orchestration" / "jars"
FETCH_SECONDS = 600
POM = """<project>
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>
<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version></dependency>
</dependencies>
</project>
"""


class NotToBeHadError(RuntimeError):
    """A program cannot be had here; the message says why."""


def jars(artifact: str) -> Path:
    """Return the directory with a program and all that it needs.

    Args:
        artifact: `group:artifact:version`.

    Raises:
        NotToBeHadError: there is no Java or no Maven, or Maven cannot fetch it.
    """

    def fetch(aside: Path) -> None:
        (aside / "pom.xml").write_text(POM.format(*artifact.split(":")))
        _run_maven(artifact, aside, "dependency:copy-dependencies", "-DincludeScope=runtime")

    return _kept(artifact, fetch)


def program(artifact: str, unpack: Callable[[Path], None] = lambda _: None) -> Path:
    """Return the directory with the only file of a program, or with what `unpack` makes of it there.

    Raises:
        NotToBeHadError: there is no Java or no Maven, or Maven cannot fetch it.
    """

    def fetch(aside: Path) -> None:
        _run_maven(artifact, aside, "dependency:copy", f"-Dartifact={artifact}")
        unpack(aside)

    return _kept(artifact, fetch)


def _kept(artifact: str, fetch: Callable[[Path], None]) -> Path:
    """Return the directory of an artifact, which is filled at the first use on this machine."""
    if shutil.which("java") is None:
        message = "there is no Java"
        raise NotToBeHadError(message)
    place = CACHE / artifact.replace(":", "_")
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            aside = place.with_suffix(".part")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            fetch(aside)
            aside.rename(place)
    return place


def _run_maven(artifact: str, aside: Path, *goal: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        message = f"there is no Maven to fetch {artifact}"
        raise NotToBeHadError(message)
    command = [maven, "-q", "-B", *goal, f"-DoutputDirectory={aside}"]
    try:
        done = subprocess.run(command, check=False, cwd=aside, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired as error:
        message = f"Maven could not fetch {artifact} in {FETCH_SECONDS} s"
        raise NotToBeHadError(message) from error
    if done.returncode:
        message = f"Maven could not fetch {artifact}: {(done.stdout or done.stderr).strip().splitlines()[:1]}"
        raise NotToBeHadError(message)


class RestartableServer:
    """A server that runs in a process of its own, stops, and runs again."""

    _process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """End at once, as with a loss of power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port of an address of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind((address, 0))
        return listener.getsockname()[1]


def wait_for_port(
    port: int, process: subprocess.Popen[bytes], seconds: float, log: Path, host: str = "127.0.0.1"
) -> None:
    """Return when a server listens; fails with the end of its log when it has ended, or takes too long."""

    def why_not() -> str:
        return f"the server does not come up: {log.read_text(errors='replace')[-2000:]}"

    def listens() -> bool:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            return True
        assert process.poll() is None, why_not()
        return False

    until(listens, why_not, seconds)
