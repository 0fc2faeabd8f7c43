"""Places in specs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the spec."""

    file: str
    line: int
    column: int = 0
    """The character in the line, counted from 1; 0 where only the line is known."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
