"""`streams check`: all errors at once, in one document, with the exit status that CI looks at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli import main
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.runtime import api
from streams_orchestration.runtime.errors.errors import JavaError
from streams_orchestration_tests.cli.specs import COPY, TINY
from streams_orchestration_tests.fake_functions import replace_function

Capture = pytest.CaptureFixture[str]

WRONG = """
specVersion: 1
application: wrong
schemas: {Row: "k string, g int"}
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: Row}]
    parameters: {iterations: ten}                                               # SO5003
  - {name: Few, operator: Filter, inputs: [Made], parameters: {filter: h > 1}}  # SO5004
  - {name: Lost, operator: Filter, inputs: [Maid], parameters: {filter: h > 1}} # SO0102
  - {name: Own, operator: "absent:Absent", inputs: [Made]}                      # SO5002
  - {name: Kind, operator: Filtre, inputs: [Made]}                              # SO0101
  - name: Read
    operator: FileSource
    outputs: [{stream: Read, schema: Row}]
    parameters: {file: nowhere.csv}
  - name: Sum
    operator: Functor
    inputs: [Read]
    outputs: [{stream: Sum, schema: "n int"}]
    parameters: {output: {n: upper(k)}}
  - name: Out
    operator: FileSink
    inputs: [Sum]
    parameters: {format: parket}
    annotations: {consistent: {trigger: periodic}}                              # CDISP0840E
"""
CODES = {
    "Made": "SO5003", "Few": "SO5004", "Lost": "SO0102", "Own": "SO5002", "Kind": "SO0101", "Read": "SO5004",
    "Sum": "SO5004",
}  # fmt: skip
QUERY = """
specVersion: 1
application: asked
graph:
  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: "n int"}]}
  - name: Asked
    operator: Sql
    inputs: [Made]
    outputs: [{stream: Asked, schema: "n int"}]
    parameters:
      query: SELECT m AS n FROM Made
  - {name: Out, operator: FileSink, inputs: [Asked], parameters: {file: out}}
"""
PYTHON = """
import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application

app = Application("made")
made = app.stream(op.Beacon(), schema=app.schema("Row", "n int"), name="Made")
made.filter("m > 1", name="Few").sink(op.FileSink(file="out"), name="Out")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    (tmp_path / "lines.csv").write_text("x\n1\n")
    return tmp_path


def written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def document(capsys: Capture, *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["check", *arguments, "--format", "json"]) == status
    return json.loads(capsys.readouterr().out)


def found(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["operator"], each["code"]) for each in document["diagnostics"]]


def test_an_application_that_can_run_passes_and_nothing_is_written(here: Path, capsys: Capture):
    assert main(["check", written("copy.yaml", COPY)]) == 0
    assert capsys.readouterr().out == "copy.yaml: copy can run\n"
    assert not (here / "home").exists()


def test_errors_of_the_text_of_the_graph_and_of_operators_are_reported_at_once(capsys: Capture):
    answer = document(capsys, written("wrong.yaml", WRONG), status=1)
    actual = found(answer)
    assert set(actual) == set(CODES.items()) | {("Out", "SO5003"), ("Out", "CDISP0840E")}
    assert len({(each["code"], each["message"]) for each in answer["diagnostics"]}) == len(actual), "each is there once"
    assert all(each["location"].startswith("wrong.yaml:") and each["remedy"] for each in answer["diagnostics"])
    assert answer["error"] == {"kind": "application", "message": "cannot run: wrong.yaml"}


@pytest.mark.parametrize("command", ["run", "deploy", "redeploy"])
def test_commands_that_start_an_application_report_as_much(command: str, capsys: Capture):
    assert main([command, written("wrong.yaml", WRONG), "--format", "json"]) == 1
    assert set(CODES.items()) <= set(found(json.loads(capsys.readouterr().out)))


def test_compile_reports_parameters_beside_errors_of_the_graph(capsys: Capture):
    assert main(["compile", written("wrong.yaml", WRONG)]) == 1
    told = capsys.readouterr().err
    assert all(each in told for each in ("SO0102", "SO0101", "parket"))


def test_compile_says_what_it_has_not_looked_at(capsys: Capture):
    assert main(["compile", written("asked.yaml", QUERY)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "Not checked: types of expressions, required parameters and packages of standard operators; the queries of "
        "Asked. `streams check asked.yaml` does that."
    )
    assert main(["compile", written("tiny.yaml", TINY), "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_an_application_that_only_compiles_does_not_pass(capsys: Capture):
    answer = document(capsys, written("tiny.yaml", TINY), status=1)
    assert found(answer) == [("Src", "SO5001"), ("A", "SO5001"), ("Snk", "SO5001")]


def test_a_spec_in_python_is_checked_by_its_lines(capsys: Capture):
    answer = document(capsys, written("made.py", PYTHON), status=1)
    (wrong,) = answer["diagnostics"]
    assert (wrong["code"], Path(wrong["location"]).name) == ("SO5004", "made.py:7")


def test_queries_are_left_out_and_said_to_be(capsys: Capture):
    assert main(["check", written("asked.yaml", QUERY)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "asked.yaml: asked can run if Spark accepts the queries of Asked\n"
    assert captured.err == "Spark has not analysed them. `streams check asked.yaml --queries` does that.\n"
    assert document(capsys, "asked.yaml")["specs"][0]["queries"] == {"operators": ["Asked"], "analysed": False}


def test_a_refusal_by_spark_has_its_file_and_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    refusal = Diagnostic.of("SO5010", "there is no column m", operator="Asked", location="asked.yaml:11")

    def refused(_wanted: object) -> None:
        raise ApplicationError([refusal])

    replace_function(monkeypatch, api, "add_query_columns", refused)
    assert main(["check", written("asked.yaml", QUERY), "--queries"]) == 1
    assert "asked.yaml:11: Asked: error SO5010: there is no column m" in capsys.readouterr().err


def test_missing_java_is_an_error_of_the_spec_that_spark_was_to_analyse(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    def missing(_wanted: object) -> None:
        raise JavaError("none is installed")  # noqa: EM101  a reason, as where it is looked for

    replace_function(monkeypatch, api, "add_query_columns", missing)
    answer = document(capsys, written("asked.yaml", QUERY), "--queries", status=1)
    (finding,) = answer["specs"]
    assert "Spark needs Java" in finding["error"]
    assert (finding["passed"], finding["queries"]["analysed"], answer["error"]["kind"]) == (False, False, "runtime")


@pytest.mark.java
def test_spark_is_asked_and_says_where_a_query_is_wrong(capsys: Capture):
    answer = document(capsys, written("asked.yaml", QUERY), "--queries", status=1)
    (refused,) = answer["diagnostics"]
    assert (refused["code"], refused["location"], "`m`" in refused["message"]) == ("SO5010", "asked.yaml:11", True)
    assert answer["specs"][0]["queries"] == {"operators": ["Asked"], "analysed": True}


@pytest.mark.slow
def test_several_specs_are_looked_at_apart(here: Path, capsys: Capture):
    """Modules of one name in two directories would else be one."""
    specs = []
    for name, inner in (("one", "Shown"), ("two", "Hidden")):
        directory = here / name
        directory.mkdir()
        (directory / "mine.py").write_text(
            "from streams_orchestration.operators import Operator\n"
            f"class {inner}(Operator):\n    def process(self, port, batch):\n        pass\n"
        )
        specs.append(
            written(
                f"{name}/app.yaml",
                f"specVersion: 1\napplication: {name}\ngraph:\n"
                '  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: "n int"}]}\n'
                f'  - {{name: Own, operator: "mine:{inner}", inputs: [Made], outputs: []}}\n',
            )
        )
    answer = document(capsys, *specs, written("wrong.yaml", WRONG), status=1)
    actual = [(each["spec"], each["application"], each["passed"]) for each in answer["specs"]]
    assert actual == [
        ("one/app.yaml", "one", True),
        ("two/app.yaml", "two", True),
        ("wrong.yaml", "wrong", False),
    ]
    assert set(CODES.items()) <= set(found(answer))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'SPEC...'"),
        (["absent.yaml"], "'absent.yaml' does not exist"),
        (["copy.yaml", "tiny.yaml", "--set", "a=1"], "compiler options apply to a single spec"),
    ],
)
def test_a_wrong_command_line_is_exit_status_2(arguments: list[str], message: str, capsys: Capture):
    written("copy.yaml", COPY)
    written("tiny.yaml", TINY)
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_setting_is_an_error_as_it_is_of_run(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_SOURCE_LIMIT", "many")
    assert document(capsys, written("copy.yaml", COPY), status=1)["error"]["kind"] == "runtime"
