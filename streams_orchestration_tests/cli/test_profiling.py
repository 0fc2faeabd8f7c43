"""`streams profile`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.entry import main
from streams_orchestration.cli.profiling import comparison_table, profile_table
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.compiler.decoupling.outcome import Outcome, PeOutcome
from streams_orchestration.model.profile import (
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
    Unmeasured,
)
from streams_orchestration.model.profile_document import read_profile
from streams_orchestration.runtime import api
from streams_orchestration.runtime.observing.profiles.measuring import Measurement
from streams_orchestration_tests.fake_functions import replace_function

FOUND = Profile(
    "demo",
    10.0,
    (StreamProfile("S", 1000.0, 0, 8000.0), StreamProfile("A", 500.0, 0, 8000.0)),
    (OperatorProfile("S", 1.0), OperatorProfile("A", 4.0, (1000.0,))),
    Transport("calibrated", PassageCost(1e-8, 2e-9), PassageCost(2e-9, 0.0)),
    (PeProfile(0, 5.5, 0.5, 9.9),),
    (Unmeasured("Late", "it was not called in that time"),),
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, float]]:
    """Return the list of measurements that were requested; the answer is `FOUND`."""
    calls: list[tuple[str, float]] = []

    def measure(_catalog: Any, application: str, seconds: float, _pause: Any, _say: Any) -> Measurement:
        calls.append((application, seconds))
        return Measurement(FOUND, ("it was ended early",))

    replace_function(monkeypatch, api, "measure_application", measure)
    replace_function(monkeypatch, api, "open_catalog", lambda home, _: api.Catalog(home))
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    return calls


def test_a_table_names_the_hottest_first(asked: list[Any], capsys: pytest.CaptureFixture[str]):
    assert main(["profile", "demo", "--seconds", "10"]) == 0
    captured = capsys.readouterr()
    rows = [line.split() for line in captured.out.splitlines()]
    assert rows[1] == ["A", "40.0%", "100", "50", "16"]
    assert rows[2] == ["S", "10.0%", "-", "100", "8"]
    assert ["0", "55.0%", "5.0%", "99.0%"] in rows
    assert "since nothing crossed" in captured.out
    assert "demo: it was ended early." in captured.err
    assert "not measured: Late: it was not called in that time." in captured.err
    assert asked == [("demo", 10.0)]


@pytest.mark.parametrize("options", [[], ["--format", "yaml"], ["--format", "json"]])
def test_a_file_takes_the_profile(
    options: list[str], asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["profile", "demo", *options, "--output", str(tmp_path / "profile.yaml")]) == 0
    assert capsys.readouterr().out == ""
    assert read_profile(tmp_path / "profile.yaml") == FOUND


def test_json_is_alone_on_standard_output(asked: list[Any], capsys: pytest.CaptureFixture[str]):
    assert main(["profile", "demo", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"][1] == {
        "operator": "A",
        "cpuSeconds": 4.0,
        "inputs": [1000.0],
    }


def test_an_application_that_is_not_deployed_cannot_be_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    assert main(["profile", "demo"]) == 1
    assert "demo: no such application" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "status", "message"),
    [
        (
            "{decouplingVersion: 1, application: demo, fingerprint: x, machines: {}}",
            2,
            "has no prediction",
        ),
        ("{decouplingVersion: 1, application: demo}", 1, "fingerprint"),
    ],
)
def test_a_decision_that_cannot_be_compared_is_refused_before_measuring(
    document: str, status: int, message: str, asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "decision.yaml").write_text(document)
    assert main(["profile", "demo", "--compare", str(tmp_path / "decision.yaml")]) == status
    assert message in capsys.readouterr().err
    assert not asked, "that is told before it is measured"


def test_a_comparison_has_both_figures():
    outcome = Outcome(100.0, 200.0, 380.0, 150.0, 300.0, (PeOutcome(0, 40.0, 50.0, 99.0),))
    text = rendered(comparison_table(outcome), colour=False)
    assert ["0", "40.0", "%", "50.0", "%", "99.0", "%"] in [line.split() for line in text.splitlines()]
    assert "predicted 1.90, measured 1.50 (27% off)" in text
    assert "150 tuples/s now, 100 when it was decided (1.50 times)" in text


def test_many_operators_are_cut_short():
    many = tuple(OperatorProfile(f"O{number}", 1.0) for number in range(20))
    assert "8 more operators with lower costs" in rendered(profile_table(Profile("demo", 1.0, (), many)), colour=False)
