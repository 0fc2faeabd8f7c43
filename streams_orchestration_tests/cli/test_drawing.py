from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli import dagster_ui, main
from streams_orchestration_tests.cli.specs import TINY

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return str(path)


def test_graph_is_text_on_a_terminal_and_svg_in_an_svg_file(tiny: str, tmp_path: Path, capsys: Capture):
    assert main(["graph", tiny]) == 0
    assert "A[1]" in capsys.readouterr().out
    file = tmp_path / "tiny.svg"
    assert main(["graph", tiny, "--output", str(file)]) == 0
    assert file.read_text().startswith("<svg")
    assert main(["graph", tiny, "--output", str(file), "--format", "text"]) == 0
    assert file.read_text().startswith("tiny: 4 operators")


def test_no_picture_of_another_kind_is_promised(tiny: str, tmp_path: Path, capsys: Capture):
    assert main(["graph", tiny, "--output", str(tmp_path / "tiny.png")]) == 2
    assert "tiny.png: a picture is SVG or HTML. Name a file that ends in .svg or .html" in capsys.readouterr().err
    assert not (tmp_path / "tiny.png").exists()


def test_lineage_of_the_spec_and_of_a_name(tiny: str, capsys: Capture):
    assert main(["lineage", tiny]) == 0
    assert "sinks/Snk" in capsys.readouterr().out
    assert main(["lineage", tiny, "Snk"]) == 0
    assert "sources/Src" in capsys.readouterr().out
    assert main(["lineage", tiny, "Snkk"]) == 1
    assert "Did you mean" in capsys.readouterr().err


def test_ui_is_served_for_a_directory_of_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    served: list[object] = []
    monkeypatch.setattr(dagster_ui, "serve", lambda *arguments: served.append(arguments) or 0)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    assert main(["ui", "--port", "3100", "--specs", str(tmp_path)]) == 0
    assert [arguments[1:] for arguments in served] == [(3100, tmp_path, ())]  # pyright: ignore[reportIndexIssue]
    assert main(["ui", "--specs", str(tmp_path / "none")]) == 2
    assert "--specs" in capsys.readouterr().err
    hosts = ("ui.example.org", "[::1]:8443")
    assert main(["ui", "--specs", str(tmp_path), "--allow-host", hosts[0], "--allow-host", hosts[1]]) == 0
    assert served[-1][3] == hosts  # pyright: ignore[reportIndexIssue]
    assert main(["ui", "--specs", str(tmp_path), "--allow-host", "https://ui.example.org"]) == 2
    assert "is not a HOST[:PORT]" in capsys.readouterr().err
