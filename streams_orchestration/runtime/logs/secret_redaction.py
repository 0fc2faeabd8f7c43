"""Hides secrets in all log messages and all tracebacks of a process."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType

from streams_orchestration.model.secrets import masked, remember_environment


class _MaskedRecord(logging.LogRecord):
    """A log record whose message shows no secret, whichever handler writes it."""

    def getMessage(self) -> str:  # noqa: N802  `logging` gives it this name
        """Return the message without secrets."""
        return masked(super().getMessage())


format_exception_only = traceback.TracebackException.format_exception_only


def _masked_exception_only(self: traceback.TracebackException, *arguments: object, **named: object) -> Iterator[str]:
    """Yield the lines of an exception without secrets; all tracebacks of Python are made with this function."""
    lines: Iterator[str] = format_exception_only(self, *arguments, **named)  # type: ignore[arg-type]
    return map(masked, lines)


def hide_secrets() -> None:
    """Hide secrets in the log messages and tracebacks of this process and its forks.

    Everything that `masked` finds is hidden: secrets by their form, values of the environment's secret variables, and
    secrets that the process resolves meanwhile. A repeated call only takes up variables that are new. Exception hooks
    that another library has set stay.
    """
    remember_environment(os.environ)
    logging.setLogRecordFactory(_MaskedRecord)
    traceback.TracebackException.format_exception_only = _masked_exception_only  # type: ignore[method-assign]
    if sys.excepthook is sys.__excepthook__:  # the interpreter's own hooks print without the module `traceback`
        sys.excepthook = _print
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _print_of_thread


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)


def _print_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_type is not SystemExit:
        name = ended.thread.name if ended.thread is not None else "a thread"
        print(f"Exception in {name}:", file=sys.stderr)
        traceback.print_exception(ended.exc_type, ended.exc_value, ended.exc_traceback)
