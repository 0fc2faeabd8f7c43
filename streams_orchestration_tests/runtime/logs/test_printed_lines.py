"""Lines that operators print are told from all others of a log."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.runtime.logs.log_rotation import rotate_log
from streams_orchestration.runtime.logs.logs import open_operator_logger, open_pe_logger
from streams_orchestration.runtime.logs.printed_lines import OperatorLines, PrintedFollower, read_printed_lines


def write(path: Path, operator: str, *lines: str) -> None:
    logger = open_operator_logger(operator, str(path))
    for line in lines:
        logger.info("%s", line, extra={"printed": True})
    logger.info("not printed")


def test_lines_since_the_last_start_are_counted_and_the_first_are_returned(tmp_path: Path):
    log = tmp_path / "pe-0.log"
    host = open_pe_logger(str(log))
    host.info("generation %d started", 1)
    write(log, "A", "of before")
    host.info("generation %d started", 2)
    write(log, "B", "x: y", "", "PRINT C: z")
    write(log, "A", "1", "2")
    assert read_printed_lines([log, tmp_path / "pe-1.log"], 2) == [
        OperatorLines("A", 2, ["1", "2"]),
        OperatorLines("B", 3, ["x: y", ""]),
    ]


def test_lines_are_said_once_as_they_come_also_when_the_log_is_rotated(tmp_path: Path):
    log, said = tmp_path / "pe-0.log", list[tuple[str, str]]()
    write(log, "A", "of before")
    follower = PrintedFollower(lambda operator, text: said.append((operator, text)))
    follower.skip_present([log])
    follower.report_new([log])
    assert said == []
    write(log, "A", *(f"{n} {'x' * 400}" for n in range(20)))
    follower.report_new([log])
    assert rotate_log(log, 4096)
    write(log, "A", "last")
    follower.report_new([log])
    assert [text.split()[0] for _, text in said] == [*map(str, range(20)), "last"]
