"""Loops within a PE: what goes round comes back in a later batch, once, whatever fails."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.deployment.returning import returning_connections
from streams_orchestration.runtime.deployment.run_kinds import RunKind
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    ALONE,
    compiled,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.ordeals import ACTIONS, Ordeal
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 12
BY_KEY = {"parallel": {"width": 2, "partitionBy": [{"port": "Round", "attributes": ["k"]}]}}


def counting_down(directory: Path, *, width: int = 1, file: Path | None = None, **counter: Any) -> PlannedCompilation:
    """Rows and what comes back -> Round -> a sink, and back with a lesser number as long as that is above 0."""
    less = {"filter": "n >= 1", "output": {"n": "n - 1"}}
    annotations: dict[str, Any] = {"annotations": BY_KEY} if width > 1 else {}
    graph = [
        source("Rows", file or write_rows(directory / "rows.parquet", COUNT), annotations={}),
        node("Round", "Union") | {"inputs": [["Rows", "Less"]]},
        node("Held", "KeyedTotals", "Round", schema="Total", **counter),
        node("Less", "Functor", "Round", parameters=less, **annotations),
        sink("Out", "Round"),
        sink("Totals", "Held"),
    ]
    return compiled(graph)


def expected() -> list[tuple[str, int]]:
    return sorted((key, each) for key, number in rows(COUNT) for each in range(number + 1))


@pytest.mark.parametrize("width", [1, 2])
def test_tuples_go_round_until_none_is_left_and_then_the_application_ends(width: int, tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), counting_down(tmp_path, width=width), 5)
    assert len(local.programs) == 1
    local.run()
    assert published(local.published("Out")) == expected()
    counted = {key: number for key, number, _ in published(local.published("Totals"))}  # sorted, so the last stays
    assert counted == Counter(key for key, _ in expected())


EVENTS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=40)


@given(events=EVENTS)
@examples(6)
def test_nothing_in_a_loop_is_lost_and_nothing_is_doubled(data: Path, events: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as directory:
        ordeal = Ordeal(Home(Path(directory)), counting_down(data))
        for action, number in events:
            getattr(ordeal, action)(number)
            ordeal.check()
        ordeal.finish()
        assert published(ordeal.local.published("Out")) == expected()
        assert ordeal.left() == []


def test_a_redeploy_waits_for_the_tuples_of_a_loop(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), counting_down(tmp_path), 5)
    run_some(local, 3)
    redeploy(local, counting_down(tmp_path, config=ALONE))
    assert len(local.programs) > 1
    assert any(program.returning for program in local.programs)
    local.run()
    assert published(local.published("Out")) == expected()


GATED = """
specVersion: 1
application: gated
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: n bigint}]
    parameters: {iterations: 8, output: {n: IterationCount()}}
  - {name: Passed, operator: Gate, inputs: [Made, Ack], parameters: {maxUnackedTupleCount: 3, numTuplesToAck: "2"}}
  - {name: Kept, operator: Filter, inputs: [Passed]}
  - {name: Ack, operator: Filter, inputs: [Kept], parameters: {filter: n = 1 or n = 6}}
"""


def test_a_gate_waits_for_what_comes_round_and_lets_the_rest_go_when_nothing_moves():
    """0 to 2 pass, 1 acknowledges two of them, so 3 and 4 pass; then nothing comes round, and the loop ends.

    The acknowledgement of 6 would come after that.
    """
    (kept,) = run_in_process(yaml.safe_load(GATED), {}, ["Kept"]).values()
    assert kept.column("n").to_pylist() == list(range(8))


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Operators that read any streams, some of them by a control port."""
    count = draw(st.integers(1, 7))
    streams = [f"S{number}" for number in range(count)]
    graph = [node("Made", "Beacon", parameters={"iterations": 1})]
    for name in streams:
        read = draw(st.lists(st.sampled_from(streams), max_size=3, unique=True))
        if draw(st.booleans()):
            parameters = {"maxUnackedTupleCount": 1}
            graph.append(
                node(name, "Gate", parameters=parameters)
                | {"inputs": [["Made", *read], draw(st.sampled_from(streams))]}
            )
        else:
            graph.append(node(name, "Union") | {"inputs": [["Made", *read]]})
    return graph


@given(graph=graphs())
@examples(60)
def test_connections_come_back_only_in_loops_and_leave_none(graph: list[dict[str, Any]]):
    compilation = compiled(graph)
    connections = compilation.physical.connections
    members = {each.index for each in compilation.physical.operators}
    found = returning_connections(compilation, members, range(len(connections)))

    def leads(start: int, end: int, without: frozenset[int]) -> bool:
        reached = [start]
        for operator in reached:
            following = {c.target for n, c in enumerate(connections) if n not in without and c.source == operator}
            reached += following - {*reached}
        return end in reached

    back = {number: leads(c.target, c.source, frozenset()) for number, c in enumerate(connections)}
    assert all(back[number] for number in found)
    assert not any(leads(c.target, c.source, found) for n, c in enumerate(connections) if n not in found)
    control = {number for number, c in enumerate(connections) if c.target_port == 1 and back[number]}
    assert control <= found


def test_a_bounded_run_takes_its_tuples_round_until_none_is_left(tmp_path: Path):
    (tmp_path / "rows").mkdir()
    write_rows(tmp_path / "rows" / "first.parquet", COUNT)
    home, available = Home(tmp_path / "home"), RunKind(available_now=True)
    compilation = counting_down(tmp_path, file=tmp_path / "rows")
    LocalApplication(home, compilation, 5, begins=available).run()
    write_rows(tmp_path / "rows" / "second.parquet", COUNT)
    local = LocalApplication(home, compilation, 5, begins=available)
    local.run()
    assert published(local.published("Out")) == sorted(2 * expected())
