"""The results of an application do not depend on how its PEs are parted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.operators import Operator, TupleBatch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.compiler.assignments import assignment, forward
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow

COUNT = 40
BY_KEY: dict[str, Any] = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}


class Knowing(Operator):
    """Says in every tuple what an operator knows of itself."""

    def process(self, port: int, batch: TupleBatch) -> None:
        context = self.context
        known = f"{context.name} {context.channel}/{context.max_channels} PE {context.pe}"
        schema = context.outputs[0]
        keys = [f"{key} {known}" for key in batch.arrow.column("k").to_pylist()]
        self.submit(TupleBatch.from_columns({"k": keys, "n": batch.arrow.column("n").to_pylist()}, schema))


def results(compilation: PlannedCompilation, limit: int = 13) -> dict[str, Any]:
    """Return the tuples that the sinks publish, by name."""
    with tempfile.TemporaryDirectory() as directory:
        local = LocalApplication(Home(Path(directory)), compilation, limit)
        local.run()
        sinks = [each.name for each in compilation.physical.operators if not each.streams]
        return {name: published(local.published(name)) for name in sinks}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.parquet", COUNT)


def knowing(file: Path, *, region: bool) -> Callable[..., PlannedCompilation]:
    """Rows -> a region of two channels in which operators say who they are -> totals -> a sink in a PE of its own."""
    graph = [
        source("Rows", file, **({} if region else {"annotations": {}})),
        {"name": "Per", "operator": "Inner", "inputs": ["Rows"], "outputs": ["Per"], "annotations": BY_KEY},
        node("Sums", "RunningTotals", "Per", schema="Total"),
        sink("Out", "Sums", config={"placement": {"partitionIsolation": True}}),
    ]
    inner = [node("Doubled", "Doubling", "In"), node("Known", f"{__name__}:Knowing", "Doubled")]
    composites = {"Inner": {"inputs": ["In"], "outputs": ["Known"], "graph": inner}}
    return lambda **options: compiled(graph, composites, **options)


@pytest.mark.covering
@pytest.mark.parametrize("region", [True, False], ids=["in a region", "autonomous"])
@pytest.mark.parametrize(
    "machines",
    [
        {"Per[0].Known": 1, "Per[1].Known": 1, "Sums": 1},
        {"Per[1].Doubled": 1, "Per[1].Known": 1, "Sums": 2},
        {"Per[0].Doubled": 1, "Per[0].Known": 2, "Per[1].Doubled": 3, "Per[1].Known": 4, "Sums": 5},
    ],
    ids=["behind the region", "a channel apart", "each on its own"],
)
def test_operators_are_who_they_were(file: Path, region: bool, machines: dict[str, int]):
    application = knowing(file, region=region)
    base = application()
    decoupled = application(decoupling=assignment(base, machines))
    assert len(base.fusion.pes) == 2
    assert len(decoupled.fusion.pes) == 2 + max(machines.values())
    rows = results(base)
    assert results(decoupled) == rows
    assert {row[0].partition(" ")[2] for row in rows["Out"]} == {f"Per[{n}].Known {n}/2 PE 0" for n in (0, 1)}


def test_channel_functions_in_expressions_are_those_of_the_channel(file: Path):
    output = {"k": "k", "n": "10 * ${getMaxChannels()} + ${getChannel()}"}
    graph = [
        source("Rows", file),
        node("Known", "Functor", "Rows", parameters={"output": output}, annotations={"parallel": {"width": 3}}),
        sink("Out", "Known"),
    ]
    base = compiled(graph)
    rows = results(base)
    assert {n for _, n in rows["Out"]} == {30, 31, 32}
    assert results(compiled(graph, decoupling=assignment(base, {"Known[1]": 1, "Known[2]": 2, "Out": 3}))) == rows


@given(
    ends=st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["Passing", "Doubling", "Holding", "Sums", "Per"]))),
    both=st.booleans(),
    region=st.booleans(),
    limit=st.sampled_from([5, 17, 100]),
    data=st.data(),
)
@examples(12)
def test_any_decision_gives_the_same_tuples(
    file: Path, ends: list[tuple[int, str]], both: bool, region: bool, limit: int, data: st.DataObject
):
    """Random applications; the undecoupled one is the measure. Totals are of keys, whose tuples keep their order."""
    graph = [source("N0", file, **({} if region else {"annotations": {}}))]
    streams = ["N0"]
    for number, (chosen, kind) in enumerate(ends[:5], start=1):
        name, read = f"N{number}", streams[chosen % len(streams)]
        if kind == "Sums":
            graph += [node(name, "RunningTotals", read, schema="Total"), sink(f"Out{number}", name)]
        elif kind == "Per":
            graph.append(
                {"name": name, "operator": "Inner", "inputs": [read], "outputs": [name], "annotations": BY_KEY}
            )
            streams.append(name)
        else:
            graph.append(node(name, kind, read))
            streams.append(name)
    graph.append(sink("Out", *(streams if both else streams[-1:])))
    inner = [node("Kept", "Filter", "In", parameters={"filter": "n > 1"}), node("Twice", "Doubling", "Kept")]
    composites = {"Inner": {"inputs": ["In"], "outputs": ["Twice"], "graph": inner}}

    def application(decision: Assignment | None = None) -> PlannedCompilation:
        return compiled(graph, composites, fusion="automatic", decoupling=decision)

    base = application()
    decision = forward(base, lambda: data.draw(st.sampled_from([0, 0, 1])))
    assert results(application(decision), limit) == results(base, 25)
