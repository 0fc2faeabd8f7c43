from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams_orchestration.runtime.errors.errors import StateDirectoryError
from streams_orchestration.runtime.storage import home as module
from streams_orchestration.runtime.storage.home import Home


def test_the_environment_names_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "there"))
    assert Home.default().root == tmp_path / "there"


@pytest.mark.parametrize("value", [None, ""])
def test_the_state_directory_is_in_the_working_directory_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STREAMS_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("STREAMS_HOME", value)
    assert Home.default().root == tmp_path / ".streams"


def test_the_state_directory_is_made_with_all_directories_above_and_left_empty(tmp_path: Path):
    home = Home(tmp_path / "a" / "b").prepare()
    assert list(home.root.iterdir()) == []
    assert home.prepare() is home


@pytest.mark.parametrize("below", ["", "home", "a/home"])
def test_a_file_in_its_place_or_above_it_is_named_by_whatever_uses_it(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "file"
    file.touch()
    root = file / below
    monkeypatch.setenv("STREAMS_HOME", str(root))
    for use in (Home.default, Home(root).prepare):
        with pytest.raises(StateDirectoryError) as raised:
            use()
        assert str(raised.value) == (
            f"{root} cannot be the state directory: {file} is a file. "
            "Move the file away, or name a directory with STREAMS_HOME."
        )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(StateDirectoryError, match="Permission denied"):
        Home(tmp_path).prepare()


def test_a_full_disk_is_found_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    usage = SimpleNamespace(total=2**40, used=2**40, free=3 * 2**20)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(StateDirectoryError, match="only 3 MiB are free on its disk, 64 MiB are needed"):
        Home(tmp_path).prepare()


def test_a_new_state_directory_is_for_its_user_only_and_an_existing_one_keeps_its_rights(tmp_path: Path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    before = os.umask(0)
    try:
        assert Home(tmp_path / "a" / "own").prepare().root.stat().st_mode & 0o7777 == 0o700
        assert Home(shared).prepare().root.stat().st_mode & 0o7777 == 0o2770
    finally:
        os.umask(before)
