"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import psycopg

from streams_orchestration_tests.servers.debian import DebianServer, running

PLACES = "/usr/lib/postgresql/*/bin"
"""The directories in which Debian installs PostgreSQL."""
ROLE = "streams"
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "jit=off")
LOGICAL = ("-c", "wal_level=logical")


def binaries() -> Path | None:
    """Return the directory of initdb and postgres, of the newest version that is installed."""
    directories = [Path(given).resolve().parent for name in ("postgres",) if (given := shutil.which(name))]
    directories += sorted(
        Path("/").glob(PLACES.removeprefix("/")), key=lambda path: float(path.parent.name), reverse=True
    )
    return next((path for path in directories if (path / "initdb").exists() and (path / "postgres").exists()), None)


def _identity() -> Any:
    """Return the user that the server becomes if root starts it, since it refuses to be root."""
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
class Server(DebianServer):
    """SIGQUIT is a crash."""

    default_stop: ClassVar[signal.Signals] = signal.SIGINT
    unreachable: ClassVar[type[Exception]] = psycopg.OperationalError
    programs: Path = Path()
    address: str = ""
    """The address at which the server listens, besides its socket."""
    port: int = 5432
    options: tuple[str, ...] = FAST
    _who: Any = field(default_factory=_identity)

    def url(self, schema: str) -> str:
        """Return the address of a catalog in a schema of its own."""
        return f"postgresql://{ROLE}@/postgres?host={self.directory}&schema={schema}"

    def url_of_network(self, schema: str) -> str:
        """Return the address of the same catalog by the server's network address."""
        return f"postgresql://{ROLE}@{self.address}:{self.port}/postgres?schema={schema}"

    def create(self) -> None:
        if self._who:
            os.chown(self.directory, self._who["user"], self._who["group"])
        options = ("--auth=trust", f"--username={ROLE}", "--encoding=UTF8", "--locale=C", "--no-sync")
        command = [str(self.programs / "initdb"), "-D", str(self.directory / "data"), *options]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._who)
        if self.address:
            with (self.directory / "data" / "pg_hba.conf").open("a", encoding="utf-8") as rules:
                rules.write("host all all 10.0.0.0/8 trust\n")

    def start(self) -> None:
        places = ("-D", str(self.directory / "data"), "-k", str(self.directory))
        options = (*places, *self._listening(), *self.options, *LOGICAL)
        self._spawn([str(self.programs / "postgres"), *options], self.connect, **self._who)

    def _listening(self) -> tuple[str, ...]:
        return ("-h", self.address, "-p", str(self.port))

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection of an administrator."""
        return psycopg.connect(host=str(self.directory), port=self.port, user=ROLE, dbname="postgres", autocommit=True)

    def end_sessions(self) -> int:
        """End every session of the product, as an administrator may; returns how many there were."""
        with self.connect() as connection:
            ended = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'streams'"
            ).fetchone()
        assert ended is not None
        return ended[0]


def server(address: str = "", port: int = 5432, options: tuple[str, ...] = FAST) -> AbstractContextManager[Server]:
    """Return a server, gone afterwards with all it had; it listens on an address of the network if one is named."""
    programs = binaries()
    assert programs is not None
    return running(partial(Server, programs=programs, address=address, port=port, options=options), "pg-")


def why_not() -> str | None:
    """Return the reason why there can be no server here, or None."""
    if binaries() is None:
        return f"PostgreSQL's initdb and postgres are neither on the PATH nor in {PLACES}"
    if os.geteuid() == 0 and not _identity():
        return f"PostgreSQL refuses to run as {getpass.getuser()}, and there is no user it could run as"
    return None
