"""`streams logs`: the logs of an application's hosts and PEs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.loading import load
from streams_orchestration.cli.messages import styled
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home

POLL_SECONDS = 0.5


def logs(application: str, pe: int | None, lines: int, format_: str, *, follow: bool) -> int:
    """Show the logs of an application's hosts and PEs; the exit status."""
    if follow and format_ == "json":
        message = "--follow has no end, and --format json is one document. Leave one of the two out."
        raise click.UsageError(message, click.get_current_context())
    home = Home.default()
    current().application = application
    directory = home.logs(application)
    paths = log_files(directory, pe)
    if not paths:
        raise StreamsRuntimeError(_nothing(home, application, pe))
    tails = [Tail(path) for path in paths]
    last = {tail: tail.last(lines) for tail in tails}
    if format_ == "json":
        documents = [{"name": tail.path.stem, "path": tail.path, "lines": last[tail]} for tail in tails]
        return answer(lambda: {"logs": documents})
    for tail in tails:
        if len(tails) > 1:
            click.echo(styled(f"==> {tail.path}", bold=True))
        for line in last[tail]:
            click.echo(line)
    if follow:
        follow_logs(tails, lambda: time.sleep(POLL_SECONDS))
    return 0


def _nothing(home: Home, application: str, pe: int | None) -> str:
    """Why there is no log; raises where the application is not deployed."""
    status = load("streams_orchestration.runtime.observing.reading:read_status")(home, application)
    if pe is None:
        return f"{application}: there are no logs in {home.logs(application)}. `streams deploy SPEC` starts it."
    there = ", ".join(str(known.id) for known in status.pes)
    return f"{application}: there is no log of PE {pe}; its PEs are {there}."


def log_files(directory: Path, pe: int | None = None) -> list[Path]:
    """The logs of an application, hosts first, by number; of one PE if `pe` is its number."""
    if pe is not None:
        return [path] if (path := directory / f"pe-{pe}.log").is_file() else []
    return sorted(directory.glob("*.log"), key=lambda path: (path.stem.partition("-")[0], len(path.stem), path.stem))


class Tail:
    """The end of a file that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._rest = b""

    def last(self, lines: int) -> list[str]:
        """The last lines that are there now."""
        seen = self.more()
        return seen[len(seen) - min(lines, len(seen)) :]

    def more(self) -> list[str]:
        """Return the whole lines since the last call; from the start again when the file was replaced."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._position:
                    self._position, self._rest = 0, b""
                file.seek(self._position)
                data = self._rest + file.read()
                self._position = file.tell()
        except FileNotFoundError:
            return []
        *whole, self._rest = data.split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]


def follow_logs(tails: Iterable[Tail], pause: Callable[[], None]) -> None:
    """Show new lines of several logs as they come, each with its log's name when there is more than one."""
    tails = list(tails)
    while True:
        for tail in tails:
            prefix = f"{tail.path.stem} | " if len(tails) > 1 else ""
            for line in tail.more():
                click.echo(prefix + line)
        pause()
