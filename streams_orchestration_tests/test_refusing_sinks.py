"""`streams run` with a sink whose target refuses for good: it says so once and ends; once mended, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import TIMEOUT_SECONDS, streams
from streams_orchestration_tests.targets import target_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_host_stays", "engine_of_hosts")]
SPEC = """
specVersion: 1
application: refused
graph:
- name: Rows
  operator: FileSource
  outputs: [{{stream: Rows, schema: "k string, n bigint"}}]
  parameters: {{file: rows.jsonl, format: jsonl}}
  annotations: {{consistent: {{trigger: periodic, period: 0.3}}}}
- name: Out
  operator: SqlSink
  inputs: [Rows]
  parameters: {{url: "{url}", table: totals}}
"""
COUNT = 20
REFUSED = 7
"""The number that the table takes only once its rule is gone."""


def run(tmp_path: Path, url: str) -> tuple[int, str]:
    spec = tmp_path / "refused.yaml"
    spec.write_text(SPEC.format(url=url))
    with streams(Home(tmp_path / "home"), "run", str(spec)) as process:
        output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, output


def test_a_run_continues_to_its_end_after_a_refusal_is_mended(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    """The address comes from a variable; `operators/test_references.py` has one that is not set."""
    lines = (f'{{"k": "y", "n": {number}}}\n' for number in range(COUNT))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    url = "${env:TEST_TARGET}"
    with target_of("postgresql", tmp_path, request) as target:
        target.run(f"CREATE TABLE totals (k TEXT, n BIGINT, CONSTRAINT rule CHECK (n <> {REFUSED}))")
        monkeypatch.setenv("TEST_TARGET", target.url)
        status, output = run(tmp_path, url)
        assert status != 0
        assert f"Out: table totals, row {REFUSED + 1} of epoch" in output
        assert "onUndeliverable: route sets such tuples aside" in output
        assert "Fix the cause, and run it again; it continues from its last commit" in output
        target.run("ALTER TABLE totals DROP CONSTRAINT rule")
        status, output = run(tmp_path, url)
        assert status == 0, output
        assert sorted(n for _, n in target.rows()) == list(range(COUNT))
