"""Errors in loops that nothing may end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class RecurringErrors:
    """The errors of something that is tried again and again; each is logged once, until it is another one or gone."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._met: dict[str, str] = {}

    def met(self, what: str, error: BaseException) -> None:
        """Log an error with its traceback, unless it is that of the try before.

        Args:
            what: a clause that says what does not work.
            error: of the try.
        """
        if self._met.get(what) != (text := repr(error)):
            self._met[what] = text
            self._log.error("%s; it is tried again", what, exc_info=error)

    def gone(self, what: str) -> None:
        """Forget the error of something that works."""
        self._met.pop(what, None)

    @contextmanager
    def survived(self, what: str) -> Iterator[None]:
        """Log an error of the block instead of raising it, so that the loop around it goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  logged
            self.met(what, error)
        else:
            self.gone(what)
