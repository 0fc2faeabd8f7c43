"""Databases of the tests' own: SQLite in a file, PostgreSQL and MariaDB on their real servers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pymysql
import pytest

from streams_orchestration_tests import mariadb, postgresql

KINDS = ("sqlite", "postgresql", "mariadb")


class Target:
    """A database, and what is in it."""

    def __init__(self, url: str, connect: Callable[[], Any]) -> None:
        self.url = url
        self.connect = connect

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]

    def run(self, statement: str, *rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own, once for each of the rows if there are any."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            marks = statement if self.kind == "sqlite" else statement.replace("?", "%s")
            if rows:
                cursor.executemany(marks, rows)
            else:
                cursor.execute(marks)
            selected = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
        return selected

    def rows(self, table: str = "totals") -> list[tuple[Any, ...]]:
        return sorted(self.run(f"SELECT * FROM {table}"))


def no_database() -> NoReturn:
    message = "nobody connects"
    raise AssertionError(message)


@contextmanager
def target_of(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Target]:
    """Yield a database that is gone afterwards."""
    name = f"target_{abs(hash(tmp_path)):x}"
    match kind:
        case "sqlite":
            file = tmp_path / "target.db"
            yield Target(f"sqlite:///{file}", lambda: sqlite3.connect(file))
        case "postgresql":
            server: postgresql.Server = request.getfixturevalue("postgresql")
            with server.connect() as connection:
                connection.execute(f"CREATE DATABASE {name}".encode())
            yield Target(
                f"postgresql://streams@/{name}?host={server.directory}",
                lambda: psycopg.connect(host=str(server.directory), dbname=name, user="streams"),
            )
            with server.connect() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        case _:
            other: mariadb.Server = request.getfixturevalue("mariadb")
            other.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            yield Target(
                other.url(name),
                lambda: pymysql.connect(
                    unix_socket=str(other.socket), user=mariadb.USER, database=name, ssl_disabled=True
                ),
            )
            other.run(f"DROP DATABASE {name}")
