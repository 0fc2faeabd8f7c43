"""Changes of a PostgreSQL table through the runtime: each is there once, whatever happens to product and server."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from streams_orchestration.runtime.hosts.confirmer import Confirmer, make_confirming_sources
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests import postgresql
from streams_orchestration_tests.runtime.applications import PERIODIC, compiled, published, sink
from streams_orchestration_tests.runtime.ordeals import ACTIONS, ServerOrdeal
from streams_orchestration_tests.targets import Target, target_of

pytestmark = pytest.mark.usefixtures("no_hosts")

FAULTS = ("crash", "leave", "come_back", "end_sessions", "reset", "execute_only", "commit_late")


class ChangesOrdeal(ServerOrdeal):
    """A table of a server that changes, and a host that confirms what the cuts leave behind."""

    def __init__(self, directory: Path, server: postgresql.Server, target: Target) -> None:
        self.server, self.target, self.crash_signal = server, target, signal.SIGQUIT
        self.written: list[tuple[str, int]] = []
        target.run("CREATE TABLE rows (id SERIAL PRIMARY KEY, k TEXT, n BIGINT)")
        target.run("CREATE PUBLICATION changes FOR TABLE rows")
        self.write(3)
        changes = {
            "name": "Rows", "operator": "PostgresChangeSource", "outputs": [{"stream": "Rows", "schema": "Row"}],
            "parameters": {
                "url": target.url, "table": "rows", "publication": "changes", "changes": ["insert"],
                "slot": "slot_" + target.url.partition("target_")[2].partition("?")[0],
            },
            "annotations": PERIODIC,
        }  # fmt: skip
        graph = [changes, sink("Out", "Rows")]
        super().__init__(Home(directory / "home"), compiled(graph, fusion="manual", pes=2))
        self.confirmer = Confirmer(self.local.catalog, self.local.name)
        self.confirmer.sources = make_confirming_sources(self.local.home, self.local.programs)

    def write(self, number: int) -> None:
        """Write one transaction, of more rows than a batch has or of fewer."""
        if not self.away:
            first = len(self.written)
            rows = [(f"k{each % 5}", each) for each in range(first, first + 1 + number % 17)]
            self.target.run("INSERT INTO rows (k, n) VALUES (?, ?)", *rows)
            self.written += rows

    def confirm(self, _number: int) -> None:
        self.confirmer.confirm()

    def there(self) -> list[tuple]:
        return published(self.local.published("Out"))

    def finish(self) -> None:
        self.come_back(0)
        for _ in range(100):
            for program in self.local.programs:
                self.local.step(program)
            self.local.trigger()
            if len(self.there()) >= len(self.written):
                break


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep), pytest.param(3, marks=pytest.mark.deep)])
def test_each_change_is_there_once_after_25_faults(
    tmp_path: Path, request: pytest.FixtureRequest, postgresql: postgresql.Server, seed: int
):
    chance, faults = random.Random(seed), 0
    with target_of("postgresql", tmp_path, request) as target:
        ordeal = ChangesOrdeal(tmp_path, postgresql, target)
        try:
            while faults < 25:
                action = chance.choice(
                    (*ACTIONS, *FAULTS, "write", "write", "write", "confirm", "confirm", "come_back")
                )
                faults += action in FAULTS
                getattr(ordeal, action)(chance.randrange(100))
                ordeal.check()
        finally:
            ordeal.come_back(0)
        ordeal.finish()
        assert Counter(ordeal.there()) == Counter(ordeal.written)
        assert len(ordeal.written) > 20


def test_the_slot_is_advanced_to_the_last_cut_and_no_further(
    tmp_path: Path, request: pytest.FixtureRequest, postgresql: postgresql.Server
):
    with target_of("postgresql", tmp_path, request) as target:
        ordeal = ChangesOrdeal(tmp_path, postgresql, target)
        slot = (
            "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE database = current_database()"
        )
        for _ in range(6):
            ordeal.turn(0)
        ((begun,),) = target.run(slot)
        ordeal.write(5)
        for _ in range(3):
            ordeal.turn(0)
        ordeal.confirm(0)
        assert target.run(slot) == [(begun,)]  # committed, and behind no cut
        ordeal.finish()
        for _ in range(3):  # the end of the transaction, and a cut behind it
            ordeal.turn(0)
            ordeal.trigger(0)
        ordeal.confirm(0)
        ((confirmed,),) = target.run(slot)
        assert confirmed > begun
        ordeal.reset(0)
        ordeal.write(5)
        ordeal.finish()
        assert Counter(ordeal.there()) == Counter(ordeal.written)
