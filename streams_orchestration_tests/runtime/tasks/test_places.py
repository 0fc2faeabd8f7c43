"""An error of an operator names the tuple, as exactly as can be told, and where it was read."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.tasks.batches import TaskResult
from streams_orchestration.runtime.transport.segments import write_segment
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication

HERE = "streams_orchestration_tests.runtime.sample_operators"
LONG = "k" * 100
PLACE = r"at tuple 13 of batch 0 on input port 0, {k: 'k{36}\.\.\., n: 0}, read from .*/rows\.parquet, rows 1 to 20"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pq.write_table(
        pa.table({"k": [LONG] * 20, "n": pa.array([0 if i == 12 else 5 for i in range(20)], pa.int64())}), path
    )
    return path


def failed(graph: list[dict[str, Any]], home: Path, pes: int = 1, limit: int = 20) -> TaskResult:
    local = LocalApplication(Home(home), compiled(graph, fusion="manual", pes=pes), limit)
    for _ in range(20):
        for program in local.programs:
            plan = local.plan(program)
            if plan is None:
                continue
            bad = [result for result in local.execute(program, plan) if result.error]
            if bad:
                return bad[0]
            local.step(program)
    raise AssertionError


@pytest.mark.parametrize(
    ("operator", "parameters"),
    [
        ("inverse", {}),
        ("inverse_in_place", {}),
        ("Custom", {"onTuple": f"{HERE}:inverse_of_one"}),
    ],
)
def test_a_function_s_error_names_the_very_tuple(file: Path, tmp_path: Path, operator: str, parameters: dict[str, Any]):
    graph = [source("Rows", file), node("Inverse", operator, "Rows", parameters=parameters), sink("Out", "Inverse")]
    bad = failed(graph, tmp_path / "home")
    assert not bad.permanent
    assert re.fullmatch(rf"operator Inverse: ZeroDivisionError: .* by zero; {PLACE}", str(bad.error)), bad.error


def test_the_number_counts_all_tuples_of_the_batch_not_of_the_piece_that_failed(file: Path, tmp_path: Path):
    marks = node("Marked", "Punctor", "Rows", parameters={"punctuate": True, "position": "before"})
    graph = [source("Rows", file), marks, node("Inverse", "inverse", "Marked"), sink("Out", "Inverse")]
    assert "at tuple 13 of batch 0" in str(failed(graph, tmp_path / "home").error)


def test_a_function_with_a_state_is_not_called_again_to_find_it(file: Path, tmp_path: Path):
    numbered = node("Inverse", "Custom", "Rows", parameters={"function": f"{HERE}:numbered_inverse"})
    bad = failed([source("Rows", file), numbered, sink("Out", "Inverse")], tmp_path / "home")
    assert "at one of the tuples 1 to 20 of batch 0 on input port 0, read from" in str(bad.error)


def test_tuples_from_another_pe_are_named_by_their_segment(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Inverse", "inverse", "Rows"), sink("Out", "Inverse")]
    graph[1]["config"] = {"placement": {"partitionIsolation": True}}
    bad = failed(graph, tmp_path / "home", pes=3, limit=10)
    assert re.search(
        r"at tuple 3 of batch \d+ .*, read from stream \S+, segment \S+\.arrow, rows 1 to 10$", str(bad.error)
    )


def test_a_made_up_tuple_is_named_by_the_offset_of_its_source(tmp_path: Path):
    made = {
        "name": "Rows",
        "operator": "Beacon",
        "outputs": [{"stream": "Rows", "schema": "Row"}],
        "parameters": {"iterations": 9, "output": {"n": "4 - IterationCount()"}},
        "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}},
    }
    graph = [made, node("Inverse", "inverse", "Rows"), sink("Out", "Inverse")]
    bad = failed(graph, tmp_path / "home", limit=3)
    assert str(bad.error).endswith(
        """at tuple 2 of batch 1 on input port 0, {k: '', n: 0}, read from Rows, tuples 1 to 3 behind its offset """
        """{"iteration": 3}"""
    )


def test_a_reset_cannot_mend_tuples_of_another_type_than_the_stream_s(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Odd", "OtherSchema", "Rows"), sink("Out", "Odd")]
    bad = failed(graph, tmp_path / "home")
    assert bad.permanent
    assert "operator Odd: it submits tuples of" in str(bad.error)


def test_a_segment_with_another_tuple_type_is_named_with_its_consumer(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Same", "Filter", "Rows"), sink("Out", "Same")]
    graph[1]["config"] = {"placement": {"partitionIsolation": True}}
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=3), 20)
    first, second = local.programs[:2]
    assert local.step(first)
    plan = local.plan(second)
    assert plan is not None
    ((operator, port, segment),) = plan.inputs[0].segments
    strange = pa.RecordBatch.from_pydict({"k": ["a"], "n": ["1"]})
    other = write_segment(Path(segment.path).parent, segment.stream, strange.schema, [TupleBatch(strange)])
    Path(segment.path).write_bytes(Path(other.path).read_bytes())
    changed = replace(segment, size=other.size, checksum=other.checksum)
    inputs = (replace(plan.inputs[0], segments=((operator, port, changed),)), *plan.inputs[1:])
    (bad,) = [result for result in local.execute(second, replace(plan, inputs=inputs)) if result.error]
    assert re.search(
        r"segment \S+ has tuples of k string, n string, input port 0 of Same takes k string, n int64; .*--fresh",
        str(bad.error),
    )
