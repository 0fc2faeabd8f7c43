"""The error of a compiled application that cannot be read."""

from __future__ import annotations


class AdlError(Exception):
    """An ADL file or a bundle cannot be read. `line` is the line of the ADL, or 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line
