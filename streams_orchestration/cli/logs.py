"""`streams logs`: show the logs of an application's hosts and PEs, on whatever machine they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.output import write
from streams_orchestration.runtime import api

POLL_SECONDS, ASK_SECONDS = 0.5, 2.0
"""Seconds between two readings of logs of this machine, and between two requests for logs of other machines."""


@dataclass
class Logs:
    """The logs of one machine.

    Attributes:
        names: the names of the logs, such as `pe-3`.
        read: a function that returns the ends of logs, as `read_log_ends` does.
        machine: the machine whose agent is asked; None for this machine.
    """

    names: Sequence[str]
    read: Callable[[Sequence[str], int, dict[str, int]], list[api.LogEnd]]
    machine: str | None = None
    _seen: dict[str, int] = field(default_factory=dict[str, int])
    """Name of a log -> the position up to which it was read."""

    def last(self, lines: int) -> list[api.LogEnd]:
        """Return the last lines of each log."""
        return self._noted(self.read(self.names, lines, {}))

    def more(self) -> list[api.LogEnd]:
        """Return the complete lines written since the last call; a file that was replaced is read from its start."""
        return self._noted(self.read(self.names, 0, {name: self._seen.get(name, 0) for name in self.names}))

    def _noted(self, ends: list[api.LogEnd]) -> list[api.LogEnd]:
        self._seen |= {end.name: end.position for end in ends}
        return ends


def logs(application: str, pe: int | None, lines: int, format_: str, *, follow: bool) -> int:
    """Show the logs of an application's hosts and PEs; return the exit status, 1 if a machine has not sent its logs.

    Raises:
        UsageError: `--follow` and `--format json` are combined.
        StreamsRuntimeError: there is no log to show.
    """
    if follow and format_ == "json":
        message = "--follow has no end, and --format json is one document. Leave one of the two out."
        raise click.UsageError(message, click.get_current_context())
    catalog = api.Catalog(api.Home.default())
    current().application = application
    sources = _sources(catalog, application, pe)
    shown: list[tuple[str | None, api.LogEnd]] = []
    errors: list[str] = []
    for source in tuple(sources):
        try:
            shown += [(source.machine, end) for end in source.last(lines)]
        except api.StreamsRuntimeError as error:
            errors.append(str(error))
            sources.remove(source)
    if not shown and not errors:
        raise api.StreamsRuntimeError(_nothing(catalog, application, pe))
    status, error = (APPLICATION, "\n".join(errors)) if errors else (0, None)
    if error is not None:
        show_error(error)
    if format_ == "json":
        documents = [
            {"name": end.name, "path": end.path, "machine": machine, "lines": end.lines} for machine, end in shown
        ]
        return answer(lambda: {"logs": documents}, status=status, error=error)
    for machine, end in shown:
        if len(shown) > 1 or machine is not None:
            write(f"==> {end.path}{'' if machine is None else f' on {machine}'}", bold=True)
        for line in end.lines:
            write(line)
    if follow and sources:
        asks = any(source.machine is not None for source in sources)
        follow_logs(sources, lambda: time.sleep(ASK_SECONDS if asks else POLL_SECONDS))
    return status


def _sources(catalog: api.Catalog, application: str, pe: int | None) -> list[Logs]:
    """Return the logs of an application, one `Logs` for each directory of this machine and for each other machine.

    Unless a log is on another machine, further logs in the application's directory are added, also logs of earlier
    plans and of an application that is no longer deployed. With a PE, other logs are left out.
    """
    status = api.read_status_if_deployed(catalog, application)
    near: dict[Path, list[str]] = {}
    far: dict[str, list[str]] = {}
    for part in () if status is None else (*status.hosts, *status.pes):
        if pe is None or part.log.stem == f"pe-{pe}":
            if part.here or part.machine is None:
                near.setdefault(part.log.parent, []).append(part.log.stem)
            else:
                far.setdefault(part.machine, []).append(part.log.stem)
    if not far:  # logs of an earlier plan are here, too
        own = catalog.home.logs(application)
        names = api.list_logs(own)
        near[own] = [name for name in names if pe is None or name == f"pe-{pe}"]
    return [here(directory, names) for directory, names in near.items()] + [
        _logs_elsewhere(catalog, application, machine, names) for machine, names in sorted(far.items())
    ]


def here(directory: Path, names: Sequence[str]) -> Logs:
    """Return the logs in a directory of this machine."""
    return Logs(names, lambda wanted, lines, after: api.read_log_ends(directory, wanted, lines, after))


def _logs_elsewhere(catalog: api.Catalog, application: str, machine: str, names: Sequence[str]) -> Logs:
    return Logs(
        names,
        lambda wanted, lines, after: api.ask_for_logs(catalog, machine, application, wanted, lines, after),
        machine,
    )


def _nothing(catalog: api.Catalog, application: str, pe: int | None) -> str:
    """Return the message that there is no log."""
    api.require_deployed(catalog, application)
    status = api.read_status(catalog, application)
    if pe is None:
        return f"{application}: there are no logs in {status.log_places}. `streams deploy SPEC` starts it."
    there = ", ".join(str(known.id) for known in status.pes)
    return f"{application}: there is no log of PE {pe}; its PEs are {there}."


def follow_logs(sources: Sequence[Logs], pause: Callable[[], None]) -> None:
    """Show new lines of logs as they are written, until interrupted; with the log's name if there are several."""
    several = sum(len(source.names) for source in sources) > 1
    while True:
        for source in sources:
            for end in source.more():
                for line in end.lines:
                    write(f"{end.name} | {line}" if several else line)
        pause()
