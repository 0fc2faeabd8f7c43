"""The tasks of every PE, and how its channels are spread over them."""

from __future__ import annotations

from rich.table import Table

from streams_orchestration.compiler.brief import plural
from streams_orchestration.runtime import api


def tasks_table(status: api.ApplicationStatus) -> Table:
    """Yield a line for every level of every PE."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("PE", "level", "tasks", "operators a task", "channels a task"):
        table.add_column(title, justify="left" if title.startswith("channels") else "right")
    for pe in status.pes:
        for number, level in enumerate(pe.levels):
            channels = (
                f"{_each(share)} of {plural(share.total, 'channel')} of {region}"
                for region, share in level.channels.items()
            )
            table.add_row(str(pe.id), str(number), str(level.tasks), _each(level.operators), ", ".join(channels) or "-")
    return table


def _each(share: api.Share) -> str:
    return str(share.most) if share.least == share.most else f"{share.least} to {share.most}"
