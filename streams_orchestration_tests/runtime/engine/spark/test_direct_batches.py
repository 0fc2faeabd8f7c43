"""The owners of a PE's tasks run batches between two that Spark schedules."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.engine.spark import direct_batches
from streams_orchestration.runtime.engine.spark.direct_batches import DirectBatches
from streams_orchestration.runtime.engine.spark.owners import DIRECTORY, Worker
from streams_orchestration.runtime.engine.spark.rows import PLAN
from streams_orchestration.runtime.engine.spark.stages import serve_request
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.stepping import complete, run_levels
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import expected_totals, published, rows, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow

ROWS, LIMIT = 40, 4
REFUSAL = "not today"


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the workers of a host."""
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "workers"))
    monkeypatch.setattr(direct_batches, "LEAST_SECONDS", 0.0)
    (tmp_path / "workers").mkdir()
    return tmp_path / "workers"


def announced(work: Any) -> str:
    """Announce a worker of this process; return its address, as a register has it."""
    worker = Worker(work)
    worker.announce()
    return worker.address


class Query:
    """Stands in for Spark: a PE with two levels of tasks, and how many of its batches Spark has run."""

    def __init__(self, directory: Path) -> None:
        self.local = LocalApplication(Home(directory / "home"), totals(write_rows(directory / "rows.parquet", ROWS)))
        (self.program,) = self.local.programs
        self.scratch = self.local.scratch_of(self.program)
        options = {"home": str(self.local.home.root), "scratch": self.scratch.path, "generation": "1"}
        self.planner = Planner(options | {"limit": str(LIMIT)}, patience=0.0)
        self.direct = DirectBatches(self.planner)
        self.offset = self.planner.start()
        self.batches = 0

    def own(self, *owners: str) -> None:
        """Have these own the tasks, by turns."""
        for number, task in enumerate(self.program.tasks):
            self.scratch.owner(task.level, task.partition).write_text(owners[number % len(owners)])

    def turn(self) -> bool:
        """Take one turn as Spark does; return True if there was a batch to run."""
        planned = self.direct.run_until_spark(self.offset)
        if planned == self.offset:
            return False
        run_levels(self.scratch, [(at, 0, PLAN, 0, 0, plan) for at, plan in self.planner.begin_batch(planned)])
        self.offset, self.batches = planned, self.batches + 1
        return True

    def run(self) -> int:
        """Until the application is complete; how many batches there were, whoever has run them."""
        idle = 0
        while not complete(self.local.catalog, self.local.name):
            idle = 0 if self.turn() else idle + 1
            assert idle < 10
            self.local.trigger()
            self.local.publish()
        assert published(self.local.published("Out")) == expected_totals(rows(ROWS))
        return read_view(self.local.catalog, self.program).batch + 1


def test_batches_behind_one_of_spark_are_run_by_the_owners(tmp_path: Path, workers: Path):
    query = Query(tmp_path)
    query.own(announced(serve_request), announced(serve_request))
    assert query.run() > ROWS // LIMIT
    assert query.batches == 1


def test_after_a_while_spark_runs_one_again(tmp_path: Path, workers: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(direct_batches, "DIRECT_SECONDS", 0.0)
    query = Query(tmp_path)
    query.own(announced(serve_request))
    assert query.run() == query.batches


def test_behind_a_batch_that_took_spark_long_spark_runs_the_next_one_too(
    tmp_path: Path, workers: Path, monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr(direct_batches, "time", SimpleNamespace(monotonic=lambda: now))
    query = Query(tmp_path)
    query.own(announced(serve_request))
    assert query.turn()
    now += 2 * direct_batches.DIRECT_SECONDS
    assert query.turn()
    now += direct_batches.DIRECT_SECONDS / 2
    query.run()
    assert query.batches == 2


def test_without_an_owner_spark_runs_all(tmp_path: Path, workers: Path, monkeypatch: pytest.MonkeyPatch):
    query = Query(tmp_path)
    monkeypatch.setattr(DirectBatches, "connections", lambda _: None)
    assert query.run() == query.batches


def test_batches_are_scheduled_by_spark_while_all_cores_are_busy(tmp_path: Path, workers: Path):
    query = Query(tmp_path)
    query.own(announced(serve_request))
    taken = [os.open(workers / f"slot{number}", os.O_RDWR | os.O_CREAT) for number in range(os.cpu_count() or 1)]
    for descriptor in taken:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert query.turn()
    assert query.turn()
    assert query.batches == 2
    for descriptor in taken:
        os.close(descriptor)
    query.run()
    assert query.batches == 2


def test_an_error_of_an_owner_ends_the_query(tmp_path: Path, workers: Path):
    def refuse(_: object) -> None:
        raise StreamsRuntimeError(REFUSAL)

    query = Query(tmp_path)
    query.turn()
    query.own(announced(refuse))
    with pytest.raises(StreamsRuntimeError, match=REFUSAL):
        query.turn()
    assert query.scratch.failure is not None
    assert query.scratch.failure.nature == "unknown"


def _end(pipe: Connection) -> None:
    pipe.send(announced(lambda _: os._exit(1)))
    threading.Event().wait()


def test_an_owner_that_ends_under_way_ends_the_query(tmp_path: Path, workers: Path):
    query = Query(tmp_path)
    query.turn()
    pipe, inner = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_end, args=(inner,), daemon=True)
    process.start()
    query.own(pipe.recv())
    with pytest.raises(StreamsRuntimeError, match="has ended"):
        query.turn()
    process.join()
    assert query.scratch.failure is not None
