"""A planner waits for work, and begins as soon as there is some."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select
from sqlalchemy.engine import RootTransaction

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.database import Database, Mode
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.queries import source_polls
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.applications import compiled, node, rows, sink, source, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.planned import PlannedPe

LONG = 60.0
"""Seconds that no wait of these tests takes, unless it fails."""


def source_and_rest(local: LocalApplication, patience: float) -> tuple[PlannedPe, list[PlannedPe]]:
    pes = [PlannedPe(local, program, patience) for program in local.programs]
    return next(pe for pe in pes if pe.program.sources), [pe for pe in pes if not pe.program.sources]


def test_a_planner_that_waits_plans_what_is_committed_meanwhile(tmp_path: Path, database: str):
    home = Home(tmp_path / "home")
    local = LocalApplication(home, totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=3))
    source, others = source_and_rest(local, LONG)
    reader = next(pe for pe in others if {s.stream for s in pe.program.inputs} & set(_written(source)))
    planned: list[bool] = []
    waiting = threading.Thread(target=lambda: planned.append(reader.turn()), daemon=True)
    waiting.start()
    while source.turn() and waiting.is_alive() and not source.planner.planned:
        pass
    source.planner.finish(source.offset)  # Spark commits a batch when it asks for the next one
    waiting.join(LONG)
    assert planned == [True]


def test_the_failure_of_a_task_reaches_the_host_with_its_batch_and_its_operator_as_parts(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", 3)
    strict = node("Strict", "Refusing", "Rows", parameters={"value": rows(3)[2][1], "permanent": True})
    graph = [source("Rows", file), strict, sink("Out", "Strict")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), source_limit=1)
    (pe,) = [PlannedPe(local, program) for program in local.programs]
    with pytest.raises(StreamsRuntimeError, match=r"^batch \d+: operator Strict: n is ") as raised:
        for _ in range(8):
            pe.turn()
    failure = pe.scratch.failure
    assert failure is not None
    assert failure.operator is not None
    assert (failure.batch, failure.operator.operator, failure.nature) == (pe.offset, "Strict", "data")
    assert failure.message.startswith("operator Strict: n is ")
    assert str(raised.value) == str(failure)


def _written(pe: PlannedPe) -> list[str]:
    return [
        stream.stream for program in pe.local.programs for stream in program.inputs if stream.producer == pe.program.pe
    ]


def test_a_planner_that_waits_does_not_look_at_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = LocalApplication(
        Home(tmp_path / "home"), totals(write_rows(tmp_path / "rows.parquet", 3), fusion="manual", pes=3)
    )
    reader = source_and_rest(local, patience=0.3)[1][0]
    reader.turn()
    transactions: list[Mode] = []
    begin = Database.begin

    def counted(database: Database, mode: Mode, unit: str = "") -> tuple[Connection, RootTransaction]:
        transactions.append(mode)
        return begin(database, mode, unit)

    replace_function(monkeypatch, Database, "begin", counted)
    assert not reader.turn()
    assert len(transactions) == 2  # when the wait begins, and when it has ended


@pytest.mark.parametrize(
    ("parameters", "batches"), [({"period": 3600.0}, 1), ({"initDelay": 3600.0}, 1), ({"iterations": 9}, 4)]
)
def test_no_batch_is_made_for_a_source_that_has_no_tuples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, float], batches: int
):
    monkeypatch.setattr(source_polls, "IDLE_PAUSES", Pauses(LONG, LONG))
    made = node("Made", "Beacon", parameters=parameters | {"output": {"k": "'a'", "n": "IterationCount()"}})
    local = LocalApplication(Home(tmp_path / "home"), compiled([made, sink("Out", "Made")]), source_limit=4)
    (pe,) = [PlannedPe(local, program) for program in local.programs]
    for _ in range(8):
        pe.turn()
    with local.catalog.read() as connection:
        assert connection.scalar(select(func.max(tables.commit.c.batch)).where(tables.commit.c.pe == 0)) == batches - 1
