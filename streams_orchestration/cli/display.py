"""The live display of `streams run`: a table that is redrawn on a terminal, lines now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from streams_orchestration.cli.late_sinks import LateSinks
from streams_orchestration.cli.progress import RateMeter, progress_line, progress_table
from streams_orchestration.runtime import api

LINE_SECONDS = 5.0
"""Least seconds between two lines without a terminal, unless a state changes; no line is repeated."""
REASON_SECONDS = 60.0
"""Seconds after which the unchanged reasons of sinks that cannot deliver are shown again."""


class Display:
    """A context manager that shows statuses and messages on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._meter = RateMeter()
        self._late = LateSinks()
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._shown_at = 0.0
        self._shown_states: tuple[str, ...] = ()
        self._shown_line = ""
        self._reasons: list[str] = []
        self._reasons_at = 0.0
        self._follows_printed = False
        self._printed = api.PrintedFollower(lambda operator, text: self.say(f"{operator}: {text}"))

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show_waiting(self, text: str) -> None:
        """Show that something is under way whose progress is not known yet."""
        if self._live:
            self._live.update(Spinner("dots", Text(text)))
        else:
            self.say(text)

    def follow_printed(self, logs: Iterable[Path]) -> None:
        """Show the lines that operators print from now on."""
        self._printed.skip_present(logs)
        self._follows_printed = True

    def show(self, status: api.ApplicationStatus, now: float) -> None:
        """Show what operators have printed, and the progress of the application.

        Without a terminal, print the progress only if a state has changed, or after `LINE_SECONDS` if the line has.
        Reasons of sinks that cannot deliver are printed when they change, and again after `REASON_SECONDS`.
        """
        if self._follows_printed:
            self._printed.report_new(pe.log for pe in status.pes if pe.here)
        self._meter.add(status, now)
        self._late.add(status, now)
        if self._live:
            late = (Text(line, "red") for line in self._late.lines(now))
            self._live.update(Group(progress_table(status, self._meter.rates, now), *late))
            return
        reasons = self._late.reasons()
        states = (status.shown_state, *map(status.state_of, status.pes), *reasons)
        line = "; ".join(part for part in (progress_line(status, self._meter.rates), self._late.brief()) if part)
        again = reasons and now - self._reasons_at >= REASON_SECONDS
        if not again and (
            line == self._shown_line or (states == self._shown_states and now - self._shown_at < LINE_SECONDS)
        ):
            return
        self._shown_at, self._shown_states, self._shown_line = now, states, line
        self.say(f"{time.strftime('%H:%M:%S', time.localtime(now))} {line}")
        if again or reasons != self._reasons:
            self._reasons, self._reasons_at = reasons, now
            for late in self._late.lines(now):
                self.say(f"  {late}")

    def say(self, text: str) -> None:
        """Print a message that later updates of the display do not overwrite."""
        self._console.print(text, soft_wrap=True)
