"""The live display of `streams run`: a table that is redrawn on a terminal, lines now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from streams_orchestration.cli.progress import Meter, progress_line, progress_table
from streams_orchestration.runtime.observing.status import ApplicationStatus

LINE_SECONDS = 5.0
"""Seconds between two lines where there is no terminal, unless a state changes; no line is repeated."""


class Display:
    """Shows statuses and messages on a console; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._meter = Meter()
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._shown_at = 0.0
        self._shown_states: tuple[str, ...] = ()
        self._shown_line = ""

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def wait(self, text: str) -> None:
        """Show that something is under way about which nothing is known yet."""
        if self._live:
            self._live.update(Spinner("dots", text))
        else:
            self.say(text)

    def show(self, status: ApplicationStatus, now: float) -> None:
        """Show the progress of the application."""
        self._meter.add(status, now)
        if self._live:
            self._live.update(progress_table(status, self._meter.rates, now))
            return
        states = (status.state, *(pe.state for pe in status.pes))
        line = progress_line(status, self._meter.rates)
        if line == self._shown_line or (states == self._shown_states and now - self._shown_at < LINE_SECONDS):
            return
        self._shown_at, self._shown_states, self._shown_line = now, states, line
        self.say(f"{time.strftime('%H:%M:%S', time.localtime(now))} {line}")

    def say(self, text: str) -> None:
        """A message that stays."""
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
