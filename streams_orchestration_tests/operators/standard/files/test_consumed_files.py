"""FileSource that deletes or moves its files when no cut needs them any more."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.standard.files.consumed_files import ConsumedFiles
from streams_orchestration_tests.operators.harness import Bench


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for number, name in enumerate(("a.csv", "b.csv")):
        (tmp_path / name).write_text("".join(f"{number * 10 + i}\n" for i in range(3)))
    (tmp_path / "done").mkdir()
    return tmp_path


def source(directory: Path, **parameters: Any) -> Bench:
    given: dict[str, Any] = {"file": "*.csv", "format": "splCsv", "deleteFile": True} | parameters
    return Bench(ConsumedFiles, [], ["n int NOT NULL"], directory, **given)


def left(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.csv*"))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("restarts", [False, True])
def test_files_go_when_no_cut_needs_them(directory: Path, limit: int, restarts: bool):
    bench, host = source(directory), source(directory)
    offset: Offset | None = None
    exhausted = False
    while not exhausted:
        offset, exhausted = bench.produce(offset, limit)
        current, ended = offset["file"], offset.get("ended", False)
        there = [name for name in ("a.csv", "b.csv") if name > current or (name == current and not ended)]
        confirming: Any = host.operator
        confirming.confirm(offset)
        assert left(directory) == there
        if restarts:
            bench.restart()
    assert left(directory) == []
    assert bench.restart().produce(offset).exhausted


def test_a_replay_from_a_cut_finds_its_file(directory: Path):
    bench: Bench = source(directory, file="a.csv")
    first = bench.produce(None, 2).offset
    confirming: Any = bench.operator
    confirming.confirm(first)
    replay = source(directory, file="a.csv")
    end = replay.produce(first).offset
    assert replay.rows() == [(2,)]
    confirming.confirm(end)
    assert left(directory) == ["b.csv"]
    again = Bench(ConsumedFiles, [], ["n int NOT NULL"], directory.parent, file=f"{directory.name}/b.csv",
                  format="splCsv", deleteFile=True)  # fmt: skip
    assert again.produce().exhausted


@pytest.mark.parametrize("restarts", [False, True])
def test_a_file_that_was_not_read_or_has_changed_stays(directory: Path, restarts: bool):
    bench = source(directory)
    offset = bench.produce(None, 4).offset
    (directory / "0.csv").write_text("7\n")  # its path is before those that were read, so it is not read
    (directory / "a.csv").write_text("8\n")
    if restarts:
        bench.restart()
    offset = bench.produce(offset, 100).offset
    removing: Any = bench.operator
    removing.confirm(offset)
    assert left(directory) == ["0.csv", "a.csv"]


def test_a_file_with_lines_that_were_not_read_stays(directory: Path):
    bench = source(directory, file="a.csv")
    removing: Any = bench.operator
    removing.until = {"file": "a.csv", "size": (directory / "a.csv").stat().st_size}  # as with --available-now
    with (directory / "a.csv").open("a") as file:
        file.write("3\n")
    offset = bench.produce().offset
    assert bench.rows() == [(0,), (1,), (2,)]
    removing.confirm(offset)
    assert left(directory) == ["a.csv", "b.csv"]


def test_a_file_of_another_owner_is_moved(directory: Path, monkeypatch: pytest.MonkeyPatch):
    """Only the owner of a file may set its times, and a second name of it has them anyway."""

    def refuse(path: str | Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    bench = source(directory, deleteFile=False, moveFileToDirectory="done")
    offset = bench.produce().offset
    monkeypatch.setattr(os, "utime", refuse)
    moving: Any = bench.operator
    moving.confirm(offset)
    assert left(directory / "done") == ["a.csv", "b.csv"]


def test_a_symbolic_link_is_moved_itself(directory: Path):
    """Its target stays, even if the link no longer leads there from the other directory."""
    (directory / "own").mkdir()
    (directory / "a.csv").rename(directory / "own" / "a.csv")
    (directory / "a.csv").symlink_to("own/a.csv")
    bench = source(directory, deleteFile=False, moveFileToDirectory="done")
    moving: Any = bench.operator
    moving.confirm(bench.produce().offset)
    assert (directory / "done" / "a.csv").is_symlink()
    assert left(directory / "done") == ["a.csv", "b.csv"]
    assert (directory / "own" / "a.csv").exists()


def test_a_moved_file_takes_no_name_of_another(directory: Path):
    (directory / "done" / "a.csv").write_text("former")
    bench = source(directory, deleteFile=False, moveFileToDirectory="done")
    moving: Any = bench.operator
    moving.confirm(bench.produce().offset)
    assert left(directory) == []
    assert left(directory / "done") == ["a.csv", "a.csv.1", "b.csv"]
    assert (directory / "done" / "a.csv").read_text() == "former"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"moveFileToDirectory": "done"}, "use only one of hotFile, deleteFile and moveFileToDirectory"),
        ({"hotFile": True}, "use only one of hotFile, deleteFile and moveFileToDirectory"),
        (
            {"deleteFile": False, "moveFileToDirectory": "none"},
            "moveFileToDirectory: .*none: this directory does not exist",
        ),
        ({"file": "s3://bucket/a.csv"}, "are for local files"),
        ({"file": "no.csv"}, "no such file"),
    ],
)
def test_files_that_cannot_be_removed_are_refused(directory: Path, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        source(directory, **parameters)
