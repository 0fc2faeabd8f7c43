"""Handles errors in loops that must not end."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


class LoopErrors:
    """The errors of actions that are repeated: each is logged once, until the error changes or the action succeeds."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._met: dict[str, str] = {}

    def log_new(self, what: str, error: BaseException) -> None:
        """Log an error with its traceback, unless the previous try of the action had the same error.

        Args:
            what: the failed action as a clause, such as "segments are not removed"; equal texts are one action.
            error: the error of this try.
        """
        if self._met.get(what) != (text := repr(error)):
            self._met[what] = text
            self._log.error("%s; it is tried again", what, exc_info=error)

    def forget(self, what: str) -> None:
        """Forget the error of an action that has succeeded."""
        self._met.pop(what, None)

    @contextmanager
    def survived(self, what: str) -> Generator[None]:
        """Log an error of the block as `log_new` does, and do not raise it; without an error, forget the last one."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  logged
            self.log_new(what, error)
        else:
            self.forget(what)
