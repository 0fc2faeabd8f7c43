"""`streams remove` on an application that ran, which then begins again without state."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import finish, streams

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_host_stays", "engine_of_hosts")]

SPEC = """
specVersion: 1
application: fleeting
submission:
  count: {type: int32, default: 10000000}
graph:
- name: Numbers
  operator: Beacon
  outputs: [{stream: Numbers, schema: "n bigint"}]
  parameters: {iterations: "${count}", period: 0.001, output: {n: IterationCount()}}
  annotations: {consistent: {trigger: periodic, period: 0.3}}
- {name: Out, operator: FileSink, inputs: [Numbers], parameters: {file: out, format: csv}}
"""


def test_an_application_that_is_stopped_and_removed_runs_again_from_zero(tmp_path: Path):
    home, spec = Home(tmp_path / "home"), tmp_path / "fleeting.yaml"
    spec.write_text(SPEC)
    with streams(home, "deploy", str(spec)) as deploy:
        finish(deploy)
    with streams(home, "remove", "fleeting", "--yes") as refused:
        output, _ = refused.communicate()
    assert refused.returncode == 1
    assert "streams cancel fleeting" in output
    for command in (["cancel", "fleeting"], ["remove", "fleeting", "--results", "--yes"]):
        with streams(home, *command) as process:
            output = finish(process)
    assert "fleeting is removed." in output
    assert not any((home.root / name / "fleeting").exists() for name in ("data", "logs", "artifacts", "results"))
    with streams(home, "status", "fleeting") as status:
        output, _ = status.communicate()
    assert "fleeting: no such application" in output
    with streams(home, "run", str(spec), "--set", "count=100") as run:
        finish(run)
    files = sorted((home.results("fleeting") / "out").glob("part-*"))
    assert sorted(int(row["n"]) for file in files for row in csv.DictReader(file.open())) == list(range(100))
