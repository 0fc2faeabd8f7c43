"""`streams logs` on one machine, and its reading of files that grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli.logs import follow_logs, here
from streams_orchestration.runtime.logs.logs import list_logs, read_log_end, read_log_ends


def test_logs_are_ordered_by_number(tmp_path: Path):
    for name in ("pe-10.log", "pe-2.log", "host-0.log"):
        (tmp_path / name).touch()
    assert list_logs(tmp_path) == ["host-0", "pe-2", "pe-10"]
    assert list_logs(tmp_path / "none") == []


def test_whole_lines_are_read_as_they_come(tmp_path: Path):
    log = tmp_path / "pe-0.log"
    log.write_text("a\nb\nc\nhal")
    logs = here(tmp_path, ["pe-0"])
    assert [end.lines for end in logs.last(2)] == [["b", "c"]]
    with log.open("a") as file:
        file.write("f\nnext\n")
    assert [end.lines for end in logs.more()] == [["half", "next"]]
    assert [end.lines for end in logs.more()] == [[]]
    log.write_text("new\n")
    assert [end.lines for end in logs.more()] == [["new"]]
    log.unlink()
    assert logs.more() == []


def test_no_lines_may_be_asked_for(tmp_path: Path):
    (tmp_path / "pe-0.log").write_text("a\n")
    assert [end.lines for end in here(tmp_path, ["pe-0"]).last(0)] == [[]]


@pytest.mark.parametrize(("text", "most", "lines", "position"), [
    (b"", 10, [], 0),
    (b"half", 10, [], 0),
    (b"one\ntwo\n", 10, ["one", "two"], 8),
    (b"one\ntwo\n", 6, ["two"], 8),
    (b"one\n\n\n", 10, ["one", "", ""], 6),
    (b"a very long line", 4, ["line"], 16),
    (b"one\n\xff\n", 10, ["one", "\ufffd"], 6),
])  # fmt: skip
def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, text: bytes, most: int, lines: list[str], position: int):
    log = tmp_path / "pe-0.log"
    log.write_bytes(text)
    assert read_log_end(log, 100, most=most) == (lines, position)


def test_a_log_that_grows_faster_than_it_is_read_loses_the_middle(tmp_path: Path):
    log = tmp_path / "pe-0.log"
    log.write_text("one\n")
    _, position = read_log_end(log, 10)
    log.write_text("one\n" + "".join(f"line {number}\n" for number in range(100)))
    lines, position = read_log_end(log, 0, position, most=20)
    assert lines == ["line 98", "line 99"]
    assert read_log_end(log, 0, position) == ([], log.stat().st_size)


@pytest.mark.parametrize("name", ["../pe-0", "/etc/passwd", "pe-0.log", "pe-", "catalog"])
def test_nothing_but_logs_is_read(tmp_path: Path, name: str):
    (tmp_path / "pe-0.log").write_text("a\n")
    (tmp_path / "catalog.log").write_text("a\n")
    assert read_log_ends(tmp_path / "x", [name], 10, {}) == read_log_ends(tmp_path, [name], 10, {}) == []


def test_following_names_the_log_of_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rounds = iter(["first", "second"])

    def pause() -> None:
        text = next(rounds, None)
        if text is None:
            raise KeyboardInterrupt
        with (tmp_path / "pe-1.log").open("a") as file:
            file.write(text + "\n")

    with pytest.raises(KeyboardInterrupt):
        follow_logs([here(tmp_path, ["pe-0", "pe-1"])], pause)
    assert capsys.readouterr().out == "pe-1 | first\npe-1 | second\n"
