"""Modules that write a page of the documentation have a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.model.pages import write_page


@pytest.mark.parametrize(("arguments", "written"), [([], "page.md"), (["other.md"], "other.md")])
def test_a_page_is_written_to_its_place_or_the_named_file(
    arguments: list[str], written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write_page(Path("page.md"), lambda path: f"text of {path}", arguments)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {written: f"text of {written}"}


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["--output", "page.md"], 2), (["a", "b"], 2)])
def test_help_and_unknown_options_write_nothing(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        write_page(Path("page.md"), lambda _: "text", arguments)
    assert ended.value.code == status
    assert not [*tmp_path.iterdir()]
