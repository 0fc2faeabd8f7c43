"""`streams init`: what it writes compiles, and its test passes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from streams_orchestration.cli.entry import main
from streams_orchestration.compiler.compiling import compile_spec


@pytest.mark.parametrize(("options", "ending"), [((), "yaml"), (("--python",), "py")])
def test_a_new_application_compiles_and_its_test_passes(
    options: tuple[str, ...], ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    place = tmp_path / "new"
    assert main(["init", f"temps_{ending}", "--directory", str(place), *options]) == 0
    assert f"streams run {place}/temps_{ending}.{ending}" in capsys.readouterr().out
    compilation = compile_spec(place / f"temps_{ending}.{ending}")
    assert [each.width for each in compilation.logical.regions] == [2]
    runpy.run_path(str(place / f"test_temps_{ending}.py"))["test_means_of_what_was_measured"]()


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "readings.csv").write_text("mine")
    assert main(["init", "temps", "--directory", str(tmp_path)]) == 2
    assert "readings.csv exists already. Choose another name" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["readings.csv"]


def test_a_file_in_place_of_the_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "temps").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "temps"]) == 2
    assert "temps is a file. Name a directory: --directory DIR." in capsys.readouterr().err


def test_a_name_is_proposed_in_place_of_one_that_cannot_be(capsys: pytest.CaptureFixture[str]):
    assert main(["init", "my-app"]) == 2
    assert "a letter first; for example my_app." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["5x", "a-b", "_x", "ä", ""])
def test_a_name_is_that_of_an_application_and_of_a_module(name: str, capsys: pytest.CaptureFixture[str]):
    assert main(["init", name]) == 2
    assert "is not a name of an application" in capsys.readouterr().err


def test_a_file_in_python_does_not_hide_a_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["init", "json", "--python", "--directory", str(tmp_path)]) == 2
    assert "json is the name of a Python module, which the file json.py would hide" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["init", "json", "--directory", str(tmp_path)]) == 0


def test_its_answer_as_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["init", "temps", "--directory", str(tmp_path), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 4
