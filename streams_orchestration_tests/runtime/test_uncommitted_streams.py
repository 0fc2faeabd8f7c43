"""Reading a region's stream before its epoch is complete: at least once, by whole batches, never losing."""

from __future__ import annotations

import functools
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import InputStream, PeProgram, Task
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.programs.batches import Position, Segment
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.pe_view import StreamView
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT, SEGMENTS_LIMIT
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.ordeals import ACTIONS, Ordeal
from streams_orchestration_tests.runtime.pe_views import operator, read, view

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 30
UNCOMMITTED: dict[str, Any] = {"config": {"visibility": "read_uncommitted"}}
AUTONOMOUS: dict[str, Any] = {"annotations": {"autonomous": True}}


def application(directory: Path, count: int = COUNT) -> PlannedCompilation:
    """Rows -> (inside) doubled -> a sink of the region; outside, somebody reads both streams."""
    file = write_rows(directory / "rows.parquet", count)
    graph = [
        source("Rows", file, **UNCOMMITTED),
        node("Doubled", "Doubling", "Rows", **UNCOMMITTED),
        sink("Inside", "Doubled"),
        node("Either", "Passing", **AUTONOMOUS) | {"inputs": [["Rows", "Doubled"]]},
        sink("Outside", "Either"),
    ]
    return compiled(graph, fusion="legacy")


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    return LocalApplication(Home(tmp_path / "home"), application(tmp_path), source_limit=5)


def pe(local: LocalApplication, name: str) -> PeProgram:
    return next(p for p in local.programs if any(operator.name == name for operator in p.operators.values()))


def seen(local: LocalApplication) -> Counter[Any]:
    return Counter(published(local.published("Outside")))


def test_a_batch_is_read_when_it_is_committed(local: LocalApplication):
    local.step(pe(local, "Rows"))
    assert local.step(pe(local, "Either"))
    local.step(pe(local, "Outside"))
    assert seen(local) == Counter(rows(5))


def test_after_a_reset_the_replay_is_read_too_and_the_reader_goes_on(local: LocalApplication):
    first, reader = pe(local, "Rows"), pe(local, "Either")
    for _ in range(3):
        local.step(first)
    local.step(reader)
    local.step(first)
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    data = rows(COUNT) + [(k, 2 * n) for k, n in rows(COUNT)]
    assert seen(local) == Counter(data) + Counter(rows(15)), "what was read before the reset came again"
    assert published(local.published("Inside")) == sorted((k, 2 * n) for k, n in rows(COUNT))


def test_retracted_segments_are_kept_for_a_batch_under_way(local: LocalApplication):
    first, reader = pe(local, "Rows"), pe(local, "Either")
    local.step(first)
    plan = local.plan(reader)
    assert plan is not None
    reset_unit(local.catalog, local.name, "region-0")
    collect_garbage(local.catalog, local.name, local.programs)
    commit_batch(local.catalog, reader, plan, local.execute(reader, plan), 0.0)
    with local.catalog.read() as connection:
        kept = connection.scalars(select(tables.segment.c.path).where(tables.segment.c.retracted)).all()
    assert len(kept) == 1
    collect_garbage(local.catalog, local.name, local.programs)
    assert not Path(local.home.store.title(kept[0])).exists(), "nobody can name it any more"
    assert local.plan(reader) is None, "nor does anybody read it again"


def test_numbers_that_a_reset_has_used_up_hold_nobody_up(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), application(tmp_path, 2 * OUTSTANDING_LIMIT), source_limit=1)
    first = pe(local, "Rows")
    for _ in range(3):
        while local.step(first):
            pass
        reset_unit(local.catalog, local.name, "region-0", force=True)
    local.run()
    assert published(local.published("Inside")) == sorted((k, 2 * n) for k, n in rows(2 * OUTSTANDING_LIMIT))
    assert not Counter(rows(2 * OUTSTANDING_LIMIT)) - seen(local)


def shown(*batches: int, rows: int = 1) -> StreamView:
    """Insert a segment for each of these batches of the producer."""
    segments = tuple((number, 1, Segment("S", f"{batch}", rows, 1, 0)) for number, batch in enumerate(batches))
    return StreamView(segments, 1, ended=False, batches=batches)


def reader() -> PeProgram:
    inputs = tuple(InputStream(name, 9, 0, 0, foreign=True, uncommitted=True) for name in "AB")
    return PeProgram("app", 0, "pe-0", False, True, {0: operator(0, "Op")}, (Task(0, 0, 0, (0,), (), inputs),), {})


WHOLE = [
    ("all that fits", {"A": [0, 1, 2], "B": [0, 1, 2]}, None, ["0", "1", "2"] * 2),
    ("not the part of a batch that would fit", {"A": [0, 1, 1], "B": [0, 1]}, 2, ["0", "0"]),
    ("streams of one producer go together", {"A": [0, 1, 2], "B": [0, 0, 1]}, 2, ["0", "0", "0"]),
    ("one that nothing came to does not matter", {"A": [0, 1], "B": [1]}, 2, ["0", "1", "1"]),
    ("a batch that is too large is read whole", {"A": [0, 0, 0], "B": []}, 1, ["0", "0", "0"]),
    ("and so is one of very many segments", {"A": [0] * (SEGMENTS_LIMIT + 5) + [1], "B": []}, None,
     ["0"] * (SEGMENTS_LIMIT + 5)),
]  # fmt: skip


@pytest.mark.parametrize(("streams", "limit", "wanted"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])
def test_batches_are_read_whole(streams: dict[str, list[int]], limit: int | None, wanted: list[str]):
    views = {name: shown(*batches) for name, batches in streams.items()}
    plan = plan_batch(reader(), replace(view(position=Position()), streams=views), stream_limit=limit)
    assert plan is not None
    assert sorted(read(plan)) == sorted(wanted)


@functools.cache
def compilation(directory: Path) -> PlannedCompilation:
    return application(directory)


class Watched(Ordeal):
    def check(self) -> None:
        """Whole batches only: of every batch of the producer, what is read of its streams is all or nothing."""
        reads = pe(self.local, "Either")
        plan = self.local.plan(reads)
        given = [s.path for task in plan.inputs for _, _, s in task.segments] if plan else []
        with self.local.catalog.read() as connection:
            table = tables.segment
            segments = connection.execute(
                select(table.c.pe, table.c.batch, table.c.path).where(table.c.uncommitted)
            ).all()
        batches = {(row.pe, row.batch) for row in segments if row.path in given}
        assert {row.path for row in segments if (row.pe, row.batch) in batches} == set(given)


@given(events=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=40))
@examples(8)
def test_nothing_is_lost_whatever_happens(data: Path, events: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as directory:
        ordeal = Watched(Home(Path(directory)), compilation(data))
        for action, number in events:
            getattr(ordeal, action)(number)
            ordeal.check()
        ordeal.finish()
        assert published(ordeal.local.published("Inside")) == sorted((k, 2 * n) for k, n in rows(COUNT))
        data_seen = Counter(rows(COUNT) + [(k, 2 * n) for k, n in rows(COUNT)])
        missing = data_seen - seen(ordeal.local)
        assert not missing
        if not any(action == "reset" for action, _ in events):
            assert seen(ordeal.local) == data_seen
        assert ordeal.left() == []
