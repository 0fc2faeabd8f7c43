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
    actual = answer(capsys, problem)
    assert actual.pop("seconds") > 0
    assert actual == {
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


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "HiGHS", "search"])
def test_machines_and_solver_are_options(solver: str, problem: str, capsys: pytest.CaptureFixture[str]):
    actual = answer(capsys, problem, "--machines", "3", "--solver", solver, "--time-limit", "2")
    assert actual["loads"] == [110.5001, 110.5002, 110.5001]
    assert actual["solver"] == solver.lower()


def test_a_table_says_what_moves(problem: str, capsys: pytest.CaptureFixture[str]):
    assert main(["decouple", problem]) == 0
    out = capsys.readouterr().out
    assert "new network after b: machine 0 -> 1" in out
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
    document = json.loads(captured.out)
    assert [each["code"] for each in document["diagnostics"]] == ["SO0602"]
    assert (document["command"], document["error"]["kind"], document["exitStatus"]) == ("decouple", "application", 1)
    assert f"{path}:7: c: error SO0602: c reads bb, which is not an operator; the nearest is b" in captured.err
    assert "Correct the name" in captured.err


def test_an_output_that_was_not_measured_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
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


# ---- an application ----

SPEC = """
specVersion: 1
application: test
operators: {Source: {inputs: []}, Work: {}, Sink: {outputs: []}}
graph:
  - {name: S, operator: Source}
  - {name: A, operator: Work, inputs: [S]}
  - {name: B, operator: Work, inputs: [A]}
  - {name: K, operator: Sink, inputs: [B]}
"""
PROFILE = """
profileVersion: 1
application: test
seconds: 10
streams:
  - {operator: S, tuples: 1000, bytes: 8000}
  - {operator: A, tuples: 1000, bytes: 8000}
  - {operator: B, tuples: 1000, bytes: 8000}
operators:
  - {operator: S, cpuSeconds: 0.5}
  - {operator: A, cpuSeconds: 2.0}
  - {operator: B, cpuSeconds: 2.0}
  - {operator: K, cpuSeconds: 0.5}
transport:
  basis: measured
  send: {secondsPerTuple: 1.0e-5, secondsPerByte: 1.0e-6}
  receive: {secondsPerTuple: 1.0e-5}
"""


@pytest.fixture
def spec(tmp_path: Path) -> list[str]:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    return [str(tmp_path / "spec.yaml"), "--profile", str(tmp_path / "profile.yaml")]


def test_an_application_is_parted_where_its_profile_says(spec: list[str], capsys: pytest.CaptureFixture[str]):
    actual = answer(capsys, *spec)
    assert actual["machines"] == {"S": 0, "A": 0, "B": 1, "K": 1}
    decision = actual["decision"]
    assert decision["loads"]["before"] == {"0": 100.0}
    assert decision["loads"]["after"] == pytest.approx([50.36, 50.2], abs=0.01)
    assert decision["saturation"] == 2.0
    assert decision["predictedSpeedup"] == pytest.approx(100 / 50.36, abs=1e-3)
    assert decision["cuts"] == [
        {
            "stream": "A", "from": 0, "to": 1, "tuplesPerSecond": 100.0, "bytesPerTuple": 8.0,
            "send": pytest.approx(0.36), "receive": pytest.approx(0.2),
        }
    ]  # fmt: skip


def test_a_table_says_what_moves_and_the_file_what_to_apply(
    spec: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    decision = str(tmp_path / "decision.json")
    assert main(["decouple", *spec, "--machines", "3", "--output", decision]) == 0
    captured = capsys.readouterr()
    assert "PE 0 took 50.0 % of a processor when it was measured." in captured.out
    assert "A crosses from part 1 to part 2: 100 tuples/s of 8 bytes were measured" in captured.out
    assert f"streams deploy {spec[0]} --decoupling {decision}" in captured.err
    assert main(["compile", spec[0], "--decoupling", decision, "--format", "json"]) == 0
    pes = json.loads(capsys.readouterr().out)["fusionPlan"]["pes"]
    assert sorted(each["operators"] for each in pes) == [["A"], ["B", "K"], ["S"]]


def test_several_profiles_are_combined(spec: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    second = tmp_path / "second.yaml"
    second.write_text(PROFILE.replace("K, cpuSeconds: 0.5", "K, cpuSeconds: 9.5"))
    assert answer(capsys, *spec, "--profile", str(second))["machines"] == {"S": 0, "A": 0, "B": 0, "K": 1}


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["SPEC"], 2, "streams profile APP --output FILE"),
        (["PROBLEM", "--pe", "0"], 2, "is a decoupling problem, not a spec"),
        (["PROBLEM", "--fusion", "legacy"], 2, "is a decoupling problem, not a spec"),
        (["PROBLEM", "--time-limit", "nan"], 2, "nan is not a finite number"),
        (["PROBLEM", "--time-limit", "inf"], 2, "inf is not a finite number"),
        (["SPEC", "--profile", "PROFILE", "--pe", "7"], 1, "there is no PE 7; the application has the PEs 0"),
        (["SPEC", "--profile", "PROFILE", "--profile", "OTHER"], 2, "these are of test, other"),
    ],
)
def test_a_problem_that_cannot_be_decided_is_refused_with_the_reason(
    options: list[str], status: int, message: str, spec: list[str], problem: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    (tmp_path / "other.yaml").write_text("{profileVersion: 1, application: other}")
    files = {"SPEC": spec[0], "PROBLEM": problem, "PROFILE": spec[2], "OTHER": str(tmp_path / "other.yaml")}
    assert main(["decouple", *(files.get(each, each) for each in options)]) == status
    assert message in capsys.readouterr().err


def test_a_profile_of_other_pes_counts_and_is_told(spec: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "profile.yaml").write_text(PROFILE.replace("seconds: 10", "seconds: 10\nfingerprint: other"))
    assert main(["decouple", *spec, "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["decision"]["predictedSpeedup"] > 1.9
    assert "measured with other PEs, widths or options" in captured.err
