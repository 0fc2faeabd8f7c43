"""Reads the lines that print functions of SPL have written, from the logs of PEs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from streams_orchestration.runtime.logs.log_rotation import open_log

PIECE = 1 << 20
"""The number of bytes of a log that are read at a time."""
_TIME = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "
_LINE = re.compile(
    _TIME + rb"(?:PRINT (?P<operator>\S+): (?P<text>.*)|(?P<start>INFO generation \d+ started))", re.DOTALL
)


@dataclass
class OperatorLines:
    """The lines that one operator has printed.

    Attributes:
        operator: its name.
        total: the number of its lines.
        lines: the first of them.
    """

    operator: str
    total: int = 0
    lines: list[str] = field(default_factory=list[str])


def read_printed_lines(logs: Iterable[Path], limit: int) -> list[OperatorLines]:
    """Return the lines that each operator has printed since the last start of its PE, ordered by operator.

    Operators without lines are left out. Lines that the rotation of a log has removed are not counted. At most `limit`
    lines of each operator are returned.
    """
    found: dict[str, OperatorLines] = {}
    for log in logs:
        here: dict[str, OperatorLines] = {}
        for operator, text in _entries(PrintedReader(log).lines()):
            if operator is None:
                here.clear()
                continue
            printed = here.setdefault(operator, OperatorLines(operator))
            printed.total += 1
            if len(printed.lines) < limit:
                printed.lines.append(text)
        found |= here
    return [found[operator] for operator in sorted(found)]


@dataclass
class PrintedReader:
    """A reader of a growing log, which continues at its last position.

    Attributes:
        path: the path of the log.
        position: the position up to which the log was read.
    """

    path: Path
    position: int = 0

    def skip(self) -> None:
        """Go to the end of the log."""
        for _ in self.lines():
            pass

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that were written since the last call; none if the log cannot be read.

        If the position is no longer in the log, reading continues at the log's first byte. Of a line longer than
        `PIECE`, each piece is a line.
        """
        try:
            with open_log(self.path) as log:
                if not log.begin <= self.position <= log.end:
                    self.position = log.begin
                while data := log.read(self.position, PIECE):
                    end = data.rfind(b"\n") + 1 or (len(data) if len(data) == PIECE else 0)
                    if not end:
                        return
                    self.position += end
                    yield from data[:end].removesuffix(b"\n").split(b"\n")
        except OSError:
            return

    def printed(self) -> list[tuple[str, str]]:
        """Return operator and text of each line that was printed since the last call."""
        return [(operator, text) for operator, text in _entries(self.lines()) if operator is not None]


@dataclass
class PrintedFollower:
    """Reports the lines that operators print as their logs grow.

    Attributes:
        say: takes operator and text of each line.
    """

    say: Callable[[str, str], None]
    _readers: dict[Path, PrintedReader] = field(default_factory=dict[Path, PrintedReader])

    def skip_present(self, logs: Iterable[Path]) -> None:
        """Skip the lines that the logs hold already."""
        for log in logs:
            self._readers.setdefault(log, PrintedReader(log)).skip()

    def report_new(self, logs: Iterable[Path]) -> None:
        """Report the lines that were printed since the last call; of a log that was not known, all its lines."""
        for log in logs:
            for operator, text in self._readers.setdefault(log, PrintedReader(log)).printed():
                self.say(operator, text)


def _entries(lines: Iterable[bytes]) -> Iterator[tuple[str | None, str]]:
    """Yield operator and text of lines that were printed, and None for a start of the PE; skip all other lines."""
    for line in lines:
        if (match := _LINE.fullmatch(line)) is not None:
            if match["start"] is not None:
                yield None, ""
            else:
                yield match["operator"].decode(), match["text"].decode("utf-8", "replace")
