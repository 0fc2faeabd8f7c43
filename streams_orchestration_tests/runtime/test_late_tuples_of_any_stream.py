"""Results and late tuples are a function of the stream: width, PEs, batches, redeploys and resets change none."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import Timed, in_event_time, timed, timed_file
from streams_orchestration_tests.runtime.judges import Account, Judge, delays, ended, judges
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

SECOND = 1000
KEYS = "abcd"


class Shape(NamedTuple):
    """The shape of an application: its width and its PEs."""

    width: int
    pes: int


class Step(NamedTuple):
    """Turns of all PEs, and the event after them."""

    turns: int
    then: str
    shape: Shape
    limit: int


SHAPES = st.builds(Shape, st.integers(1, 4), st.sampled_from([1, 2, 4]))
EVENTS = st.sampled_from(["redeploy", "redeploy", "reset", "limit"])
STEPS = st.lists(st.builds(Step, st.integers(0, 12), EVENTS, SHAPES, st.integers(1, 15)), max_size=4)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 8), st.sampled_from([-1, 0, 0, 1]), st.sampled_from(KEYS)),
    min_size=1, max_size=40,
)  # fmt: skip


def stream(rows: list[tuple[int, int, int, str]], first: int) -> list[Timed]:
    """Return tuples that go on by seconds, and are behind by seconds; some begin before 1970."""
    greatest, tuples = first, list[Timed]()
    for number, (on, back, off, key) in enumerate(rows):
        greatest += on
        tuples.append(((greatest - back) * SECOND + off, key, number))
    return tuples


def judged(judge: Judge, tuples: list[Timed], lag: int, gap: int) -> tuple[list[Any], list[Timed]]:
    """Return the results and the late tuples, by rules EV17, EV18 and EV26."""
    accounts: dict[str, Account] = {key: judge.account() for key in KEYS}
    greatest = reached = None
    for row in tuples:
        accounts[row[1]].tuple(row)
        greatest = row[0] if greatest is None else max(row[0], greatest)
        if reached is None or greatest - lag >= reached + max(gap, 1):
            reached = greatest - lag
            for account in accounts.values():
                account.advance(reached)
    return ended(accounts)


@given(
    st.one_of(judges(SECOND), judges(SECOND), delays(SECOND)), ROWS, st.sampled_from([0, -30, -5]),
    st.sampled_from([0, 0, 2, 5]), st.sampled_from([0, 0, 1, 3]), SHAPES, st.integers(1, 15), STEPS,
)  # fmt: skip
@examples(40)
def test_neither_the_shape_nor_redeploys_nor_resets_decide_which_tuples_are_late(
    judge: Judge, rows: list[Any], first: int, lag: int, gap: int, shape: Shape, limit: int, steps: list[Step]
):
    tuples = stream(rows, first)
    with TemporaryDirectory() as place:
        file = timed_file(Path(place, "rows.parquet"), tuples)

        def plan(shape: Shape) -> PlannedCompilation:
            by_key = {"parallel": {"width": shape.width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
            graph = [timed("Rows", file, lag=float(lag), minimumGap=float(gap))]
            graph += [judge.node("Rows") | {"annotations": by_key}, sink("Out", "Judged")]
            graph += [sink("TooLate", "Late")] if judge.has_late else []
            return in_event_time(graph, fusion="manual", pes=shape.pes)

        local = LocalApplication(Home(Path(place, "home")), plan(shape), limit)
        for step in steps:
            run_some(local, step.turns)
            if local.advance_to_end():
                break
            if step.then == "redeploy":
                redeploy(local, plan(step.shape))
            elif step.then == "reset":
                reset_unit(local.catalog, local.name, local.units[0], force=True)
            local.source_limit = step.limit
        local.run()
        found = [rows_of(local, name) for name in ("Out", "TooLate")[: 1 + judge.has_late]]
    wanted = judged(judge, tuples, lag * SECOND, gap * SECOND)
    assert found == [*wanted[: len(found)]]


def rows_of(local: LocalApplication, name: str) -> list[Any]:
    return sorted(tuple(row.values()) for path in local.published(name) for row in pq.read_table(path).to_pylist())
