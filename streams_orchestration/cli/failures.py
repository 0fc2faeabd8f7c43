"""Failures of commands: exit statuses, and errors as messages."""

from __future__ import annotations

from contextlib import suppress

from streams_orchestration.cli.invocation import ErrorKind
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import report_diagnostics
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime import api

APPLICATION = 1
COMMAND_LINE = 2
INTERRUPTED = 130
TERMINATED = 143


def report(error: Exception) -> tuple[ErrorKind, str]:
    """Show an error with its place and remedy on standard error; return its kind and its message.

    An error that no command expects is shown with its class and a hint at `-v`, or as the damage of the catalog that
    caused it.
    """
    if not isinstance(error, ApplicationError | api.StreamsRuntimeError | ImplementationError):
        error = _explained(error)
    if isinstance(error, ApplicationError):
        report_diagnostics(error.diagnostics)
        return "application", str(error)
    if isinstance(error, api.StreamsRuntimeError | ImplementationError):
        show_error(str(error))
        return "runtime", str(error)
    message = masked(f"{type(error).__name__}: {str(error) or 'no message'}")
    show_error(message)
    show_error("This error is not expected. `-v` shows where it comes from.")
    return "unexpected", message


def _explained(error: Exception) -> Exception:
    """Return the error about a damaged catalog if damage caused an unexpected error; otherwise the error itself."""
    with suppress(api.StreamsRuntimeError, OSError):
        return api.Catalog(api.Home.default()).explained(error)
    return error
