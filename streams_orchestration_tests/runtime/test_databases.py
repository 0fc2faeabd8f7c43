"""Exactly once out of and into databases: whatever fails, of the product or of the server, each tuple comes once."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publishing import outstanding
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests import mariadb, postgresql
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.applications import compiled, rows, source
from streams_orchestration_tests.runtime.ordeals import ACTIONS, DeliveringOrdeal, ServerOrdeal
from streams_orchestration_tests.targets import Target, target_of

pytestmark = pytest.mark.usefixtures("no_hosts")

ROWS = 120
SECRET = "planted-secret-of-the-test"
CRASH = {"postgresql": signal.SIGQUIT, "mariadb": signal.SIGKILL}
FAULTS = ("crash", "leave", "come_back", "end_sessions", "keep_due", "deliver_late", "reset", "execute_only")
FAULTS += ("forget_delivery",) * 4


class DatabaseOrdeal(DeliveringOrdeal, ServerOrdeal):
    """A source and a sink in one database."""

    def __init__(self, directory: Path, server: mariadb.Server | postgresql.Server, target: Target) -> None:
        self.server, self.target, self.crash_signal = server, target, CRASH[target.kind]
        target.run("CREATE TABLE source (id INT NOT NULL, k CHAR(1), n BIGINT)")
        # some rows share a value, and so may not be parted
        target.run("INSERT INTO source VALUES (?, ?, ?)", *((i - i % 3, *row) for i, row in enumerate(rows(ROWS))))
        origin = {"url": target.url, "table": "source", "column": "id", "until": "latest", "settle": 0}
        graph = [
            source("Rows", directory) | {"operator": "SqlSource", "parameters": origin},
            {"name": "Out", "operator": "SqlSink", "inputs": ["Rows"], "outputs": []},
        ]
        graph[1]["parameters"] = {"url": target.url, "table": "totals", "createTable": True}
        super().__init__(Home(directory / "home"), compiled(graph, fusion="manual", pes=1))
        self.late: list[tuple[str, list]] = []

    def keep_due(self, _number: int) -> None:
        """Keep the outputs that a publisher was about to deliver."""
        outputs = outstanding(self.local.catalog, self.local.name, deliveries=True).deliveries
        self.late += [(sink, list(each)) for sink, each in itertools.groupby(outputs, key=lambda row: row.operator)]

    def deliver_late(self, _number: int) -> None:
        """It wakes up; another process has gone on meanwhile."""
        local = self.local
        zombies = make_deliverers(local.catalog, local.name, local.programs)
        for sink, outputs in self.late:
            with suppress(OutputError):
                zombies[sink].deliver(outputs)
            zombies[sink].close()
        self.late.clear()

    def finish(self) -> None:
        self.come_back(0)
        super().finish()
        self.deliver_late(0)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep), pytest.param(3, marks=pytest.mark.deep)])
def test_each_tuple_is_there_once_after_25_faults(tmp_path: Path, request: pytest.FixtureRequest, kind: str, seed: int):
    chance, faults = random.Random(seed), 0
    with target_of(kind, tmp_path, request) as target:
        ordeal = DatabaseOrdeal(tmp_path, request.getfixturevalue(kind), target)
        try:
            while faults < 25:
                action = chance.choice(
                    (*(action for action in ACTIONS if action != "publish"), *FAULTS, "come_back", "come_back")
                )
                faults += action in FAULTS
                getattr(ordeal, action)(chance.randrange(100))
        finally:
            ordeal.come_back(0)
        ordeal.finish()
        assert Counter(target.rows()) == Counter(rows(ROWS))


LOGINS = [
    ("mariadb", "mariadb://streams@localhost/nothing?unix_socket={directory}/socket", "Unknown database"),
    ("mariadb", "mariadb://root:${{env:PLANTED}}@localhost/mysql?unix_socket={directory}/socket", "Access denied"),
    ("postgresql", "postgresql://streams@/nothing?host={directory}", "does not exist"),
    ("postgresql", "postgresql://stranger:${{env:PLANTED}}@/postgres?host={directory}", "does not exist"),
]


@pytest.mark.parametrize(("kind", "url", "reason"), LOGINS)
def test_a_login_that_is_refused_stops_and_shows_no_password(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str, url: str, reason: str
):
    monkeypatch.setenv("PLANTED", SECRET)
    address = url.format(directory=request.getfixturevalue(kind).directory)
    bench = Bench(SqlSource, [], ["id bigint"], url=address, table="events", column="id")
    with pytest.raises(DataError, match=rf"{reason}.*check that user, password and database are right") as raised:
        bench.produce()
    assert SECRET not in str(raised.value)


def test_a_password_is_in_no_file_and_no_error(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, mariadb: mariadb.Server
):
    monkeypatch.setenv("PLANTED", SECRET)
    with target_of("mariadb", tmp_path, request) as target:
        mariadb.run(f"CREATE USER keeper@localhost IDENTIFIED BY '{SECRET}'")
        mariadb.run("GRANT ALL PRIVILEGES ON *.* TO keeper@localhost")
        url = target.url.replace("streams@", "keeper:${env:PLANTED}@")
        ordeal = DatabaseOrdeal(tmp_path, mariadb, Target(url, target.connect))
        ordeal.commit_only(5)
        ordeal.trigger(0)
        ordeal.commit_only(5)
        ordeal.leave(0)
        with pytest.raises(OutputError) as raised:
            ordeal.local.publish()
        ordeal.commit_only(5)
        ordeal.finish()
        mariadb.run("DROP USER keeper@localhost")
        assert Counter(target.rows()) == Counter(rows(ROWS))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in str(raised.value)
