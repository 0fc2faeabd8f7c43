"""`streams route` on an application whose sink meets a tuple that its target never takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.targets import Target, target_of

COUNT = 20


@pytest.fixture
def held(tmp_path: Path, target: Target) -> LocalApplication:
    target.run("CREATE TABLE totals (k TEXT, n BIGINT CHECK (n <> 8))")
    graph = [
        source("Rows", write_rows(tmp_path / "rows.parquet", COUNT)),
        {
            "name": "Out",
            "operator": "SqlSink",
            "inputs": ["Rows"],
            "parameters": {"url": target.url, "table": "totals"},
        },
        {"name": "Files", "operator": "FileSink", "inputs": ["Rows"], "parameters": {"file": "files"}},
    ]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 10)
    local.commit(boundary=True)
    return local


@pytest.fixture
def target(tmp_path: Path, request: pytest.FixtureRequest):
    with target_of("sqlite", tmp_path, request) as made:
        yield made


def test_an_epoch_that_is_held_up_by_a_tuple_goes_on_without_it(
    held: LocalApplication, target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(held.home.root))
    with pytest.raises(OutputError, match="onUndeliverable"):
        held.publish()
    assert main(["route", held.name, "Out"]) == 0
    assert "undeliverable, up to epoch 1; the others are delivered" in capsys.readouterr().out
    held.run()
    assert len(target.rows()) == COUNT - 1
    assert [sink.undeliverable for sink in read_status(held.catalog, held.name).sinks] == [0, 1]
    assert main(["status", held.name]) == 0
    assert "1 row undeliverable" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [("Outt", "Outt of app is not a sink; the nearest is Out"), ("Files", "which take every tuple")],
)
def test_an_unknown_sink_or_one_that_takes_every_tuple_is_refused(
    held: LocalApplication, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, message: str
):
    monkeypatch.setenv("STREAMS_HOME", str(held.home.root))
    assert main(["route", held.name, name]) == 1
    assert message in capsys.readouterr().err
