"""Names of directories that are on disk are known to all threads; a failure to write is the error that is raised."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any

import pytest

from streams_orchestration.operators.storage import durable_files


class Met(PosixPath):
    """A directory beside which another thread makes one while it is checked."""

    def is_relative_to(self, *other: Any) -> bool:
        durable_files.flushed_names.add(Path(f"{self}-new"))
        return super().is_relative_to(*other)


def test_names_are_forgotten_while_another_thread_makes_directories(monkeypatch: pytest.MonkeyPatch):
    named = {Met("/results/a"), Met("/results/b"), Met("/other")}
    monkeypatch.setattr(durable_files, "flushed_names", named)
    durable_files.forget_names(Path("/results"))
    assert {str(each) for each in named} == {"/other", "/results/a-new", "/results/b-new", "/other-new"}


def test_a_name_that_could_not_be_flushed_is_flushed_by_the_next_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failing, flushed = [tmp_path], list[Path]()

    def sync(directory: Path) -> None:
        if directory in failing:
            failing.remove(directory)
            raise OSError(errno.EIO, "the storage was away for a moment", str(directory))
        flushed.append(directory)

    monkeypatch.setattr(durable_files, "sync_directory", sync)
    with pytest.raises(OSError, match="for a moment"):
        durable_files.make_directory(tmp_path / "results" / "app")
    flushed.clear()
    durable_files.make_directory(tmp_path / "results" / "app")
    assert flushed[:2] == [tmp_path / "results", tmp_path]
    flushed.clear()
    durable_files.make_directory(tmp_path / "results" / "app")
    assert flushed == [], "once in a process"


WRITERS: dict[str, Callable[[Path], object]] = {
    "durably": lambda path: durable_files.write_durably(path, b"a"),
    "whole": lambda path: durable_files.write_whole(path, "a"),
    "copied": lambda path: durable_files.link_or_copy(path.with_name("source"), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_error_of_a_file_that_cannot_be_removed_either_is_the_first_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    def fail(number: int, reason: str) -> Callable[..., None]:
        def failing(*_: object, **flushed_names: object) -> None:
            raise OSError(number, reason)

        return failing

    (tmp_path / "source").write_bytes(b"a")
    monkeypatch.setattr(os, "fsync", fail(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(os, "link", fail(errno.EXDEV, "Invalid cross-device link"))
    monkeypatch.setattr(Path, "unlink", fail(errno.EROFS, "Read-only file system"))
    with pytest.raises(OSError, match="No space left on device"):
        WRITERS[name](tmp_path / "target")
