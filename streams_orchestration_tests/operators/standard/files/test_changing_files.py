"""A file that FileSource goes on in is the one that it read: what was replaced is named, what has grown is read on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Offset, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.operators.harness import Bench

HEAD = "n,s\n"


def text(first: int, last: int, word: str = "text") -> str:
    return "".join(f"{n},{word}\n" for n in range(first, last))


def rows(first: int, last: int, word: str = "text") -> list[tuple[int, str]]:
    return [(n, word) for n in range(first, last)]


def source(place: Path, **parameters: Any) -> Bench:
    return Bench(FileSource, outputs=["n int, s string"], file=str(place), **parameters)


def read(place: Path, offset: Offset | None = None, limit: int = 1000) -> tuple[list[Any], Offset, bool]:
    """Return the rows that a new source reads from an offset on, with the next offset and whether it is exhausted."""
    bench = source(place)
    offset, exhausted = bench.produce(offset, limit)
    return bench.rows(), offset, exhausted


def available(place: Path, offset: Offset, limit: int = 1000) -> tuple[list[Any], Offset]:
    """Return the rows that a run reads if it takes only the present input."""
    bench = source(place)
    bench.operator.until = bench.operator.available(offset)  # type: ignore[attr-defined]
    exhausted = False
    while not exhausted:
        offset, exhausted = bench.produce(offset, limit)
    return bench.rows(), offset


def replaced(path: Path) -> None:
    other = path.with_name(".other")
    other.write_text(HEAD + text(0, 200, "new!"))
    other.rename(path)


def rewritten(path: Path) -> None:
    path.write_text(HEAD + text(0, 200, "new!"))


def rewritten_in_as_many_bytes(path: Path) -> None:
    path.write_text(path.read_text().replace("text", "new!"))
    os.utime(path, ns=(0, 0))


def cut(path: Path) -> None:
    os.truncate(path, 100)


@pytest.mark.parametrize("limit", [30, 1000], ids=["in the middle", "at its end"])
@pytest.mark.parametrize("change", [replaced, rewritten, rewritten_in_as_many_bytes, cut])
def test_a_file_that_was_replaced_is_named_and_not_mixed_in(tmp_path: Path, change: Callable[[Path], None], limit: int):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 100))
    _, offset, _ = read(path, limit=limit)
    change(path)
    with pytest.raises(DataError, match=rf"{path}: \d+ rows were read.*restore the former file.*--fresh"):
        read(path, offset)


def test_a_copy_with_its_time_is_the_same_file(tmp_path: Path):
    path, other = tmp_path / "rows.csv", tmp_path / "other.csv"
    path.write_text(HEAD + text(0, 100))
    _, offset, _ = read(path, limit=30)
    shutil.copy2(path, other)
    other.rename(path)
    assert read(path, offset)[0] == rows(30, 100)


def test_from_a_savepoint_a_copy_stands_for_the_file_and_another_one_is_named(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 100))
    offset = FileSource.restored(read(path, limit=30)[1])
    path.unlink()
    path.write_text(HEAD + text(0, 100))
    assert read(path, offset)[0] == rows(30, 100)
    rewritten(path)
    with pytest.raises(DataError, match=r"30 rows were read when it had 794 bytes"):
        read(path, offset)


def test_a_file_of_which_no_row_was_read_may_be_replaced(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD)
    _, offset, _ = read(path)
    replaced(path)
    assert read(path, offset)[0] == rows(0, 200, "new!")


@pytest.mark.parametrize("limit", [30, 100, 1000])
def test_a_file_that_has_grown_is_read_on(tmp_path: Path, limit: int):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 100))
    came, offset, _ = read(path, limit=limit)
    with path.open("a") as file:
        file.write(text(100, 150))
    more, offset, exhausted = read(path, offset)
    assert (came + more, exhausted) == (rows(0, 150), True)
    assert read(path, offset)[0] == []


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 100))
    bench = source(path)
    offset, _ = bench.produce(limit=50)
    with path.open("a") as file:
        file.write(text(100, 150))
    assert bench.produce(offset).exhausted
    assert bench.rows() == rows(0, 150)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_hot_file_is_waited_for(tmp_path: Path, restarts: bool):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD)
    bench, offset = source(path, hotFile=True), None
    for number, (more, count) in enumerate([("0,te", 0), ("xt\n", 1), (text(1, 60), 60), ("60,t", 60), ("ext\n", 61)]):
        with path.open("a") as file:
            file.write(more)
        for _ in range(3):
            reached = bench.produce(offset, limit=25)
            offset = reached.offset
            assert not reached.exhausted
        assert bench.rows() == rows(0, count), number
        if restarts:
            bench.restart()
    assert Punctuation.WINDOW not in bench.items()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"format": "parquet"}, "hotFile is for one uncompressed file of lines"),
        ({"interleave": True}, "hotFile is for one uncompressed file of lines"),
        ({"file": "."}, "hotFile: . is not a local file"),
        ({"file": "*.csv"}, "hotFile: .*csv is not a local file"),
    ],
)
def test_a_hot_file_is_one_file_that_can_grow(tmp_path: Path, parameters: dict[str, Any], message: str):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD)
    given: dict[str, Any] = {"file": path.name, "hotFile": True} | parameters
    with pytest.raises(ValueError, match=message):
        Bench(FileSource, outputs=["n int, s string"], base=tmp_path, **given)


def test_a_line_that_is_being_written_is_read_when_it_is_complete(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 3) + "3,te")
    bench = source(path)
    offset, _ = bench.produce(limit=2)
    with path.open("a") as file:
        file.write("x")
    offset, exhausted = bench.produce(offset)
    assert (bench.rows(), exhausted) == (rows(0, 3), False)
    with path.open("a") as file:
        file.write("t\n")
    assert bench.produce(offset).exhausted
    assert bench.rows() == rows(0, 4)


def test_the_last_line_of_a_file_that_stands_still_needs_no_end(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 3).removesuffix("\n"))
    came, offset, _ = read(path)
    assert (came, available(path, {"row": 0})[0]) == (rows(0, 3), rows(0, 3))
    with path.open("a") as file:
        file.write("\n3,text\n")
    assert read(path, offset)[0] == rows(3, 4)


def test_a_last_line_that_was_read_before_it_was_complete_is_named(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + text(0, 3).removesuffix("xt\n"))
    _, offset, _ = read(path)
    with path.open("a") as file:
        file.write("xt\n3,text\n")
    with pytest.raises(DataError, match=r"rows.csv.*its last line was read before it was complete"):
        read(path, offset)


@pytest.mark.parametrize("limit", [7, 1000])
def test_a_run_of_what_is_there_ends_while_more_comes_and_the_next_one_takes_that(tmp_path: Path, limit: int):
    for name, first in (("a.csv", 0), ("b.csv", 10)):
        (tmp_path / name).write_text(HEAD + text(first, first + 10))
    bench = source(tmp_path)
    bench.operator.until = bench.operator.available({"row": 0})  # type: ignore[attr-defined]
    offset, exhausted, calls = {"row": 0}, False, 0
    while not exhausted:
        calls += 1
        with (tmp_path / "b.csv").open("a") as file:
            file.write(text(20, 25))
        (tmp_path / "c.csv").write_text(HEAD + text(99, 100))
        offset, exhausted = bench.produce(offset, limit)
    assert bench.rows() == rows(0, 20)
    more, offset = available(tmp_path, offset)
    assert more == [*rows(20, 25) * calls, *rows(99, 100)]
    assert available(tmp_path, offset)[0] == []


def test_a_file_of_a_directory_may_go_once_it_was_read(tmp_path: Path):
    for name, first in (("a.csv", 0), ("b.csv", 10)):
        (tmp_path / name).write_text(HEAD + text(first, first + 10))
    _, offset, _ = read(tmp_path)
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.csv").rename(tmp_path / ".done")
    (tmp_path / "c.csv").write_text(HEAD + text(20, 30))
    assert read(tmp_path, offset)[0] == rows(20, 30)
