"""FileSource with `interleave` reads files side by side in order of event time, the same at any division (EV52)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.files import interleaved_files
from streams_orchestration.operators.standard.files.interleaved_files import InterleavedFiles
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.operators.storage.port import StorageAwayError
from streams_orchestration.operators.testing import OperatorHarness, Watermark
from streams_orchestration_tests.examples import examples

ROW = "at bigint, file string, n bigint"
Rows = list[tuple[int, str, int]]
FILES = st.lists(st.lists(st.integers(0, 20), max_size=12), min_size=1, max_size=4)


def write(directory: Path, files: Sequence[Sequence[int]], first: int = 0) -> list[Rows]:
    """Write a file for each list of times, in the order of their names. Return the rows of each."""
    directory.mkdir(exist_ok=True)
    written: list[Rows] = []
    for number, times in enumerate(files, start=first):
        name = f"f{number:02}"
        rows = [(at, name, n) for n, at in enumerate(times)]
        with (directory / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("at", "file", "n"), *rows])
        written.append(rows)
    return written


def side_by_side(files: Sequence[Rows]) -> list[Any]:
    """Return the tuples and watermarks, one by one: always from the file whose greatest time is least."""
    clocks: list[int | None] = [None] * len(files)
    rest, found, reached = [list(rows) for rows in files], list[Any](), -1
    active = set(range(len(files)))
    while active:
        file = min(active, key=lambda number: (-1 if (clock := clocks[number]) is None else clock, number))
        if rest[file]:
            row = rest[file].pop(0)
            clocks[file] = max(row[0], clocks[file] or 0)
            found.append(row)
        else:
            active.remove(file)
        known = [clocks[number] for number in active]
        if known and None not in known and (least := min(each for each in known if each is not None)) > reached:
            reached = least
            found.append(least)
    return found


def source(directory: Path, **parameters: Any) -> OperatorHarness:
    given = {"file": str(directory), "interleave": True} | parameters
    return OperatorHarness(InterleavedFiles, inputs=[], outputs=[ROW], parameters=given, event_time="at")


def shown(harness: OperatorHarness) -> list[Any]:
    """Return the tuples and watermarks that were submitted."""
    return [item.value if isinstance(item, Watermark) else item for item in harness.items()]


@given(FILES, st.lists(st.integers(1, 9), min_size=1, max_size=5), st.sets(st.integers(0, 20), max_size=4))
@examples(25)
def test_the_next_tuple_is_of_the_file_whose_clock_is_least(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], limits: list[int], restarts: set[int]
):
    directory = tmp_path_factory.mktemp("files") / "in"
    wanted = side_by_side(write(directory, files))
    harness, offset, turn = source(directory), None, 0
    while True:
        produced = harness.produce(offset, limits[turn % len(limits)])
        offset, turn = produced.offset, turn + 1
        if produced.exhausted:
            break
        if turn in restarts:
            harness.restart(harness.checkpoint())
    assert shown(harness) == wanted


def read_to_end(harness: OperatorHarness, limit: int, offset: Any = None) -> list[Any]:
    """Let the source produce until it is exhausted. Return all offsets."""
    offsets: list[Any] = []
    while True:
        produced = harness.produce(offset, limit)
        offset = produced.offset
        offsets.append(offset)
        if produced.exhausted:
            return offsets


@pytest.mark.parametrize("limit", [1, 100])
def test_files_that_come_later_are_read_side_by_side_after_these(tmp_path: Path, limit: int):
    directory = tmp_path / "in"
    first = write(directory, [[1, 9], [2, 5]])
    harness = source(directory)
    offset = harness.produce(None, 1).offset
    second = write(directory, [[11, 13], [12, 14, 10]], first=2)
    read_to_end(harness, limit, offset)
    rows = [item for item in side_by_side(first) + side_by_side(second) if isinstance(item, tuple)]
    assert harness.rows() == rows
    assert [item for item in shown(harness) if isinstance(item, int)] == [1, 2, 5, 9, 11, 12, 13, 14]


def test_a_line_that_is_being_written_holds_up_the_files_behind_it(tmp_path: Path):
    directory = tmp_path / "in"
    write(directory, [[1, 2, 3], [5, 6]])
    growing = directory / "f00.csv"
    harness = source(directory)
    offset = harness.produce(None, 1).offset
    with growing.open("a") as file:
        file.write("4,f00")
    offset = harness.produce(offset, 100).offset
    assert [at for at, *_ in harness.rows()] == [1, 5, 2, 3]
    assert isinstance(harness.operator, InterleavedFiles)
    assert harness.operator.at_end() == (), "else the file would be idle, and its last tuple late"
    with growing.open("a") as file:
        file.write(",3\n")
    read_to_end(harness, 100, offset)
    assert [at for at, *_ in harness.rows()] == [1, 5, 2, 3, 4, 6]


MALFORMED = "file string, line bigint, reason string"


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("restarts", [False, True])
def test_malformed_rows_come_once(tmp_path: Path, limit: int, restarts: bool):
    directory = tmp_path / "in"
    write(directory, [[1, 4, 7], [2, 3, 9]])
    with (directory / "f00.csv").open("a") as file:
        file.write("x,f00,9\n8,f00,4\ny,f00,9\n")
    given = {"file": str(directory), "interleave": True, "parsing": "permissive"}
    harness = OperatorHarness(InterleavedFiles, inputs=[], outputs=[ROW, MALFORMED], parameters=given, event_time="at")
    offset: Any = None
    while not (produced := harness.produce(offset, limit)).exhausted:
        offset = produced.offset
        if restarts:
            harness.restart()
    assert [line for _, line, _ in harness.rows(1)] == [5, 7]
    assert [at for at, *_ in harness.rows()] == [1, 2, 4, 3, 9, 7, 8]


def test_a_run_of_what_is_there_reads_no_more(tmp_path: Path):
    directory = tmp_path / "in"
    write(directory, [[1, 9], [2, 5]])
    harness = source(directory)
    assert isinstance(harness.operator, InterleavedFiles)
    harness.operator.until = harness.operator.available({})
    write(directory, [[3]], first=2)
    with (directory / "f00.csv").open("a") as file:
        file.write("10,f00,2\n")
    last = read_to_end(harness, 3)[-1]
    assert [at for at, *_ in harness.rows()] == [1, 2, 9, 5]
    harness.operator.until = None
    read_to_end(harness, 3, last)
    assert [at for at, *_ in harness.rows()][4:] == [3]


def test_files_that_need_not_be_there_are_no_end_of_a_run(tmp_path: Path):
    harness = source(tmp_path / "none", ignoreOpenErrors=True)
    assert isinstance(harness.operator, InterleavedFiles)
    harness.operator.until = harness.operator.available({})
    assert harness.operator.until == {"sizes": {}}
    assert harness.produce({}, 3).exhausted


def test_interleaving_needs_event_time_and_no_more_files_than_can_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    directory = tmp_path / "in"
    write(directory, [[1], [2], [3]])
    given = {"file": str(directory), "interleave": True}
    with pytest.raises(ValueError, match="interleave needs event time"):
        OperatorHarness(InterleavedFiles, inputs=[], outputs=[ROW], parameters=given)
    with pytest.raises(ValueError, match="hasDelayField"):
        source(directory, hasDelayField=True, format="splCsv")
    monkeypatch.setattr(interleaved_files, "MOST_FILES", 2)
    with pytest.raises(DataError, match="3 files, and interleave reads at most 2 side by side"):
        source(directory).produce()


def test_an_outage_of_the_store_ends_with_the_first_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = tmp_path / "in"
    write(directory, [[1], [2]])
    harness = source(directory)

    def away(*_: object) -> NoReturn:
        message = "the store does not answer"
        raise StorageAwayError(message)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "files", away)
        assert not harness.produce().exhausted
    assert harness.metrics["failed_tries"] == 1
    read_to_end(harness, 10)
    assert [at for at, *_ in harness.rows()] == [1, 2]
    assert harness.metrics["failed_tries"] == 0
    assert isinstance(harness.operator, InterleavedFiles)
    assert harness.operator.pause() is None


def test_a_tuple_without_a_time_is_named(tmp_path: Path):
    directory = tmp_path / "in"
    write(directory, [[1], [2]])
    with (directory / "f00.csv").open("a") as file:
        file.write(",f00,7\n")
    with pytest.raises(DataError, match="at"):
        read_to_end(source(directory), 10)


def test_files_that_were_copied_to_another_machine_are_read_on(tmp_path: Path):
    directory = tmp_path / "in"
    files = write(directory, [[1, 9], [2, 5]])
    harness = source(directory)
    offset = InterleavedFiles.restored(harness.produce(None, 3).offset)
    for path in sorted(directory.glob("*.csv")):
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    harness.restart()
    read_to_end(harness, 3, offset)
    assert harness.rows() == [item for item in side_by_side(files) if isinstance(item, tuple)]
