"""`streams run --available-now` on Spark: runs over files that come, killed in between, lose and double nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import finish, kill_host, streams, wait_for

pytestmark = [pytest.mark.java, pytest.mark.deep, pytest.mark.usefixtures("no_host_stays")]

SPEC = """
specVersion: 1
application: taken
graph:
- name: Rows
  operator: FileSource
  outputs: [{stream: Rows, schema: "n bigint"}]
  parameters: {file: incoming}
  annotations: {consistent: {trigger: periodic, period: 0.3}}
- name: Once
  operator: DeDuplicate
  inputs: [Rows]
  outputs: [Once]
  parameters: {count: 1000000}
- {name: Out, operator: FileSink, inputs: [Once], parameters: {file: out, format: csv}}
"""


def add(directory: Path, name: str, first: int, last: int) -> None:
    (directory / name).write_text("n\n" + "".join(f"{number}\n" for number in range(first, last)))


def delivered(home: Home) -> list[int]:
    files = sorted((home.results("taken") / "out").glob("part-*"))
    return sorted(int(row["n"]) for file in files for row in csv.DictReader(file.open()))


def test_killed_in_the_middle_and_run_again_it_loses_and_doubles_nothing(tmp_path: Path):
    home, spec, incoming = Home(tmp_path / "home"), tmp_path / "taken.yaml", tmp_path / "incoming"
    spec.write_text(SPEC)
    incoming.mkdir()
    add(incoming, "1.csv", 0, 40_000)

    def under_way(status: ApplicationStatus) -> bool:
        return any(0 < pe.row.rows_in < 40_000 for pe in status.pes)

    with streams(home, "run", str(spec), "--available-now", limit=500) as run:
        kill_host(wait_for(home, under_way, "taken"))
        run.kill()
    add(incoming, "2.csv", 40_000, 50_000)
    with streams(home, "run", str(spec), "--available-now") as run:
        output = finish(run)
    assert "taken has processed the available input" in output
    assert "continuing from " in output
    assert delivered(home) == list(range(50_000))
