"""Places in specs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the spec."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
