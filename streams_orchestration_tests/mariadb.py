"""A MariaDB server of the tests' own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pymysql

from streams_orchestration_tests.servers.debian import DebianServer, running

USER = "streams"
PROGRAMS = ("mariadbd", "mariadb-install-db")
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"))
FAST = ("--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--sync-binlog=0", "--skip-log-bin")
SMALL = (
    "--innodb-use-native-aio=OFF",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    "--performance-schema=OFF",
)


def _program(name: str) -> str | None:
    return shutil.which(name, path=PLACES)


def _user() -> str:
    """Return the user as whom the server runs; it changes to another one if root starts it."""
    return pwd.getpwuid(os.geteuid() or pwd.getpwnam("nobody").pw_uid).pw_name


@dataclass
class Server(DebianServer):
    """SIGKILL is a crash."""

    unreachable: ClassVar[type[Exception]] = pymysql.OperationalError
    port: int | None = None
    """The port on this machine; None if the server listens on its socket only."""

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    @property
    def _own(self) -> tuple[str, ...]:
        """A server that starts removes the temporary tables of all others from their common directory."""
        return (f"--tmpdir={self.directory}",)

    def url(self, database: str, user: str = USER) -> str:
        """Return the SQLAlchemy URL of a database."""
        return f"mariadb://{user}@localhost/{database}?unix_socket={self.socket}"

    def create(self) -> None:
        user = _user()
        shutil.chown(self.directory, user)
        options = ("--auth-root-authentication-method=normal", "--skip-test-db", f"--user={user}", *self._own, *SMALL)
        command = [str(_program(PROGRAMS[1])), "--no-defaults", f"--datadir={self.directory / 'data'}", *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        network = ("--skip-networking",) if self.port is None else ("--bind-address=127.0.0.1", f"--port={self.port}")
        options = (
            *("--no-defaults", f"--datadir={self.directory / 'data'}", f"--socket={self.socket}", *network),
            *(f"--pid-file={self.directory / 'pid'}", f"--user={_user()}", *self._own, *FAST, *SMALL),
        )
        self._spawn([str(_program(PROGRAMS[0])), *options], lambda: self.connect(user="root"))

    def kill(self) -> None:
        """Crash the server."""
        self.stop(signal.SIGKILL)

    def connect(self, database: str | None = None, user: str = USER) -> pymysql.Connection[Any]:
        """Return a connection of an administrator, without TLS, for which each one would load certificates."""
        return pymysql.connect(
            unix_socket=str(self.socket),
            user=user,
            database=database,
            autocommit=True,
            init_command=_UTC,
            ssl_disabled=True,
        )

    def end_sessions(self) -> int:
        """End every session but one's own; returns how many there were."""
        mine = "SELECT id FROM information_schema.processlist WHERE user = %s AND id <> CONNECTION_ID()"
        with self.connect() as connection, connection.cursor() as cursor:
            sessions = cursor.execute(mine, (USER,))
            for (session,) in list(cursor.fetchall()):
                cursor.execute(f"KILL {session}")
        return sessions

    def run(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement of an administrator."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


_UTC = "SET time_zone = '+00:00'"


@contextmanager
def server(port: int | None = None) -> Iterator[Server]:
    """Yield a server with a user of the tests."""
    with running(lambda directory: Server(directory, port=port), "mariadb-") as made:
        with made.connect(user="root") as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {USER}@localhost")
            cursor.execute(f"GRANT ALL PRIVILEGES ON *.* TO {USER}@localhost WITH GRANT OPTION")
        yield made


def why_not() -> str | None:
    """Return the reason why there can be no server here, or None."""
    missing = [name for name in PROGRAMS if _program(name) is None]
    return f"MariaDB's {' and '.join(missing)} are not on the PATH" if missing else None
