"""Messages of a command on standard error, filtered by `-q` and `-v`, and without styles if NO_COLOR is set."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.cli.invocation import Verbosity, current
from streams_orchestration.cli.output import write
from streams_orchestration.model.diagnostics import Diagnostic


def detail(text: str) -> None:
    """Print a detail that helps to find a cause; only with `-v`."""
    if current().verbosity >= Verbosity.VERBOSE:
        write(text, error=True)


def note(text: str) -> None:
    """Print progress, or a hint on the next command; not with `-q`."""
    if current().verbosity >= Verbosity.NORMAL:
        write(text, error=True)


def warning(text: str) -> None:
    """Print a warning; not with `-q`."""
    if current().verbosity >= Verbosity.NORMAL:
        write(text, error=True, fg="yellow")


def error(text: str) -> None:
    """Print an error."""
    write(text, error=True, fg="red")


def report_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print the diagnostics of an application, each with its remedy, and keep them for the JSON document."""
    for diagnostic in diagnostics:
        current().diagnostics.append(diagnostic)
        if diagnostic.severity == "error":
            error(str(diagnostic))
            write(f"    {diagnostic.remedy}", error=True)
        else:
            warning(str(diagnostic))
            note(f"    {diagnostic.remedy}")
