"""`streams decouple`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.entry import main

PROBLEM = """
params: {ser_per_item: 5, deser_per_item: 5}
ops:
  - {id: in, kind: net_recv, recv_cpu: 5, card: 1}
  - {id: a, kind: op, parents: [in], cpu: 100.5, card: 1}
  - {id: b, kind: op, parents: [a], cpu: 100.5, card: 1}
  - {id: c, kind: op, parents: [b], cpu: 100.5, card: 1}
  - {id: out, kind: net_send, parents: [c], cpu: 5}
"""


@pytest.fixture
def problem(tmp_path: Path) -> str:
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM)
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["decouple", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_is_alone_on_standard_output(problem: str, capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, problem)
    assert found.pop("seconds") > 0
    assert found == {
        "objective": 211.0001,
        "bound": 211.0001,
        "gap": 0.0,
        "loads": [211.0001, 110.5001],
        "execAt": {"in": 0, "a": 0, "b": 0, "c": 1, "out": 1},
        "outputTo": {"in": 0, "a": 0, "b": 1, "c": 1},
        "newNetworks": [["b", 0, 1]],
        "hops": 1,
        "predictedSpeedup": pytest.approx(311.5 / 211.0001),
        "solver": "highs",
    }


@pytest.mark.parametrize("solver", ["highs", "cbc", "CBC", "search"])
def test_machines_and_solver_are_options(solver: str, problem: str, capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, problem, "--machines", "3", "--solver", solver, "--time-limit", "20")
    assert found["loads"] == [110.5001, 110.5002, 110.5001]
    assert found["solver"] == solver.lower()


def test_a_table_says_what_moves(problem: str, capsys: pytest.CaptureFixture[str]):
    assert main(["decouple", problem]) == 0
    out = capsys.readouterr().out
    assert "new network behind b: machine 0 -> 1" in out
    assert "largest load 211.0001, the optimum" in out


def test_a_file_takes_the_answer(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["decouple", problem, "--format", "json", "--output", str(tmp_path / "answer.json")]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "answer.json").read_text())["hops"] == 1


def test_errors_have_lines_and_remedies(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM.replace("parents: [b]", "parents: [bb]"))
    assert main(["decouple", str(path), "--format", "json"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{path}:7: c: error SO0602: c reads bb, which is no operator; the nearest is b" in captured.err
    assert "Correct the name" in captured.err


def test_what_was_not_measured_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM.replace("parents: [in], cpu: 100.5, card: 1", "parents: [in], cpu: 100.5"))
    assert main(["decouple", str(path), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["newNetworks"] == [["b", 0, 1]]
    assert "warning SO0610: a: the output was not measured" in captured.err


@pytest.mark.parametrize("options", [["--machines", "0"], ["--time-limit", "0"], ["--solver", "gurobi"]])
def test_wrong_options_are_told(options: list[str], problem: str, capsys: pytest.CaptureFixture[str]):
    assert main(["decouple", problem, *options]) == 2
    assert options[0] in capsys.readouterr().err
