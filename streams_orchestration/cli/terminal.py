"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import shutil
import sys
from io import StringIO

from rich.console import Console, RenderableType

WIDTH = 110
"""Of text that goes to a file."""


def rendered(what: RenderableType, *, colour: bool, width: int | None = None) -> str:
    """As text, with colours or without, as wide as the terminal."""
    width = width or (shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH)
    text = StringIO()
    Console(file=text, force_terminal=colour, no_color=not colour, width=width, highlight=False).print(what)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def results() -> Console:
    """A console on standard output."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def messages() -> Console:
    """A console on standard error."""
    return Console(file=sys.stderr, highlight=False, width=None if sys.stderr.isatty() else WIDTH)
