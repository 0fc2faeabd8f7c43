from __future__ import annotations

import pytest

from streams_orchestration.cli.logs import Tail, follow_logs, log_files


def test_files_are_ordered_by_number(tmp_path):
    for name in ("pe-10.log", "pe-2.log", "host-0.log"):
        (tmp_path / name).touch()
    assert [path.name for path in log_files(tmp_path)] == ["host-0.log", "pe-2.log", "pe-10.log"]
    assert [path.name for path in log_files(tmp_path, 2)] == ["pe-2.log"]
    assert log_files(tmp_path, 3) == []
    assert log_files(tmp_path / "none") == []


def test_tail_gives_whole_lines_as_they_come(tmp_path):
    log = tmp_path / "pe-0.log"
    log.write_text("a\nb\nc\nhal")
    tail = Tail(log)
    assert tail.last(2) == ["b", "c"]
    with log.open("a") as file:
        file.write("f\nnext\n")
    assert tail.more() == ["half", "next"]
    assert tail.more() == []
    log.write_text("new\n")
    assert tail.more() == ["new"]
    log.unlink()
    assert tail.more() == []


def test_no_lines_may_be_asked_for(tmp_path):
    log = tmp_path / "pe-0.log"
    log.write_text("a\n")
    assert Tail(log).last(0) == []


def test_following_names_the_log_of_every_line(tmp_path, capsys):
    tails = [Tail(tmp_path / "pe-0.log"), Tail(tmp_path / "pe-1.log")]
    rounds = iter(["first", "second"])

    def pause() -> None:
        text = next(rounds, None)
        if text is None:
            raise KeyboardInterrupt
        with tails[1].path.open("a") as file:
            file.write(text + "\n")

    with pytest.raises(KeyboardInterrupt):
        follow_logs(tails, pause)
    assert capsys.readouterr().out == "pe-1 | first\npe-1 | second\n"
