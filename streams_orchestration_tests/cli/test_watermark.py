"""`streams watermark` on an application in event time."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import run_some

TUPLES = [(1000 * i, "a", i) for i in range(60)]


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalApplication:
    graph = [timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES), lag=1.0), sink("Out", "Rows")]
    plan = in_event_time(graph, fusion="manual", pes=1)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    return LocalApplication(Home(tmp_path / "home"), plan, source_limit=10)


def test_a_sink_is_complete_up_to_a_time_and_then_to_its_end(
    local: LocalApplication, capsys: pytest.CaptureFixture[str]
):
    assert main(["watermark", local.name, "Out"]) == 0
    assert "without a watermark" in capsys.readouterr().out
    run_some(local, 3)
    local.publish()
    assert main(["watermark", local.name, "Out", "--at-least", "1970-01-01T00:00:20"]) == 0
    assert capsys.readouterr().out == "Out is complete up to 1970-01-01 00:00:28.000 UTC\n"
    assert main(["watermark", local.name, "Out", "--at-least", "30", "--within", "0"]) == 1
    assert "28.000 UTC, and not up to 1970-01-01 00:00:30.000 UTC, after 0 s" in capsys.readouterr().err
    assert main(["status", local.name]) == 0
    assert "complete up to 1970-01-01 00:00:28.000 UTC" in " ".join(capsys.readouterr().out.split())
    local.run()
    assert main(["watermark", local.name, "Out", "--at-least", "2100-01-01T00:00:00+01:00"]) == 0
    assert "its streams have ended" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Outt"], "Outt is not a sink of app; the nearest is Out"),
        (["Out", "--at-least", "soon"], "'soon' is not a time"),
    ],
)
def test_an_unknown_sink_or_a_wrong_time_is_refused(
    local: LocalApplication, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["watermark", local.name, *arguments]) != 0
    assert message in capsys.readouterr().err
