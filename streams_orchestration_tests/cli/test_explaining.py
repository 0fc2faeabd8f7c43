"""`streams explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams_orchestration.cli import explaining
from streams_orchestration.cli.entry import main
from streams_orchestration.model.diagnostics import CODES
from streams_orchestration.operators.loading.import_path import ImplementationError

SPEC = """\
specVersion: 1
application: explained
operators: {Source: {inputs: []}, Sink: {outputs: []}}
graph:
  - {name: Src, operator: Source}
  - {name: Snk, operator: Sink, inputs: [%s]}
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "explained.yaml"
    path.write_text(SPEC % "Src")
    return str(path)


def test_two_words_are_two_operators(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", spec, "Src", "Snk"]) == 0
    out = capsys.readouterr().out
    assert "Why both are in PE 0" in out
    assert "[rule 56]" in out


def test_json_is_alone_on_standard_output(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", spec, "PE", "0", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == "PE 0: 2 operators"


def test_an_unknown_name_proposes_the_nearest(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", spec, "Scr"]) == 1
    assert "the nearest is Src" in capsys.readouterr().err


def test_a_class_that_can_no_longer_be_imported_is_named_with_the_spec(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def gone(*_: object) -> None:
        message = "flights:Delays: the module cannot be imported"
        raise ImplementationError(message)

    monkeypatch.setattr(explaining, "explain", gone)
    assert main(["explain", spec, "Src"]) == 1
    assert capsys.readouterr().err == f"{spec}: flights:Delays: the module cannot be imported.\n"


def test_nothing_to_explain_is_an_error_of_the_command_line(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", spec]) == 2
    assert f"Name the part of {spec} to explain" in capsys.readouterr().err


def test_a_code_is_explained_even_when_the_application_has_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "broken.yaml"
    path.write_text(SPEC % "Scr")
    assert main(["explain", str(path), "SO0102"]) == 0
    assert f"{path}:6" in capsys.readouterr().out.replace("\n", "")
    assert main(["explain", str(path), "Src"]) == 1
    assert "SO0102" in capsys.readouterr().err


def test_an_unknown_code_is_an_error(spec: str):
    assert main(["explain", spec, "SO9999"]) == 1
    assert main(["explain", "SO9999"]) == 1


def test_a_code_alone_is_explained_without_an_application(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "so0102"]) == 0
    out = capsys.readouterr().out
    assert CODES["SO0102"].cause.partition("\n")[0][:40] in out
    assert "In this application" not in out
