"""Prometheus' own checker, from Debian's package, unpacked once into a directory of this user where it is not there."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

from streams_orchestration_tests.servers.jars import CACHE, NotToBeHadError

PLACE = CACHE.parent / "prometheus"
FETCH_SECONDS = 120


def promtool() -> Path:
    """Return the program.

    Raises:
        NotToBeHadError: it is not installed, and its package cannot be fetched.
    """
    installed = shutil.which("promtool")
    if installed is not None:
        return Path(installed)
    program = PLACE / "usr" / "bin" / "promtool"
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    with PLACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            _unpack()
    return program


def _unpack() -> None:
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            message = f"promtool is not installed, and there is no {tool} to fetch it with"
            raise NotToBeHadError(message)
    aside = PLACE.with_suffix(".part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    _run(["apt-get", "download", "prometheus"], aside)
    (package,) = aside.glob("*.deb")
    _run(["dpkg-deb", "-x", str(package), str(aside)], aside)
    package.unlink()
    aside.rename(PLACE)


def _run(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command, check=False, cwd=directory, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        message = f"`{' '.join(command)}` did not end in {FETCH_SECONDS} s"
        raise NotToBeHadError(message) from error
    if done.returncode:
        message = f"`{' '.join(command)}` failed: {done.stderr.strip().splitlines()[-1:]}"
        raise NotToBeHadError(message)
