"""`streams logs`: the logs of an application's hosts and PEs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from streams_orchestration.cli.options import application_argument

POLL_SECONDS = 0.5


@click.command()
@application_argument
@click.option("--pe", type=click.IntRange(min=0), metavar="N", help="The log of this PE only.")
@click.option("--lines", type=click.IntRange(min=0), default=40, show_default=True, help="Last lines of each log.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now, until Ctrl-C.")
def logs(application: str, pe: int | None, lines: int, *, follow: bool) -> None:
    """Show the logs of an application's hosts and PEs."""
    import time

    from streams_orchestration.runtime.errors import StreamsRuntimeError
    from streams_orchestration.runtime.storage.home import Home

    home = Home.default()
    directory = home.logs(application)
    paths = log_files(directory, pe)
    if not paths:
        from streams_orchestration.runtime.observing.reading import read_status

        status = read_status(home, application)
        there = ", ".join(str(known.id) for known in status.pes)
        message = (
            f"{application}: there is no log of PE {pe}; its PEs are {there}."
            if pe is not None
            else f"{application}: there are no logs in {directory}. `streams deploy SPEC` starts it."
        )
        raise StreamsRuntimeError(message)
    tails = [Tail(path) for path in paths]
    for tail in tails:
        if len(tails) > 1:
            click.secho(f"==> {tail.path}", bold=True)
        for line in tail.last(lines):
            click.echo(line)
    if follow:
        follow_logs(tails, lambda: time.sleep(POLL_SECONDS))


def log_files(directory: Path, pe: int | None = None) -> list[Path]:
    """The logs of an application, hosts first, by number; of one PE if it is given."""
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
        """Whole lines that have come since the last call; from the start again when the file was replaced."""
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
