"""A PostgreSQL server of the tests' own: on a socket in a directory that is removed with it, never on the network."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

PLACES = "/usr/lib/postgresql/*/bin"
"""Where Debian has them."""
START_SECONDS = 60.0
ROLE = "streams"
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "jit=off")


def binaries() -> Path | None:
    """The directory of initdb and postgres, of the newest version that is installed."""
    found = [Path(given).resolve().parent for name in ("postgres",) if (given := shutil.which(name))]
    found += sorted(Path("/").glob(PLACES.removeprefix("/")), key=lambda path: float(path.parent.name), reverse=True)
    return next((path for path in found if (path / "initdb").exists() and (path / "postgres").exists()), None)


def _identity() -> Any:
    """The server refuses to be root, so it becomes somebody with no rights."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return {}


@dataclass
class Server:
    """A server that runs, stops and runs again."""

    directory: Path
    programs: Path
    process: subprocess.Popen[Any] | None = None
    _who: Any = field(default_factory=_identity)

    def url(self, schema: str) -> str:
        """The address of a catalog in a schema of its own."""
        return f"postgresql://{ROLE}@/postgres?host={self.directory}&schema={schema}"

    def create(self) -> None:
        if self._who:
            os.chown(self.directory, self._who["user"], self._who["group"])
        options = ("--auth=trust", f"--username={ROLE}", "--encoding=UTF8", "--locale=C", "--no-sync")
        command = [str(self.programs / "initdb"), "-D", str(self.directory / "data"), *options]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._who)

    def start(self) -> None:
        options = ("-D", str(self.directory / "data"), "-k", str(self.directory), "-h", "", *FAST)
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(
                [str(self.programs / "postgres"), *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True, **self._who,
            )  # fmt: skip
        self.process = process
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if time.monotonic() > until or process.poll() is not None:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all sessions, SIGQUIT is a crash."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(START_SECONDS)

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of somebody else, an administrator."""
        return psycopg.connect(host=str(self.directory), user=ROLE, dbname="postgres", autocommit=True)

    def end_sessions(self) -> int:
        """End every session of the product, as an administrator may; returns how many there were."""
        with self.connect() as connection:
            ended = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'streams'"
            ).fetchone()
        assert ended is not None
        return ended[0]


@contextmanager
def server() -> Iterator[Server]:
    """A server, gone afterwards with all it had."""
    programs = binaries()
    assert programs is not None
    directory = Path(tempfile.mkdtemp(prefix="pg-"))
    made = Server(directory, programs)
    try:
        made.create()
        made.start()
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()
        shutil.rmtree(directory, ignore_errors=True)


def why_not() -> str | None:
    """Why there can be no server here."""
    if binaries() is None:
        return f"PostgreSQL's initdb and postgres are neither on the PATH nor in {PLACES}"
    if os.geteuid() == 0 and not _identity():
        return f"PostgreSQL refuses to run as {getpass.getuser()}, and there is no user it could run as"
    return None
