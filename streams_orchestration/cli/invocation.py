"""The command that runs: its verbosity, and the one JSON document that it writes when that is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import click

from streams_orchestration.cli.output import write, write_rendered
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.printable import printable

ErrorKind = Literal["usage", "application", "runtime", "interrupted", "unexpected"]


class Verbosity(IntEnum):
    """The amount of output to standard error."""

    QUIET = -1
    """Errors."""
    NORMAL = 0
    """Progress and warnings, too."""
    VERBOSE = 1
    """Details, too."""


@dataclass(slots=True)
class Invocation:
    """Facts about the command that runs."""

    json: bool = False
    """Standard output is for one JSON document."""
    command: str = ""
    """`run`, `catalog show`."""
    verbosity: Verbosity = Verbosity.NORMAL
    application: str | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    documented: bool = False
    """The document was written."""

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Invocation:
        """Read the invocation from a command line, which may have errors."""
        return cls(json="--format=json" in arguments or ("--format", "json") in pairwise(arguments))

    def document(
        self, facts: Mapping[str, Any], status: int, kind: ErrorKind = "runtime", message: str | None = None
    ) -> dict[str, Any]:
        """Return the document of a command that acts, or of any command that failed.

        Args:
            facts: keys of this command.
            status: its exit status.
            kind: of the error.
            message: the error, None without one.
        """
        return {
            "command": self.command,
            "application": self.application,
            **facts,
            "diagnostics": [each.document() | {"remedy": each.remedy} for each in self.diagnostics],
            "error": None if message is None else {"kind": kind, "message": message},
            "exitStatus": status,
        }


_current: ContextVar[Invocation] = ContextVar("invocation")


def current() -> Invocation:
    """Return the command that runs; outside of `begun`, one that leaves no history."""
    return _current.get(None) or Invocation()


@contextmanager
def begun(arguments: Sequence[str]) -> Iterator[Invocation]:
    """Make a command line the current command within the block."""
    token = _current.set(Invocation.of(arguments))
    try:
        yield _current.get()
    finally:
        _current.reset(token)


def answer(
    facts: Callable[[], Mapping[str, Any]],
    text: str = "",
    *,
    status: int = 0,
    error: str | None = None,
    kind: ErrorKind = "runtime",
) -> int:
    """Write the result of a command to standard output: a document with `--format json`, else the text.

    Args:
        facts: gives the keys of the document that are this command's own.
        text: lines to read.
        status: its exit status.
        error: what went wrong.
        kind: of the error.

    Returns:
        The exit status.
    """
    invocation = current()
    if invocation.json:
        write_json(invocation.document(facts(), status, kind, error))
    elif text:
        write(text)
    return status


def write_json(document: object, output: Path | None = None) -> None:
    """Write a document to the file that `--output` names, else to standard output."""
    write_output(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n", output)


def write_output(
    text: str | Iterable[str], output: Path | None, option: str = "--output", *, rendered: bool = False
) -> None:
    """Write to the file that an option names, else to standard output.

    Args:
        text: the text, or its pieces.
        output: path of the file.
        option: that named it.
        rendered: by a console of `terminal.py`, with styles.

    Raises:
        click.BadParameter: the file cannot be written.
    """
    pieces = [text] if isinstance(text, str) else text
    if not rendered:
        pieces = map(printable, pieces)
    if output is None:
        current().documented = True
        write_rendered(pieces)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    except OSError as error:
        message = f"{output} cannot be written: {error.strerror}. Name a file in a directory that exists."
        raise click.BadParameter(message, click.get_current_context(), param_hint=f"'{option}'") from error
    current().documented = True
