"""The running command: its verbosity, and its one JSON document under `--format json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
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
    """Errors only."""
    NORMAL = 0
    """Errors, warnings and progress."""
    VERBOSE = 1
    """Errors, warnings, progress and details."""


@dataclass(slots=True)
class CommandInvocation:
    """The facts about the running command that its output depends on."""

    json: bool = False
    """True if standard output is for one JSON document only."""
    command: str = ""
    """The name of the command, such as `run` or `catalog show`."""
    verbosity: Verbosity = Verbosity.NORMAL
    application: str | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    documented: bool = False
    """True if the document was written."""

    @classmethod
    def of(cls, arguments: Sequence[str]) -> CommandInvocation:
        """Return the invocation of a command line, which may have errors. Only `json` is read from it."""
        return cls(json="--format=json" in arguments or ("--format", "json") in pairwise(arguments))

    def document(
        self, facts: Mapping[str, Any], status: int, kind: ErrorKind = "runtime", message: str | None = None
    ) -> dict[str, Any]:
        """Return the document of a command that acts, or of any command that failed.

        Args:
            facts: the keys that only this command has.
            status: the exit status of the command.
            kind: the kind of the error.
            message: the message of the error; None if there is no error.
        """
        return {
            "command": self.command,
            "application": self.application,
            **facts,
            "diagnostics": [each.document() | {"remedy": each.remedy} for each in self.diagnostics],
            "error": None if message is None else {"kind": kind, "message": message},
            "exitStatus": status,
        }


_current: ContextVar[CommandInvocation] = ContextVar("invocation")


def current() -> CommandInvocation:
    """Return the invocation of the running command; outside of `begun`, a new one each time, which is not kept."""
    return _current.get(None) or CommandInvocation()


@contextmanager
def begun(arguments: Sequence[str]) -> Generator[CommandInvocation]:
    """Make a command line the current command within the block."""
    token = _current.set(CommandInvocation.of(arguments))
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
        facts: a function that returns the keys that only this command's document has.
        text: the text for people.
        status: the exit status of the command.
        error: the message of the error; None if there is no error.
        kind: the kind of the error.

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
    """Write a document to the file that `--output` names, else to standard output.

    Raises click.BadParameter if the file cannot be written.
    """
    write_output(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n", output)


def write_output(
    text: str | Iterable[str], output: Path | None, option: str = "--output", *, rendered: bool = False
) -> None:
    """Write to the file that an option names, else to standard output, and note that the command has its document.

    Args:
        text: the text, or its pieces.
        output: the path of the file; None for standard output.
        option: the option that named the file.
        rendered: True if a console of `terminal.py` rendered the text, with styles.

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
