"""Temporary files of tests are in memory only where that holds them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from streams_orchestration_tests.temporary_files import is_suitable, use_memory


def test_a_directory_is_suitable_if_it_is_there_and_has_room(tmp_path: Path):
    assert is_suitable(tmp_path, 1)
    assert not is_suitable(tmp_path, 2**80)
    assert not is_suitable(tmp_path / "missing", 1)


def test_a_place_that_the_environment_names_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = tempfile.tempdir
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    use_memory()
    assert (os.environ["TMPDIR"], tempfile.tempdir) == (str(tmp_path), before)
