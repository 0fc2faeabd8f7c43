"""What a redeploy does, as a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.names import plural, short_list
from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment

_STYLES = {"unchanged": "green", "kept": "green", "lossy": "yellow", "refused": "red"}
_NAMES_WIDTH = 40


def outcome_table(outcome: Redeployment) -> RenderableType:
    """The verdict, and what becomes of units and operators; of those that stay as they are only how many."""
    sentence = Text(outcome.sentence, _STYLES[outcome.verdict])
    if outcome.predicted_seconds is not None and outcome.measured_seconds is None:
        sentence.append(f" What changes stands still for about {outcome.predicted_seconds:.1f} s.", "default")
    return Group(_actions(outcome), "", sentence)


def _actions(outcome: Redeployment) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("", "", "action", "rows", "bytes", "reason"):
        table.add_column(title, justify="right" if title in ("rows", "bytes") else "left", overflow="fold")
    for unit in outcome.units:
        table.add_row("unit", unit.unit, unit.action, "", "", "")
    stay = [each for each in outcome.operators if each.action == "kept" and not each.converted]
    changed = (each for each in outcome.operators if each not in stay)
    for (action, reason), group in groupby(changed, lambda each: (each.action, each.text)):
        same = list(group)
        names = short_list([each.operator for each in same], _NAMES_WIDTH)
        table.add_row("operator" if len(same) == 1 else "operators", names, action, *_amounts(same), reason)
    if stay:
        table.add_row("operators", plural(len(stay), "other"), "kept", "", "", "they stay where they are")
    return table


def _amounts(actions: Sequence[OperatorAction]) -> tuple[str, str]:
    """Rows and bytes of their states together; empty where one is not known."""
    return _sum([each.rows for each in actions]), _sum([each.bytes for each in actions])


def _sum(numbers: Sequence[int | None]) -> str:
    known = [each for each in numbers if each is not None]
    return f"{sum(known):,}" if len(known) == len(numbers) else ""
