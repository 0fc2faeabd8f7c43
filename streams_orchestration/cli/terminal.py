"""Text and tables for a terminal: results on standard output, everything else on standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from streams_orchestration.cli.invocation import Verbosity, current, write_output
from streams_orchestration.cli.output import plain
from streams_orchestration.model.printable import printable

WIDTH = 110
"""Columns of a text that goes to a file."""


class SafeConsole(Console):
    """A console that shows control characters instead of sending them to the terminal, and takes no text as markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a text with its control characters made visible."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with control characters made visible.

        They are replaced before the layout, so that the text fits its width.
        """
        renderable = printable_text(renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def printable_text(text: Text) -> Text:
    """Return a text with its control characters made visible; a text with such characters keeps only its base style."""
    if (seen := printable(text.plain)) == text.plain:
        return text
    return Text(seen, text.style, justify=text.justify, overflow=text.overflow, no_wrap=text.no_wrap, end=text.end)


def rendered(what: RenderableType, *, colour: bool, width: int | None = None) -> str:
    """Return a renderable as text, by default as wide as the terminal with colours, and `WIDTH` columns without."""
    width = width or (shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH)
    text = StringIO()
    system = "auto" if colour and not plain() else None
    SafeConsole(file=text, force_terminal=colour, color_system=system, width=width).print(what)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def write_table(what: RenderableType, output: Path | None) -> None:
    """Write a table to the file that `--output` names, else to standard output.

    Raises click.BadParameter if the file cannot be written.
    """
    write_output(rendered(what, colour=output is None and sys.stdout.isatty()), output, rendered=True)


def results() -> Console:
    """Return a console on standard output."""
    return _console(sys.stdout)


def messages() -> Console:
    """Return a console on standard error, which is silent with `-q`."""
    return _console(sys.stderr, quiet=current().verbosity < Verbosity.NORMAL)


def _console(file: TextIO, *, quiet: bool = False) -> Console:
    system = None if plain() else "auto"
    return SafeConsole(file=file, quiet=quiet, color_system=system, width=None if file.isatty() else WIDTH)
