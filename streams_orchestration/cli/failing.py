"""How a command fails: exit statuses, and errors as messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from streams_orchestration.model.diagnostics import Diagnostic

APPLICATION = 1
COMMAND_LINE = 2
INTERRUPTED = 130
TERMINATED = 143


def report(error: Exception) -> None:
    """Say on standard error what went wrong, where, and what to do."""
    from streams_orchestration.model.diagnostics import ApplicationError
    from streams_orchestration.runtime.errors import StreamsRuntimeError

    if isinstance(error, ApplicationError):
        report_diagnostics(error.diagnostics)
    elif isinstance(error, StreamsRuntimeError):
        click.secho(str(error), fg="red", err=True)
    else:
        reason = str(error) or "no message"
        click.secho(f"{type(error).__name__}: {reason}", fg="red", err=True)
        click.echo("This is not an error we foresaw. Set STREAMS_TRACEBACK=1 to see where it comes from.", err=True)


def report_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Say on standard error what was found in an application, with a remedy each."""
    for diagnostic in diagnostics:
        click.secho(str(diagnostic), fg="red" if diagnostic.severity == "error" else "yellow", err=True)
        click.echo(f"    {diagnostic.remedy}", err=True)
