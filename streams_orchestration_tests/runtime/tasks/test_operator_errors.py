"""An error of an operator names the tuple, as exactly as can be told, and where it was read."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.files import file_sink
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.errors.operator_errors import OperatorFailure
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.segments import write_segment
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.sample_operators import Passing

HERE = "streams_orchestration_tests.runtime.sample_operators"
LONG = "k" * 100
CODE = r"\(.*/sample_operators\.py, line \d+\)"
PLACE = r"at tuple 13 of batch 0 on input port 0, {k: 'k{36}\.\.\., n: 0}, read from .*/rows\.parquet, rows 1 to 20"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pq.write_table(
        pa.table({"k": [LONG] * 20, "n": pa.array([0 if i == 12 else 5 for i in range(20)], pa.int64())}), path
    )
    return path


def failed(graph: list[dict[str, Any]], home: Path, pes: int = 1, limit: int = 20) -> Failure:
    local = LocalApplication(Home(home), compiled(graph, fusion="manual", pes=pes), limit)
    for _ in range(20):
        for program in local.programs:
            plan = local.plan(program)
            if plan is None:
                continue
            bad = [result.failure for result in local.execute(program, plan) if result.failure]
            if bad:
                return bad[0]
            local.step(program)
    raise AssertionError


def test_a_full_disk_is_one_kind_of_cause_whatever_its_message_names(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, f"no room for {path.name}")

    monkeypatch.setattr(file_sink, "write_file", full)
    monkeypatch.setattr(file_sink, "write_lines_file", full)
    graph = [source("Rows", file), sink("Out", "Rows")]
    first, second = (failed(graph, tmp_path / home) for home in ("one", "two"))
    assert first.operator is not None
    assert second.operator is not None
    assert first.nature == "disk"
    assert first.message != second.message
    assert first.operator.kind == second.operator.kind, (
        "each reset waits longer than the one before only if the kind is the same"
    )


def test_an_operator_that_ends_the_program_has_failed_as_any(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Leaving", "leaving", "Rows"), sink("Out", "Leaving")]
    bad = failed(graph, tmp_path / "home")
    assert re.fullmatch(rf"operator Leaving: SystemExit: 3 {CODE}; {PLACE}", bad.message), bad.message


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
    assert bad.nature == "unknown"
    assert re.fullmatch(
        rf"operator Inverse: ZeroDivisionError: .* by zero {CODE}; {PLACE}",
        bad.message,
    ), bad.message


def test_the_number_counts_all_tuples_of_the_batch_not_of_the_piece_that_failed(file: Path, tmp_path: Path):
    marks = node("Marked", "Punctor", "Rows", parameters={"punctuate": True, "position": "before"})
    graph = [source("Rows", file), marks, node("Inverse", "inverse", "Marked"), sink("Out", "Inverse")]
    assert "at tuple 13 of batch 0" in failed(graph, tmp_path / "home").message


def test_a_function_with_a_state_is_not_called_again_to_find_it(file: Path, tmp_path: Path):
    numbered = node("Inverse", "Custom", "Rows", parameters={"function": f"{HERE}:numbered_inverse"})
    bad = failed([source("Rows", file), numbered, sink("Out", "Inverse")], tmp_path / "home")
    assert "at one of the tuples 1 to 20 of batch 0 on input port 0, read from" in bad.message


def test_tuples_from_another_pe_are_named_by_their_segment(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Inverse", "inverse", "Rows"), sink("Out", "Inverse")]
    graph[1]["config"] = {"placement": {"partitionIsolation": True}}
    bad = failed(graph, tmp_path / "home", pes=3, limit=10)
    assert re.search(
        r"at tuple 3 of batch \d+ .*, read from stream \S+, segment \S+\.arrow, rows 1 to 10$", bad.message
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
    assert bad.message.endswith(
        """at tuple 2 of batch 1 on input port 0, {k: '', n: 0}, read from Rows, tuples 1 to 3 after its offset """
        """{"iteration": 3}"""
    )


def test_a_reset_cannot_mend_tuples_of_another_type_than_the_stream_s(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Odd", "OtherSchema", "Rows"), sink("Out", "Odd")]
    bad = failed(graph, tmp_path / "home")
    assert bad.nature == "data"
    assert "operator Odd: it submits tuples of" in bad.message


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
    other = write_segment(local.home.store, "other", segment.stream, strange.schema, [TupleBatch(strange)])
    Path(local.home.store.title(segment.path)).write_bytes(local.home.store.read(other.path))
    changed = replace(segment, size=other.size, checksum=other.checksum)
    inputs = (replace(plan.inputs[0], segments=((operator, port, changed),)), *plan.inputs[1:])
    (bad,) = [result.failure for result in local.execute(second, replace(plan, inputs=inputs)) if result.failure]
    assert re.search(
        r"segment \S+ has tuples of k string, n string, input port 0 of Same takes k string, n bigint; .*--fresh",
        bad.message,
    )


def test_an_error_is_known_in_parts_and_known_again(file: Path, tmp_path: Path):
    graph = [source("Rows", file), node("Inverse", "inverse", "Rows"), sink("Out", "Inverse")]
    first, again = (failed(graph, tmp_path / name, limit=limit).operator for name, limit in (("a", 20), ("b", 5)))
    assert first is not None
    assert again is not None
    assert (first.operator, first.pure, first.port, first.mark) == ("Inverse", True, 0, "")
    assert (first.batch, first.first, first.last) == (0, 13, 13)
    assert (again.batch, again.first, again.last) == (2, 3, 3)
    assert again.is_again(first)
    assert re.fullmatch(r"{k: 'k{36}\.\.\., n: 0}", first.values)
    assert first.origin == f"{file}, rows 1 to 20"
    code = Path(first.file).read_text().splitlines()[first.line - 1]
    assert code.strip() == 'return {"k": batch.arrow["k"], "n": [10 // n for n in values]}'


FAILED = OperatorFailure(
    "Inverse", "ValueError: no", "ValueError", "mine.py", 7, True, 3, 0, "", 4, 4, "{n: 0}", "rows.csv, 4"
)
SOMEWHERE = replace(FAILED, values="", first=1, last=9)


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [
        (FAILED, FAILED, True),
        (FAILED, replace(FAILED, batch=9, first=1, last=1, origin=""), True),
        (FAILED, replace(FAILED, values="{n: 1}"), False),
        (FAILED, replace(FAILED, line=8), False),
        (FAILED, replace(FAILED, file="yours.py"), False),
        (FAILED, replace(FAILED, cause="ValueError: no, in batch 9"), True),
        (FAILED, replace(FAILED, exception="KeyError"), False),
        (FAILED, replace(FAILED, operator="Other"), False),
        (FAILED, replace(FAILED, port=1), False),
        (FAILED, SOMEWHERE, False),
        (SOMEWHERE, SOMEWHERE, True),
        (SOMEWHERE, replace(SOMEWHERE, last=10), False),
        (SOMEWHERE, replace(SOMEWHERE, batch=4), False),
    ],
)
def test_a_failure_is_another_one_s_cause_at_its_tuples(before: OperatorFailure, after: OperatorFailure, again: bool):
    assert after.is_again(before) is again


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (
            FAILED,
            "ValueError: no (mine.py, line 7); at tuple 4 of batch 3 on input port 0, {n: 0}, read from rows.csv, 4",
        ),
        (
            replace(SOMEWHERE, file="", origin=""),
            "ValueError: no; at one of the tuples 1 to 9 of batch 3 on input port 0",
        ),
        (replace(FAILED, mark="final"), "ValueError: no (mine.py, line 7); at the final marker on input port 0"),
        (replace(FAILED, port=None), "ValueError: no (mine.py, line 7)"),
    ],
)
def test_a_failure_says_what_is_known_of_its_place(failure: OperatorFailure, text: str):
    assert str(failure) == text


@pytest.mark.parametrize("operator", ["Filter", "Functor"])
def test_code_of_the_product_is_nobody_s_own(
    file: Path, tmp_path: Path, operator: str, monkeypatch: pytest.MonkeyPatch
):
    def process(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(import_operator(STANDARD[operator]), "process", process)
    bad = failed([source("Rows", file), node("Same", operator, "Rows"), sink("Out", "Same")], tmp_path / "home")
    assert bad.operator is not None
    assert (bad.operator.file, bad.operator.line) == ("", 0)


def test_an_operator_that_cannot_be_made_is_named_with_its_line(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def setup(*_: Any) -> None:
        message = "no connection"
        raise ConnectionError(message)

    monkeypatch.setattr(Passing, "setup", setup)
    bad = failed([source("Rows", file), node("Same", "Passing", "Rows"), sink("Out", "Same")], tmp_path / "home")
    assert re.fullmatch(
        r"operator Same: ConnectionError: no connection \(.*/test_operator_errors\.py, line \d+\)", bad.message
    )
    assert bad.nature == "outside"
