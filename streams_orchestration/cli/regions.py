"""The lines of `streams status` on consistent regions: their states, cuts and resets."""

from __future__ import annotations

from collections.abc import Collection

from rich.text import Text

from streams_orchestration.model.brief import duration, plural, short_list
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.runtime import api

LONGEST_CAUSE = 200
"""The most characters of a cause; the log has the whole text."""


def region_lines(status: api.ApplicationStatus, now: float, failing: Collection[str] = ()) -> list[Text]:
    """Return some lines for every unit of recovery that is a region, was reset, or has lost its cut.

    Args:
        status: the status of the application.
        now: the current time, in unix seconds.
        failing: the units whose failure is shown elsewhere.
    """
    lines: list[Text] = []
    for unit in status.units:
        if unit.row.region is None and not unit.row.reset_count and unit.lost is None:
            continue
        operators = tuple(name for pe in status.pes if pe.id in unit.pes for name in pe.row.operators)
        head = Text.assemble(
            (unit.name, "bold"), f"  {status.state_of_unit(unit)} for {duration(now - unit.row.since)}"
        )
        head.append(
            f"; {'PE' if len(unit.pes) == 1 else 'PEs'} {', '.join(map(str, unit.pes))}: {short_list(operators)}"
        )
        lines.append(head)
        if unit.row.region is not None:
            lines.append(Text(f"  {_cuts(unit, now)}", "dim"))
        runs, fails = status.state in ("RUNNING", "WAITING"), unit.name in failing
        recent = api.find_recent_resets(unit, now) if runs else None
        if unit.row.reset_count or unit.row.cause:  # the cause is shown once
            lines.append(Text(f"  {_resets(unit, now, say_why=not fails and recent is None)}", "dim"))
        if recent is not None:
            lines.append(
                Text(f"  not stable: {recent.frequency if fails else shortened(str(recent), LONGEST_CAUSE)}", "red")
            )
        if unit.lost is not None and unit.name not in failing:
            text = f"  {unit.lost}. {api.LOST_REMEDY}; the application keeps running until something fails."
            lines.append(Text(text, "red"))
    return lines


def _cuts(unit: api.UnitStatus, now: float) -> str:
    period = f"every {unit.row.period:g} s" if unit.row.period is not None else "when its start operator requests it"
    parts = [
        f"epochs end {period}, drainTimeout {unit.row.drain_timeout:g} s, resetTimeout {unit.row.reset_timeout:g} s"
    ]
    if unit.row.completed_at is not None:
        parts.append(f"last cut {unit.completed_epoch}, {duration(now - unit.row.completed_at)} old")
    else:
        parts.append("no cut yet")
    times = unit.row.drains
    if times.average is not None:
        parts.append(f"drain {_last_and_average(times.seconds[-1], times.average, len(times.seconds))}")
    return "; ".join(parts)


def _last_and_average(last: float, average: float, number: int) -> str:
    return f"{last:.2f} s" + (f" (average of the last {number}: {average:.2f} s)" if number > 1 else "")


def _resets(unit: api.UnitStatus, now: float, *, say_why: bool) -> str:
    limit = f" of {unit.row.max_attempts}" if unit.row.give_up_at is None else ""
    parts = [f"{plural(unit.row.reset_count, 'reset')}, {unit.row.attempts}{limit} since the last epoch"]
    times = unit.row.resets
    if times.at is not None and times.average is not None:
        parts.append(f"the last {duration(now - times.at)} ago, to epoch {times.sequence}")
        parts.append(f"took {_last_and_average(times.seconds[-1], times.average, len(times.seconds))}")
    if unit.phases:
        parts.append(", ".join(f"{name} {seconds:.1f} s" for name, seconds in unit.phases.items()))
    last = unit.events[-1] if unit.events else None
    cause = api.find_last_cause(unit)
    if cause is not None and last is not None and say_why:
        parts.append(f"cause: {shortened(cause, LONGEST_CAUSE)}")
    return "; ".join(parts)
