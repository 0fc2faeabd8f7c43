"""Text and tables for a terminal: results on standard output, everything else on standard error."""

from __future__ import annotations

import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType

from streams_orchestration.cli.invocation import Verbosity, current, write_output
from streams_orchestration.cli.messages import plain

WIDTH = 110
"""Width of text that goes to a file."""


def rendered(what: RenderableType, *, colour: bool, width: int | None = None) -> str:
    """Return a renderable as text, with or without colours, as wide as the terminal."""
    width = width or (shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH)
    text = StringIO()
    system = "auto" if colour and not plain() else None
    Console(file=text, force_terminal=colour, color_system=system, width=width, highlight=False).print(what)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def write_table(what: RenderableType, output: Path | None) -> None:
    """Write a table to the file that `--output` names, else to standard output."""
    write_output(rendered(what, colour=output is None and sys.stdout.isatty()), output)


def results() -> Console:
    """A console on standard output."""
    return _console(sys.stdout)


def messages() -> Console:
    """A console on standard error, which is silent with `-q`."""
    return _console(sys.stderr, quiet=current().verbosity < Verbosity.NORMAL)


def _console(file: TextIO, *, quiet: bool = False) -> Console:
    system = None if plain() else "auto"
    return Console(file=file, highlight=False, quiet=quiet, color_system=system, width=None if file.isatty() else WIDTH)
