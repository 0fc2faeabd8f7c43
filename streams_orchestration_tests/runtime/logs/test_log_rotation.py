"""Logs are rotated under their writers, and readers go on where they were."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from streams_orchestration.cli.logs import here
from streams_orchestration.runtime.logs import log_rotation
from streams_orchestration.runtime.logs.log_rotation import COPIED_BYTES, collapse, rotate_log
from streams_orchestration.runtime.logs.logs import list_logs, open_operator_logger, read_log_end

BLOCK = 4096
"""A log that is shorter is cut, and not collapsed, on every file system."""


def lines(first: int, last: int) -> list[str]:
    return [f"line {number} {'.' * 80}" for number in range(first, last)]


def append(log: Path, first: int, last: int) -> None:
    with log.open("a") as file:
        file.writelines(f"{line}\n" for line in lines(first, last))


def old_files(log: Path) -> list[str]:
    return sorted(path.name for path in log.parent.iterdir() if path != log)


@pytest.fixture
def log(pytestconfig: pytest.Config) -> Iterator[Path]:
    """Yield the path of a log beside the sources: temporary files are in memory, where none can be collapsed."""
    assert pytestconfig.cache
    with TemporaryDirectory(dir=pytestconfig.cache.mkdir("logs")) as directory:
        yield Path(directory, "pe-0.log")


@pytest.fixture(params=["as here", "only cut"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system of the tests, which may be able to collapse a file, and one that cannot."""
    if request.param == "only cut":
        monkeypatch.setattr(log_rotation, "collapse", lambda *_: False)


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("count", [3, 300], ids=["small", "large"])
def test_a_follower_of_a_log_sees_every_line_once_over_rotations(log: Path, count: int):
    append(log, 0, count)
    follower = here(log.parent, ["pe-0"])
    (end,) = follower.last(1)
    seen = end.lines
    for turn in range(1, 6):
        append(log, turn * count, turn * count + 1)
        assert rotate_log(log, 100)
        append(log, turn * count + 1, (turn + 1) * count)
        (end,) = follower.more()
        seen += end.lines
    assert seen == lines(count - 1, 6 * count)
    assert len(old_files(log)) == 1
    assert list_logs(log.parent) == ["pe-0"]


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("wanted", [1, 150, 250])
def test_the_last_lines_are_those_of_both_files(log: Path, wanted: int):
    append(log, 0, 200)
    rotate_log(log, 100)
    append(log, 200, 210)
    assert read_log_end(log, wanted)[0] == lines(max(0, 210 - wanted), 210)


@pytest.mark.usefixtures("file_system")
def test_a_follower_that_is_behind_the_old_file_goes_on_with_what_is_left(log: Path):
    append(log, 0, 3)
    _, position = read_log_end(log, 0)
    for first in (3, 300, 600):
        append(log, first, first + 300)
        rotate_log(log, 100)
    seen, _ = read_log_end(log, 0, position)
    assert seen == lines(900 - len(seen), 900)
    assert 290 < len(seen) < 610


def test_a_log_is_left_alone_that_is_short_enough_or_may_have_any_length_or_is_not_there(log: Path):
    assert not rotate_log(log, 1)
    append(log, 0, 1)
    assert not rotate_log(log, 0)
    assert not rotate_log(log, 1000)
    assert old_files(log) == []


def test_a_log_is_not_rotated_while_it_is_read(log: Path):
    append(log, 0, 2)
    with log.open("rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        assert not rotate_log(log, 1)
    assert rotate_log(log, 1)


def test_a_log_that_a_person_has_emptied_is_read_from_its_start(log: Path):
    append(log, 0, 300)
    rotate_log(log, 100)
    _, position = read_log_end(log, 0)
    log.write_text("new\n")
    assert read_log_end(log, 0, position)[0] == ["new"]


@pytest.mark.usefixtures("file_system")
def test_a_full_disk_leaves_the_log_as_it_was(log: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    append(log, 0, 300)
    written = log.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space left"):
            rotate_log(log, 100)
        assert (log.read_bytes(), old_files(log)) == (written, [])
        logger = open_operator_logger("A", str(log), 100)
        logger.error("it goes on")
    assert log.read_bytes().startswith(written)
    assert read_log_end(log, 1)[0][0].endswith("ERROR it goes on")
    assert rotate_log(log, 100)


@pytest.mark.parametrize("cut", [True, False], ids=["after the cut", "before the cut"])
def test_a_process_that_dies_while_it_rotates_loses_and_doubles_nothing(log: Path, *, cut: bool):
    append(log, 0, 10)
    _, position = read_log_end(log, 0)
    append(log, 10, 20)
    text = log.read_bytes()
    log.with_name("pe-0.log.part").write_bytes(text if cut else text[:100])
    if cut:
        os.truncate(log, 0)
    append(log, 20, 22)
    rotate_log(log, 1000)
    assert read_log_end(log, 0, position)[0] == lines(10, 22)
    assert read_log_end(log, 100)[0] == lines(0, 22)
    assert old_files(log) == ([f"pe-0.log.{len(text)}"] if cut else [f"pe-0.log.{log_rotation.base_of(log)}"])


def test_the_log_of_a_pe_is_rotated_by_whoever_writes_it(log: Path):
    logger = open_operator_logger("A", str(log), 10_000)
    for number in range(300):
        logger.info("line %s", number)
        assert log.stat().st_size < 10_100
    seen = [line.rpartition(" ")[2] for line in read_log_end(log, 1000)[0]]
    assert seen == [str(number) for number in range(300 - len(seen), 300)]
    assert len(seen) > 200


def test_a_text_that_is_no_utf8_is_logged(log: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.CRITICAL, "streams.task")
    open_operator_logger("A", str(log)).error("\udcff")
    assert read_log_end(log, 1)[0][0].endswith("ERROR \\udcff")


WRITER = """
import sys
for number in range(int(sys.argv[1])):
    if number % 100 == 0:
        sys.stdin.readline()
    print("line", number, "." * 80, flush=True)
"""
"""Writes a line at a time to a log that it has inherited, and never knows of a rotation.

It writes a hundred lines for each line that it reads, so that the test is never too far behind.
"""


@pytest.mark.slow
def test_a_process_writes_all_along_while_its_log_is_rotated_and_followed(log: Path):
    log.write_bytes(bytes(3 * BLOCK))
    with log.open("r+b") as file:
        if not collapse(file.fileno(), BLOCK):
            pytest.skip("the file system of the temporary directory cannot collapse a file")
    log.write_bytes(b"")
    count, ahead = 20_000, 4
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(count)], stdin=subprocess.PIPE, stdout=output, bufsize=0
        )
    assert child.stdin is not None
    follower, seen, rotated, allowed = here(log.parent, ["pe-0"]), list[str](), 0, 0
    while len(seen) < count:
        while allowed * 100 < min(count, len(seen) + ahead * 100):
            child.stdin.write(b"\n")
            allowed += 1
        rotated += rotate_log(log, 100_000)
        for end in follower.more():
            seen += end.lines
        assert child.poll() in (None, 0)
    child.stdin.close()
    assert child.wait(60) == 0
    assert seen == lines(0, count)
    assert rotated > 10
    assert log.stat().st_size < 200_000
    assert len(old_files(log)) == 1


def test_a_large_log_is_copied_in_pieces(log: Path):
    text = os.urandom(2 * COPIED_BYTES + 12_345)
    log.write_bytes(text)
    rotate_log(log, COPIED_BYTES)
    (old,) = (path for path in log.parent.iterdir() if path != log)
    assert old.read_bytes() + log.read_bytes() == text
