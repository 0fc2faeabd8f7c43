"""What a redeploy does, as a table to read."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.names import plural
from streams_orchestration.compiler.redeployment.outcome import Redeployment

_VERDICTS = {
    "unchanged": ("Nothing changes.", "green"),
    "kept": ("All state is kept.", "green"),
    "lossy": ("State is lost.", "yellow"),
    "refused": ("This cannot be done with the state kept.", "red"),
}


def outcome_table(outcome: Redeployment) -> RenderableType:
    """The verdict, and what becomes of units and operators; of those that stay as they are only how many."""
    text, style = _VERDICTS[outcome.verdict]
    parts: list[RenderableType] = [_actions(outcome), "", Text(text, style)]
    lost = sorted({each.operator for each in outcome.operators if each.lossy or each.action == "refused"})
    if not outcome.acceptable:
        parts.append(Text(f"To lose the state of {', '.join(lost)}, name the operators with --drop-state.", "dim"))
    return Group(*parts)


def _actions(outcome: Redeployment) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("", "", "action", "rows", "bytes", "reason"):
        table.add_column(title, justify="right" if title in ("rows", "bytes") else "left", overflow="fold")
    for unit in outcome.units:
        table.add_row("unit", unit.unit, unit.action, "", "", "")
    stay = [each for each in outcome.operators if each.action == "kept"]
    for each in outcome.operators:
        if each.action != "kept":
            numbers = ("" if number is None else f"{number:,}" for number in (each.rows, each.bytes))
            table.add_row("operator", each.operator, each.action, *numbers, each.reason)
    if stay:
        table.add_row("operators", plural(len(stay), "other"), "kept", "", "", "they stay where they are")
    return table
