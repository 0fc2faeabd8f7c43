"""Failures that a reset cannot mend: bad data, bad state, results of a wrong type, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration_tests.runtime import sample_operators
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.sample_operators import Passing, RunningTotals


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", 20)
    return LocalApplication(Home(tmp_path / "home"), totals(file, fusion="manual", pes=1), 5)


def failed(local: LocalApplication) -> list[Failure]:
    """Return the failures of the next batch's tasks."""
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    return [result.failure for result in local.execute(program, plan) if result.failure]


def remove(path: Path) -> None:
    path.unlink()


def alter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def obstruct(path: Path) -> None:
    """Reading it fails, as on a bad disk, but the file is not known to be gone."""
    path.unlink()
    path.mkdir()


@pytest.mark.usefixtures("states_in_files")
@pytest.mark.parametrize(("harm", "permanent"), [(remove, True), (alter, True), (obstruct, False)])
def test_a_state_that_is_gone_or_altered_cannot_come_back(
    harm: Callable[[Path], None], permanent: bool, local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    assert local.step(local.programs[0])
    stored = list((local.home.data(local.name) / "states").rglob("*.state"))
    assert stored
    for path in stored:
        harm(path)
    monkeypatch.setattr(stages, "INSTANCES", InstanceCache())  # another worker, which has nothing in memory
    results = failed(local)
    assert results
    for result in results:
        assert (result.nature == "data") is permanent
        assert "cannot be read" in result.message
        assert "--fresh" in result.message


def test_a_file_that_an_operator_misses_may_be_there_after_a_reset(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def process(_self: RunningTotals, _port: int, _batch: TupleBatch) -> None:
        raise FileNotFoundError(2, "No such file or directory", "lookup.csv")

    monkeypatch.setattr(RunningTotals, "process", process)
    results = failed(local)
    assert results
    assert not any(failure.nature == "data" for failure in results)


def test_a_class_that_is_missing_on_a_worker_fails_its_operator_and_may_be_there_after_a_reset(local: LocalApplication):
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    operators = {
        index: replace(operator, implementation="not_installed:Thing") if operator.name == "Doubled" else operator
        for index, operator in program.operators.items()
    }
    results = local.execute(replace(program, operators=operators), plan)
    (bad,) = [result.failure for result in results if result.failure]
    assert bad.message.startswith("operator Doubled: ImplementationError: not_installed:Thing: the module cannot be")
    assert bad.operator is not None
    assert (bad.operator.operator, bad.nature) == ("Doubled", "unknown")


def first_failed(tmp_path: Path, graph: list[dict[str, Any]]) -> Failure:
    """Return the failure of the first failed task of an application of one PE."""
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 20)
    while not (bad := failed(local)):
        assert local.step(local.programs[0])
    return bad[0]


@pytest.mark.parametrize(
    ("kind", "methods"),
    [
        (Passing, {"process": lambda self, port, batch: batch}),
        (Passing, {"process": lambda self, port, batch: batch.writable("n")}),
        (Passing, {"process": lambda self, port, batch: self.submit(batch.to_pylist())}),
        (Passing, {"process": lambda self, port, batch: self.submit(batch, 1)}),
        (Passing, {"on_punctuation": lambda self, port, mark: mark}),
        (Passing, {"prepare_commit": lambda self: [1]}),
        (RunningTotals, {"checkpoint": lambda self: 5}),
        (FileSource, {"produce": lambda self, offset, limit: None}),
    ],
)
def test_a_wrong_result_of_an_operator_stops_the_application_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Operator], methods: dict[str, Any]
):
    for name, method in methods.items():
        monkeypatch.setattr(kind, name, method)
    totals = kind is RunningTotals
    output = {"stream": "Same", "schema": "k string, number bigint, total bigint" if totals else "Row"}
    same = node("Same", "RunningTotals" if totals else "Passing", "Rows") | {"outputs": [output]}
    file = write_rows(tmp_path / "rows.parquet", 20)
    bad = first_failed(tmp_path, [source("Rows", file), same, sink("Out", "Same")])
    assert bad.nature == "data"
    assert bad.message.startswith(f"operator {'Rows' if kind is FileSource else 'Same'}: ")


@pytest.mark.parametrize("result", [42, "text", [1], {"k": ["a"]}, {"k": "a", "n": "x"}])
@pytest.mark.parametrize("parameter", ["function", "onTuple"])
def test_a_function_s_wrong_result_stops_the_application_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameter: str, result: Any
):
    monkeypatch.setattr(sample_operators, "inverse_of_one", lambda: result)
    custom = node("Inverse", "Custom", "Rows", parameters={parameter: f"{sample_operators.__name__}:inverse_of_one"})
    file = write_rows(tmp_path / "rows.parquet", 20)
    bad = first_failed(tmp_path, [source("Rows", file), custom, sink("Out", "Inverse")])
    assert bad.nature == "data"
    assert bad.message.startswith("operator Inverse: ")
    assert "at tuple 1 of batch 0 on input port 0, {k: " in bad.message
