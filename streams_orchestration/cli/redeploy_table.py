"""The effects of a redeploy as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.compiler.redeployment.comparison import OUTCOME_COLUMNS, outcome_rows, pause
from streams_orchestration.compiler.redeployment.outcome import Redeployment

_STYLES = {"unchanged": "green", "kept": "green", "lossy": "yellow", "refused": "red"}


def outcome_table(outcome: Redeployment) -> RenderableType:
    """Return a table of the changed units and operators, in which unchanged ones are only counted, and the verdict."""
    sentence = Text(outcome.sentence, _STYLES[outcome.verdict])
    if paused := pause(outcome):
        sentence.append(f" {paused}", "default")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in OUTCOME_COLUMNS:
        table.add_column(title, justify="right" if title in ("rows", "bytes") else "left", overflow="fold")
    for row in outcome_rows(outcome):
        table.add_row(*row)
    return Group(table, "", sentence)
