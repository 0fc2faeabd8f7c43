"""`streams diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams_orchestration.cli.entry import main

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


def test_to_beats_width(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--width", "*=5", "--to", "P=3", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["widths"] == [{"region": "P", "old": 5, "new": 3}]


def test_a_pattern_without_a_region_is_an_error(spec: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", spec, "--to", "Q=3"]) == 1
    assert "SO0207" in capsys.readouterr().err


def test_a_width_must_be_asked_for(spec: str):
    assert main(["diff", spec]) == 2
