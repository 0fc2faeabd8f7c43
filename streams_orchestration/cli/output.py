r"""The only functions by which the command line writes; no control character of a text reaches the terminal.

Texts of users and of data - descriptions, tuples, errors of operators, lines of logs - may hold control characters.
They are written as `\u001b`, to a terminal and to a pipe or file alike, since a file may be shown by `cat` later. In
JSON, `\u001b` is the same character.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable

import click

from streams_orchestration.model.printable import printable


def plain() -> bool:
    """Return True if the user wants no styles at all (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def write(text: str, *, error: bool = False, end: str = "\n", **styles: object) -> None:
    """Write a text to standard output, or to standard error, in styles of `click.style` unless NO_COLOR is set."""
    text = printable(text)
    shown = text if plain() or not styles else click.style(text, **styles)  # type: ignore[arg-type]
    click.echo(shown + end, err=error, nl=False)


def write_rendered(pieces: Iterable[str]) -> None:
    """Write text that a console of `terminal.py` has rendered, with its styles, to standard output."""
    for piece in pieces:
        click.echo(piece, nl=False)


def log_to_standard_error(level: int, form: str) -> None:
    """Send this process's log to standard error, in the format `form` of `logging.Formatter`.

    Do nothing if the log has a handler already.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PrintableFormatter(form))
    logging.basicConfig(level=level, handlers=[handler])


class _PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
