"""The directory of a session's sockets and temporary files: private, short, and gone after its process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from streams_orchestration.runtime.engine.spark import private_directory
from streams_orchestration.runtime.engine.spark.private_directory import PREFIX, PrivateDirectory
from streams_orchestration.runtime.storage.in_use import MARK

MAKES_ONE_AND_DIES = """
import os, signal
from streams_orchestration.runtime.engine.spark.private_directory import PrivateDirectory
print(PrivateDirectory.make().path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, whose path is long, and the one that is used instead."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(private_directory, "LONGEST_PATH", 1000)
    return tmp_path


def test_only_its_user_may_look_into_it(base: Path) -> None:
    with PrivateDirectory.make() as made:
        assert made.path.parent == base
        assert made.path.stat().st_mode & 0o777 == 0o700


def test_a_private_directory_is_gone_at_the_end(base: Path) -> None:
    with PrivateDirectory.make() as made:
        (made.path / "left").touch()
    assert list(base.iterdir()) == []


@pytest.mark.slow
def test_a_directory_of_a_killed_process_is_removed_by_the_next_session() -> None:
    run = subprocess.run([sys.executable, "-c", MAKES_ONE_AND_DIES], stdout=subprocess.PIPE, text=True, check=False)
    killed = Path(run.stdout.strip())
    assert killed.name.startswith(PREFIX)
    assert killed.exists()
    with PrivateDirectory.make():
        assert not killed.exists()


def test_a_directory_that_is_in_use_stays(base: Path) -> None:
    with PrivateDirectory.make() as one, PrivateDirectory.make() as other:
        assert set(base.iterdir()) == {one.path, other.path}


def test_a_link_to_a_directory_is_not_followed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / MARK).touch()
    (base / f"{PREFIX}link").symlink_to(elsewhere)
    with PrivateDirectory.make():
        assert (elsewhere / MARK).exists()


def test_its_path_is_short_wherever_temporary_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with PrivateDirectory.make() as made:
        assert len(os.fsencode(made.path)) < 60, "the name of a socket has 42 bytes, and its path at most 103"
