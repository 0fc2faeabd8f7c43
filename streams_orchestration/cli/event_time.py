"""Event time in `streams status`: the watermark of each operator, and what holds it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.compiler.brief import duration, plural
from streams_orchestration.runtime import api

LISTED = 30
"""The most operators that are listed. If there are more, those with the earliest watermarks are."""


def event_time_table(metrics: api.ApplicationMetrics) -> RenderableType | None:
    """Return a table of the operators in event-time graphs; None if there are none, or none has run yet."""
    every = metrics.event_time
    if not every:
        return None
    if all(each.ended for each in every):
        return Text("event time  all streams have ended", "dim")
    shown = every
    if len(every) > LISTED:
        held = sorted((each for each in every if not each.ended), key=lambda each: each.watermark or float("-inf"))
        chosen = {each.operator for each in (*held, *every)[:LISTED]}
        shown = tuple(each for each in every if each.operator in chosen)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("operator", overflow="fold")
    table.add_column("event time", no_wrap=True)
    table.add_column("behind", justify="right", no_wrap=True)
    table.add_column("what holds its watermark", overflow="fold", ratio=1)
    for each in shown:
        stands = each.watermark is None and not each.ended
        table.add_row(
            each.operator,
            each.reached,
            "-" if each.age is None else duration(each.age),
            Text(each.why, "yellow" if stands else ""),
        )
    if len(shown) == len(every):
        return table
    return Group(table, Text(f"{plural(len(every) - len(shown), 'operator')} more: --format json", "dim"))
