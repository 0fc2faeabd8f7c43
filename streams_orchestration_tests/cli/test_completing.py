"""Completions that a shell offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from streams_orchestration.cli import main
from streams_orchestration.cli.commands import streams
from streams_orchestration.cli.shell_completion import VARIABLE
from streams_orchestration_tests.cli.specs import TINY

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a spec, in which `flights` and `copy` were deployed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMS_HOME", "home")
    for name in ("flights", "copy"):
        (tmp_path / "home" / "logs" / name).mkdir(parents=True)
        for log in ("host-0.log", "pe-2.log", "pe-10.log"):
            (tmp_path / "home" / "logs" / name / log).touch()
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "tiny.yaml").write_text(TINY)
    (tmp_path / "notes.txt").touch()
    return tmp_path


def offered(*words: str) -> list[str]:
    """Return the completions offered for the last word."""
    *before, start = words
    complete = ShellComplete(streams, {}, "streams", VARIABLE)
    return [item.value for item in complete.get_completions(before, start)]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["de"], ["decouple", "deploy"]),
        (["status", ""], ["copy", "flights"]),
        (["cancel", "fl"], ["flights"]),
        (["remove", "fl"], ["flights"]),
        (["logs", "flights", "--pe", ""], ["2", "10"]),
        (["logs", "flights", "--pe", "1"], ["10"]),
        (["run", ""], ["specs/tiny.yaml"]),
        (["run", "specs/ti"], ["specs/tiny.yaml"]),
        (["explain", "specs/tiny.yaml", "S"], ["Snk", "Src"]),
        (["explain", "specs/nothing.yaml", "S"], []),
        (["reset", "flights", "--unit", ""], []),
        (["compile", "specs/tiny.yaml", "--fusion", "l"], ["legacy"]),
    ],
)
def test_words_are_completed_with_what_fits(words: list[str], values: list[str]):
    assert offered(*words) == values


def test_a_file_in_place_of_the_state_directory_is_no_error_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_HOME", "notes.txt")
    assert offered("status", "") == []


@pytest.mark.parametrize(
    ("shell", "line"), [("bash", "complete -o"), ("zsh", "#compdef streams"), ("fish", "--command streams")]
)
def test_every_shell_has_its_script(shell: str, line: str, capsys: Capture):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert line in script
    assert VARIABLE in script


def test_another_shell_is_refused_by_name(capsys: Capture):
    assert main(["completion", "csh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
