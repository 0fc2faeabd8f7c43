"""Tuples posted by the runtime: at least once, and once where the receiver knows the keys."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, rows, source, write_rows
from streams_orchestration_tests.runtime.ordeals import ACTIONS, DeliveringOrdeal
from streams_orchestration_tests.servers.http import Receiver, receiver

pytestmark = pytest.mark.usefixtures("no_hosts")

ROWS = 60
SECRET = "planted-secret-of-the-test"
FAULTS = ("forget_delivery", "forget_delivery", "lose_answers", "refuse_for_now", "reset", "execute_only")


class HttpOrdeal(DeliveringOrdeal):
    """An application that posts, whose receiver loses answers and is busy, and whose host dies after an answer."""

    def __init__(self, directory: Path, web: Receiver) -> None:
        self.web = web
        graph = [
            source("Rows", write_rows(directory / "rows.parquet", ROWS)),
            {"name": "Out", "operator": "HttpSink", "inputs": ["Rows"], "outputs": []},
        ]
        graph[1]["parameters"] = {"url": f"{web.address}/${{env:PLANTED}}", "batchSize": 3, "token": "${env:PLANTED}"}
        super().__init__(Home(directory / "home"), compiled(graph, fusion="manual", pes=1))

    def lose_answers(self, number: int) -> None:
        self.web.answers = [200] * (number % 3) + [None]

    def refuse_for_now(self, number: int) -> None:
        self.web.answers = [*[200] * (number % 3), 503, 429]

    def finish(self) -> None:
        self.web.answers = []
        super().finish()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep), pytest.param(3, marks=pytest.mark.deep)])
def test_after_25_faults_each_tuple_was_taken_once_by_key_and_no_secret_is_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
):
    monkeypatch.setenv("PLANTED", SECRET)
    chance, faults = random.Random(seed), 0
    with receiver() as web:
        ordeal = HttpOrdeal(tmp_path, web)
        while faults < 25:
            action = chance.choice((*(action for action in ACTIONS if action != "publish"), *FAULTS))
            faults += action in FAULTS
            getattr(ordeal, action)(chance.randrange(100))
        ordeal.finish()
        there = [json.loads(line) for content in web.taken.values() for line in content.splitlines()]
    assert Counter((row["k"], row["n"]) for row in there) == Counter(rows(ROWS))
    assert len(web.requests) > len(web.taken)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    (sink,) = read_status(ordeal.local.catalog, ordeal.local.name).sinks
    assert (sink.rows, sink.place) == (ROWS, f"{web.address}/${{env:PLANTED}}")
