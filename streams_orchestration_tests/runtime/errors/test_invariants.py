"""A defect that breaks a rule of the protocol costs an error; nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.invariants import InvariantError
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.sinks import publishing
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

Batch = tuple[BatchPlan, Sequence[TaskResult]]


def doubled(plan: BatchPlan, results: Sequence[TaskResult]) -> Batch:
    return plan, [*results, results[0]]


def of_a_complete_epoch(plan: BatchPlan, results: Sequence[TaskResult]) -> Batch:
    return replace(plan, epoch=plan.epoch - 1), results


def last_within_its_epoch(plan: BatchPlan, results: Sequence[TaskResult]) -> Batch:
    return replace(plan, final=True, boundary=False), results


@pytest.fixture
def application(tmp_path: Path) -> LocalApplication:
    return LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "rows.parquet", 20), pes=1), 5)


@pytest.mark.parametrize(
    ("faulty", "rule"), [(doubled, "B18"), (of_a_complete_epoch, "B4"), (last_within_its_epoch, "B18")]
)
def test_a_batch_that_breaks_a_rule_is_not_committed(
    application: LocalApplication, faulty: Callable[[BatchPlan, Sequence[TaskResult]], Batch], rule: str
):
    (program,) = application.programs
    plan = application.plan(program)
    assert plan is not None
    plan, results = faulty(plan, application.execute(program, plan))
    with pytest.raises(InvariantError, match=rf"rule {rule} .* nothing was changed"):
        commit_batch(application.catalog, program, plan, results, 0.0)
    with application.catalog.read() as connection:
        assert connection.execute(select(tables.commit)).all() == []


def test_an_epoch_that_a_pe_has_not_closed_is_not_complete(application: LocalApplication):
    (program,) = application.programs
    with application.catalog.write() as connection:
        (row,) = connection.execute(select(tables.pe)).mappings()
        connection.execute(insert(tables.pe).values(**dict(row) | {"id": 7, "epoch": 9}))
    application.trigger()
    with pytest.raises(InvariantError, match=r"its PEs \[7\] have not closed"):
        application.step(program)
    with application.catalog.read() as connection:
        assert connection.scalar(select(tables.unit.c.completed_epoch)) == 0


def test_a_file_is_not_shown_before_its_epoch_is_complete(application: LocalApplication):
    (program,) = application.programs
    application.trigger()
    application.commit(boundary=True)
    seen = publishing.outstanding(application.catalog, program.application)
    early = replace(seen, files=[replace(row, complete=False) for row in seen.files])
    with pytest.raises(InvariantError, match=r"before epoch \d is complete. This breaks rule B32 "):
        publishing.publish_files(application.catalog, program.application, seen=early)
    assert application.published("Out") == []
