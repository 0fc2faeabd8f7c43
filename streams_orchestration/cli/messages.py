"""Messages of a command on standard error, as `-q` and `-v` want; without styles where NO_COLOR is set."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from streams_orchestration.cli.invocation import Verbosity, current
from streams_orchestration.model.diagnostics import Diagnostic


def plain() -> bool:
    """Whether the user wants no styles at all (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def styled(text: str, **styles: object) -> str:
    """A text for `click.echo`, in styles of `click.style`."""
    return text if plain() else click.style(text, **styles)  # type: ignore[arg-type]


def detail(text: str) -> None:
    """Print a detail that helps to find a cause; only with `-v`."""
    if current().verbosity >= Verbosity.VERBOSE:
        click.echo(text, err=True)


def note(text: str) -> None:
    """Progress, and where to look next; not with `-q`."""
    if current().verbosity >= Verbosity.NORMAL:
        click.echo(text, err=True)


def warning(text: str) -> None:
    """Print a warning; not with `-q`."""
    if current().verbosity >= Verbosity.NORMAL:
        click.echo(styled(text, fg="yellow"), err=True)


def error(text: str) -> None:
    """Print an error."""
    click.echo(styled(text, fg="red"), err=True)


def report_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Show the diagnostics of an application, with a remedy each; a JSON document has it, too."""
    for diagnostic in diagnostics:
        current().diagnostics.append(diagnostic)
        if diagnostic.severity == "error":
            error(str(diagnostic))
            click.echo(f"    {diagnostic.remedy}", err=True)
        else:
            warning(str(diagnostic))
            note(f"    {diagnostic.remedy}")
