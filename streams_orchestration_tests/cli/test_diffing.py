"""`streams diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams_orchestration.cli.entry import main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.locked import deploy

SPEC = """
specVersion: 1
application: diffed
operators: {Source: {inputs: []}, Work: {}, Sink: {outputs: []}}
graph:
  - {name: Src, operator: Source}
  - {name: P, operator: Work, inputs: [Src], annotations: {parallel: {width: 2}}}
  - {name: Snk, operator: Sink, inputs: [P]}
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "diffed.yaml"
    path.write_text(SPEC)
    return str(path)


def test_a_table_names_what_restarts(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--fusion", "legacy", "--to", "P=3"]) == 0
    out = capsys.readouterr().out
    assert "2 -> 3" in out
    assert "4 PEs would restart" in out


def test_json_is_alone_on_standard_output(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--fusion", "legacy", "--to", "P=3", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["widths"] == [{"region": "P", "old": 2, "new": 3}]
    assert document["operators"]["added"] == [{"name": "P[2]", "index": 4}]
    assert document["pes"]["start"] == [4]
    assert document["refused"] is False


def test_the_option_to_beats_width(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--width", "*=5", "--to", "P=3", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["widths"] == [{"region": "P", "old": 5, "new": 3}]


def test_a_pattern_without_a_region_is_an_error(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--to", "Q=3"]) == 1
    assert "SO0207" in capsys.readouterr().err


def test_a_width_must_be_asked_for(spec: str):
    assert main(["diff", spec]) == 2


DEPLOYABLE = """
specVersion: 1
application: diffed
schemas: {Row: "k string"}
graph:
  - {name: S, operator: Beacon, outputs: [{stream: S, schema: Row}]}
  - name: P
    operator: DeDuplicate
    inputs: [S]
    parameters: {key: k}
    annotations: {parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}]}}
  - {name: Snk, operator: FileSink, inputs: [P], parameters: {file: out}}
"""


def test_diff_of_a_deployable_spec_agrees_with_the_preview_of_a_redeploy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    path = tmp_path / "diffed.yaml"
    path.write_text(DEPLOYABLE)
    deploy(Home(tmp_path / "home"), deployable(compile_spec(path)))
    assert main(["diff", str(path), "--to", "P=3"]) == 0
    difference = capsys.readouterr().out
    assert main(["diff", str(path), "--to", "P=3", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)["redeploy"]
    path.write_text(DEPLOYABLE.replace("width: 2", "width: 3"))
    assert main(["redeploy", str(path), "--dry-run"]) == 0
    preview = capsys.readouterr().out
    assert main(["redeploy", str(path), "--dry-run", "--format", "json"]) == 0
    wanted = json.loads(capsys.readouterr().out)
    actions = [(each["operator"], each["action"], each["reason"]) for each in document["operators"]]
    assert actions == [(each["operator"], each["action"], each["reason"]) for each in wanted["operators"]]
    assert {key: document[key] for key in ("units", "verdict", "from", "to")} == {
        key: wanted[key] for key in ("units", "verdict", "from", "to")
    }
    words = ("P ×3", "resharded", "divided over the channels of P, 2 to 3", "All state is kept.")
    assert all(word in " ".join(text.split()) for text in (difference, preview) for word in words)
    assert "2 -> 3" in difference
