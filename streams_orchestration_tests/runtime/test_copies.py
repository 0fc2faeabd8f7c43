"""The run time copies where the copy plan says so, and nowhere else (rules 78-91)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import (
    ALONE,
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow

COUNT = 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.parquet", COUNT)


def fan_out(file: Path, **options: Any) -> PlannedCompilation:
    """Return one stream to two that write and two that only read, some of them behind queues."""
    queue = {"threadedPort": [{"port": 0, "congestionPolicy": "Sys.Wait", "queueSize": 10}]}
    graph = [
        source("Rows", file),
        node("First", "Doubling", "Rows"),
        node("Second", "Doubling", "Rows"),
        node("Queued", "Doubling", "Rows", config=queue),
        node("Reader", "Passing", "Rows"),
        sink("Firsts", "First"),
        sink("Seconds", "Second"),
        sink("Queueds", "Queued"),
        sink("Readers", "Reader"),
    ]
    return compiled(graph, **options)


def counted(tmp_path: Path, compilation: PlannedCompilation) -> tuple[LocalApplication, Counter[int], Counter[int]]:
    application = LocalApplication(Home(tmp_path / "home"), compilation, 5)
    application.run()
    copies: Counter[int] = Counter()
    enqueued: Counter[int] = Counter()
    for result in application.results:
        copies.update(result.copies)
        enqueued.update(result.enqueued)
    return application, copies, enqueued


ONE, FEW = ("manual", 1), ("manual", 3)
OPTIONS: list[dict[str, Any]] = [
    {"fusion": fusion, "pes": pes, "threading": threading, "faithful": faithful}
    for (fusion, pes), threading, faithful in (
        (ONE, "manual", True),
        (ONE, "manual", False),
        (ONE, "automatic", False),
        (ONE, "dedicated", True),
        (FEW, "manual", False),
        (FEW, "dynamic", True),
        (("legacy", None), "manual", False),
        (("automatic", None), "automatic", True),
    )
]


@pytest.mark.covering
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(str(value) for value in options.values()))
@pytest.mark.parametrize("application", [fan_out, totals], ids=["fan-out", "parallel"])
def test_copies_happen_exactly_where_the_plan_says(
    tmp_path: Path, file: Path, application: Any, options: dict[str, Any]
):
    compilation = application(file, **options)
    _, copies, enqueued = counted(tmp_path, compilation)
    planned = {number: passing.passing for number, passing in enumerate(compilation.copies.connections)}
    assert set(copies) == {number for number, passing in planned.items() if passing == "copy"}
    assert set(enqueued) == {number for number, passing in planned.items() if passing == "enqueue"}


def test_there_is_one_copy_for_every_batch(tmp_path: Path, file: Path):
    compilation = fan_out(file, fusion="manual", pes=1, threading="manual")
    _, copies, enqueued = counted(tmp_path, compilation)
    assert set(copies.values()) == {COUNT // 5}
    assert set(enqueued.values()) == {COUNT // 5}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(str(value) for value in options.values()))
def test_changes_of_a_consumer_are_not_seen_by_its_siblings(tmp_path: Path, file: Path, options: dict[str, Any]):
    application, _, _ = counted(tmp_path, fan_out(file, **options))
    plain, doubled = sorted(rows(COUNT)), sorted((k, 2 * n) for k, n in rows(COUNT))
    assert published(application.published("Readers")) == plain
    for name in ("Firsts", "Seconds", "Queueds"):
        assert published(application.published(name)) == doubled


@pytest.mark.parametrize("where", ["fused", "behind a queue", "in another PE"])
def test_a_port_that_does_not_mutate_gets_const_tuples_wherever_it_is(tmp_path: Path, file: Path, where: str):
    config: dict[str, Any] = {}
    if where == "behind a queue":
        config = {"threadedPort": [{"port": 0, "congestionPolicy": "Sys.Wait", "queueSize": 10}]}
    elif where == "in another PE":
        config = ALONE
    writer = {"name": "W", "operator": "WritingToConst", "inputs": ["Rows"], "outputs": [], "config": config}
    options: dict[str, Any] = {"fusion": "manual", "pes": 2 if config is ALONE else 1}
    application = LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), writer], **options), 5)
    with pytest.raises(StepError, match="operator W: attribute n: the tuples are const"):
        application.run()


def test_a_sum_of_copies_is_that_of_pandas(tmp_path: Path, file: Path):
    application, _, _ = counted(tmp_path, totals(file, fusion="manual", pes=1, threading="manual"))
    assert published(application.published("Out")) == expected_totals(rows(COUNT))
