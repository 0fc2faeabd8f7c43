"""Nulls in attributes: allowed unless the tuple type says NOT NULL, which every operator is held to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators import TupleBatch
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication

STRICT = "k string NOT NULL, n bigint NOT NULL"


def application(tmp_path: Path, graph: list[dict[str, Any]]) -> LocalApplication:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int64())}), path)
    rows = source("Rows", path)
    if graph[0]["name"] == "Rows":
        rows |= graph.pop(0)
    return LocalApplication(Home(tmp_path / "home"), compiled([rows, *graph, sink("Out", graph[-1]["name"])]), 10)


def error(local: LocalApplication) -> str:
    plan = local.plan(local.programs[0])
    assert plan is not None
    (failure,) = [result.failure for result in local.execute(local.programs[0], plan) if result.failure]
    assert failure.nature == "data"
    return failure.message


def test_nulls_pass_where_nothing_forbids_them(tmp_path: Path):
    local = application(tmp_path, [node("Kept", "Filter", "Rows", parameters={"filter": "k IS NOT NULL"})])
    local.run()
    assert published(local.published("Out")) == [("a", 1), ("b", None)]


def test_a_source_is_held_to_its_tuple_type(tmp_path: Path):
    rows: dict[str, Any] = {"name": "Rows", "outputs": [{"stream": "Rows", "schema": STRICT}]}
    text = error(application(tmp_path, [rows, node("Kept", "Filter", "Rows", schema=STRICT)]))
    assert "operator Rows: it submits a tuple whose k is null, but the stream has k NOT NULL: {k: None, n: 3}" in text
    assert "rows.parquet, rows 1 to 3" in text


def test_an_operator_is_held_to_its_tuple_type(tmp_path: Path):
    local = application(tmp_path, [node("Kept", "Functor", "Rows", schema=STRICT, parameters={"filter": "k = 'b'"})])
    text = error(local)
    assert "operator Kept: output.n: '`n`': it is null, but the attribute is NOT NULL" in text
    assert "the tuple has n = None" in text


def test_a_value_in_place_of_null_mends_it(tmp_path: Path):
    output = {"k": "COALESCE(k, '-')", "n": "COALESCE(n, 0)"}
    local = application(tmp_path, [node("Mended", "Functor", "Rows", schema=STRICT, parameters={"output": output})])
    local.run()
    assert published(local.published("Out")) == [("-", 3), ("a", 1), ("b", 0)]


def test_streams_that_differ_in_what_may_be_null_meet_on_one_port(tmp_path: Path):
    mended = node("Mended", "Filter", "Rows", schema=STRICT, parameters={"filter": "n IS NOT NULL AND k IS NOT NULL"})
    graph = [mended, node("Both", "Union", parameters={}) | {"inputs": [["Rows", "Mended"]]}]
    local = application(tmp_path, graph)
    local.run()
    assert len(published_sorted(local)) == 4


def published_sorted(local: LocalApplication) -> list[Any]:
    return [row for path in local.published("Out") for row in pq.read_table(path).to_pylist()]


def test_the_test_kit_holds_operators_to_it_too():
    harness = OperatorHarness(Functor, ["n bigint"], ["n bigint NOT NULL"])
    assert harness.send([(1,)]).rows() == [(1,)]
    with pytest.raises(DataError, match="it is null, but the attribute is NOT NULL"):
        harness.send([(1,), (None,)])


def test_views_of_what_is_never_null_keep_their_type():
    batch = TupleBatch.from_columns({"n": [1, 2]}, arrow_schema("n bigint NOT NULL"))
    assert batch.column("n").dtype == "int64"
