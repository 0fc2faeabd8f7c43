"""Between the switch of a redeploy and the moment at which a host has loaded the new plan it works with the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.errors import StaleGenerationError
from streams_orchestration.runtime.hosts.segments_here import GarbageHere
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.bounded_run import end_bounded_run
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.garbage import Garbage, sweep
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import COUNT, kept_of, redeploy, run_some

pytestmark = pytest.mark.slow

TAKEN_BACK = {"number": 0, "pe": 0, "batch": 0, "epoch": 1, "path": "gone", "rows": 1, "size": 1, "checksum": 0,
              "committed_at": 0.0, "retracted": True}  # fmt: skip
"""A segment that a reset has taken back."""


def early(directory: Path, **options: Any) -> PlannedCompilation:
    """Return a region, and behind it a PE outside of regions that reads its stream before epochs are complete."""
    file = write_rows(directory / "rows.parquet", COUNT)
    graph = [
        source("Rows", file, config={"visibility": "read_uncommitted"}),
        node("Doubled", "Doubling", "Rows"),
        sink("Out", "Doubled"),
        node("Tail", "Passing", "Rows", annotations={"autonomous": True}),
        sink("Tails", "Tail"),
    ]
    return compiled(graph, **options)


class Before:
    """An application in PEs of its own for each operator, and its programs from before it was redeployed."""

    def __init__(self, directory: Path, pes: int) -> None:
        plan = early(directory, fusion="legacy")
        self.local = local = LocalApplication(Home(directory / "home"), plan, source_limit=4)
        run_some(local, 4)
        self.programs, self.units = list(local.programs), list(local.units)
        with local.catalog.read() as connection:
            self.plan: int = connection.scalar(select(tables.application.c.plan)) or 0
            u = tables.unit.c
            self.generations = {row.name: row.generation for row in connection.execute(select(u.name, u.generation))}
        self.planners = [self._started(program) for program in self.programs]
        self.offsets = [planner.start() for planner in self.planners]
        redeploy(local, early(directory, fusion="manual", pes=pes))

    def _started(self, program: PeProgram) -> Planner:
        options = {"home": str(self.local.home.root), "scratch": self.local.scratch_of(program).path, "limit": "4"}
        return Planner(options | {"generation": str(self.generations[program.unit])}, patience=0.0)

    def check_results(self) -> None:
        self.local.run()
        assert published(self.local.published("Out")) == sorted((key, 2 * n) for key, n in rows(COUNT))
        assert published(self.local.published("Tails")) == sorted(rows(COUNT))


@pytest.fixture(params=[1, 2], ids=["one PE then", "two PEs then"])
def before(tmp_path: Path, request: pytest.FixtureRequest) -> Before:
    return Before(tmp_path, request.param)


def test_a_query_of_the_old_plan_plans_no_more_and_has_not_failed(before: Before):
    for program, planner, offset in zip(before.programs, before.planners, before.offsets, strict=True):
        with pytest.raises(StaleGenerationError):
            read_view(before.local.catalog, program, before.generations[program.unit])
        assert planner.commit_and_plan(offset) == offset
        assert planner.scratch.failure is None


def test_a_query_of_the_old_plan_that_starts_late_says_why_it_does_not_begin(before: Before):
    for program, planner in zip(before.programs, before.planners, strict=True):
        with pytest.raises(StaleGenerationError, match=f"PE {program.pe} of "):
            planner.start()


def test_garbage_of_the_old_plan_is_not_collected(before: Before):
    local = before.local
    (stream,) = {stream.stream for program in before.programs for stream in program.inputs if stream.uncommitted}
    with local.catalog.write() as connection:
        connection.execute(insert(tables.segment).values(**TAKEN_BACK, application=local.name, stream=stream))
    kept = kept_of(local)
    Garbage(local.catalog, local.name, before.programs, before.units, before.plan).collect()
    assert kept_of(local) == kept
    Garbage(local.catalog, local.name, local.programs, local.units, before.plan + 1).collect()
    with local.catalog.read() as connection:
        assert connection.scalar(select(tables.segment.c.stream).where(tables.segment.c.retracted)) is None
    before.check_results()


def test_all_else_that_a_host_does_with_the_old_plan_changes_nothing(before: Before):
    local = before.local
    kept = kept_of(local)
    check_and_record_cuts(local.catalog, local.name, before.units)
    end_bounded_run(local.catalog, local.name, before.programs)
    GarbageHere(local.catalog, local.name, [program.pe for program in before.programs]).collect()
    make_deliverers(local.catalog, local.name, before.programs, before.units)
    sweep(local.catalog, local.name, [program.pe for program in before.programs], before.programs)
    assert kept_of(local) == kept
    before.check_results()
