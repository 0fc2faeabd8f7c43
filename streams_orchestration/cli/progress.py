"""The progress of an application: its status as a table for a terminal, or as one line for a file."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.model.brief import count, duration, plural, short_list
from streams_orchestration.runtime import api

RATE_WINDOW_SECONDS = 5.0
"""Seconds over which a rate is computed."""
LISTED_PES = 6
"""The most PEs that a line of plain text lists; if there are more, it only counts their states."""

STYLES = {
    "RUNNING": "green",
    "PROCESSING": "green",
    "COMPLETED": "bold green",
    "WANTED": "dim",
    "STARTING": "cyan",
    "WAITING": "yellow",
    "STOPPED": "yellow",
    "RESETTING": "yellow",
    "UNHEALTHY": "bold red",
    "LOST": "bold red",
    "FAILED": "bold red",
    "MAXIMUM_RESET_ATTEMPTS_REACHED": "bold red",
}


class RateMeter:
    """The meter of every PE's rows a second, over the last `RATE_WINDOW_SECONDS` seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, dict[int, int]]] = deque()

    def add(self, status: api.ApplicationStatus, now: float) -> None:
        """Take the PEs' total rows at a time in seconds into account; times must ascend."""
        self._seen.append((now, {pe.id: _rows(pe) for pe in status.pes}))
        while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def rates(self) -> dict[int, float]:
        """PE -> rows a second, for PEs that were seen twice; 0 if a reset has made the total smaller."""
        if len(self._seen) < 2:
            return {}
        (then, before), (now, after) = self._seen[0], self._seen[-1]
        if now <= then:
            return {}
        return {pe: max(rows - before[pe], 0) / (now - then) for pe, rows in after.items() if pe in before}


def progress_table(
    status: api.ApplicationStatus,
    rates: Mapping[int, float],
    now: float,
    reported: Collection[str] = (),
    elsewhere: Collection[str] = (),
) -> RenderableType:
    """Return a line on the application, lines on regions and failed units, a row for every PE, and the errors.

    An error of several PEs is shown once.

    Args:
        status: the status of the application.
        rates: PE -> rows a second, if known.
        now: the current time, in unix seconds.
        reported: the failed units whose failures are shown elsewhere; the first line names them.
        elsewhere: other lines that are shown. An error that one of them contains is left out.
    """
    head = Text.assemble((status.application, "bold"), "  ", styled_state(status.shown_state))
    if reported:
        head.append(f", {short_list(sorted(reported))} failed", "red")
    head.append(f"  {_age(status, now)}", "dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("PE", justify="right")
    table.add_column("operators", overflow="ellipsis", no_wrap=True, ratio=1)
    table.add_column("state", no_wrap=True)
    for title in ("epoch", "rows in", "rows out", "rows/s"):
        table.add_column(title, justify="right", no_wrap=True)
    for pe in status.pes:
        rate = rates.get(pe.id)
        table.add_row(
            str(pe.id),
            short_list(pe.row.operators),
            styled_state(status.state_of(pe)),
            str(pe.row.epoch) if pe.row.batch >= 0 and pe.state != "COMPLETED" else "-",
            count(pe.row.rows_in),
            count(pe.row.rows_out),
            count(rate) if rate is not None and status.state_of(pe) == "RUNNING" else "-",
        )
    failed: dict[str, list[str]] = {}
    for pe in status.pes:
        error = _first_line(pe.row.error)
        if error and pe.unit not in reported and not any(error in line for line in elsewhere):
            failed.setdefault(error, []).append(str(pe.id))
    errors = [
        Text(f"{'PE' if len(pes) == 1 else 'PEs'} {short_list(pes)}: {message}", "red")
        for message, pes in failed.items()
    ]
    errors += [Text(f"host {host.id}: {_first_line(host.error)}", "red") for host in status.hosts if host.error]
    return Group(
        head,
        *(_unit(unit, status.state_of_unit(unit)) for unit in status.units if _worth_a_line(unit, status)),
        table,
        *errors,
    )


def progress_line(status: api.ApplicationStatus, rates: Mapping[int, float]) -> str:
    """Return the progress as one line of plain text, for output that is not a terminal.

    If there are more than `LISTED_PES` PEs, only their states are counted.
    """
    epochs = ", ".join(
        f"{unit.name} epoch {unit.completed_epoch} complete" for unit in status.units if _has_epochs(unit)
    )
    states = {pe.id: status.state_of(pe) for pe in status.pes}
    if len(status.pes) > LISTED_PES:
        pes = ["PEs: " + ", ".join(f"{number} {state}" for state, number in Counter(states.values()).items())]
    else:
        pes = [
            f"PE {pe.id} {states[pe.id]} {count(pe.row.rows_in)} in, {count(pe.row.rows_out)} out" for pe in status.pes
        ]
    works = "RUNNING" in states.values()
    speed = f"{count(sum(rates.values()))} rows/s" if rates and works else ""
    parts = [f"{status.application} {status.shown_state}", *pes, speed, epochs]
    return "; ".join(part for part in parts if part)


def _unit(unit: api.UnitStatus, state: str) -> Text:
    line = Text.assemble((unit.name, "bold"), "  ", styled_state(state))
    if _has_epochs(unit):
        line.append(f"  epoch {unit.completed_epoch} complete")
    if _has_epochs(unit) and unit.state != "COMPLETED":
        line.append(f", {unit.open_epoch} open")
    if unit.row.period is not None:
        line.append(f", one every {unit.row.period:g} s")
    if unit.row.attempts:
        limit = f", of {unit.row.max_attempts} allowed" if unit.row.give_up_at is None else ""
        line.append(f"  {plural(unit.row.attempts, 'reset')} since{limit}", "yellow")
    return line


def _worth_a_line(unit: api.UnitStatus, status: api.ApplicationStatus) -> bool:
    return unit.row.region is not None or unit.row.attempts > 0 or len(status.units) == 1


def _has_epochs(unit: api.UnitStatus) -> bool:
    return unit.row.region is not None or unit.completed_epoch > 0


def _age(status: api.ApplicationStatus, now: float) -> str:
    ended = [pe.row.committed_at for pe in status.pes if pe.row.committed_at is not None]
    end = max(ended, default=now) if status.state in api.ENDED else now
    age = duration(end - status.deployed_at)
    return f"after {age}" if status.state in api.ENDED else f"deployed {age} ago"


def styled_state(state: str) -> Text:
    """Return a state in its colour; a state that is not in `STYLES` has none."""
    return Text(state, STYLES.get(state, ""))


def _rows(pe: api.PeStatus) -> int:
    # the PE of a source reads nothing from other PEs, the PE of a sink writes nothing for them
    return max(pe.row.rows_in, pe.row.rows_out)


def _first_line(error: str | None) -> str:
    return (error or "").strip().partition("\n")[0]
