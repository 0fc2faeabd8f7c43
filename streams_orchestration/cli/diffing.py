"""`streams diff`: what a width change would do to a running application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.compiling import as_it_runs, check, compiled
from streams_orchestration.cli.invocation import write_json
from streams_orchestration.cli.names import plural, short_list
from streams_orchestration.cli.outcomes import outcome_table
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.changes.pes import PeNumbers
from streams_orchestration.compiler.changes.widths import Numbering, WidthChange, first_numbering, width_change
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.fingerprint import fingerprint
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.compiler.redeployment.preview import preview


def diff(spec: Path, options: Options, to: tuple[tuple[str, int], ...], format_: str, output: Path | None) -> None:
    """Show what changes when parallel regions get other widths."""
    old = compiled(spec, options)
    new = check(spec, replace(options, widths=(*to, *options.widths)), deployable=False)
    running = as_it_runs(old)
    change, outcome = width_change(old, new, _numbering(old, running)), _redeployed(old, running, new)
    if format_ == "json":
        write_json(_document(change, outcome), output)
    else:
        write_table(_table(change, outcome), output)


def _numbering(old: Compilation, running: Compilation) -> Numbering:
    """As it is compiled, with the numbers that PEs have where it is deployed."""
    numbers = {pe.compiled: pe.id for pe in running.fusion.pes}
    ids = tuple(numbers.get(pe.id, pe.id) for pe in old.fusion.pes)
    return replace(first_numbering(old), pes=PeNumbers(ids, max(ids, default=-1) + 1))


def _redeployed(old: Compilation, running: Compilation, new: Compilation) -> Redeployment | None:
    """What a redeploy would do with the change; None of an application that compiles only."""
    if any(each.deployment is None or each.deployment.refusal for each in (old, new)):
        return None
    return replace(preview(running, new), before=fingerprint(old))


def _document(change: WidthChange, outcome: Redeployment | None) -> dict[str, Any]:
    return {
        "widths": [each._asdict() for each in change.widths],
        "operators": {
            "changed": list(change.changed),
            "renamed": [{"old": old, "new": new} for old, new in change.renamed],
            "added": [{"name": name, "index": index} for name, index in change.added_indexes],
            "removed": list(change.removed),
        },
        "pes": {
            "kept": list(change.pes.kept),
            "restart": [{"pe": each.pe, "why": list(each.why)} for each in change.pes.restart],
            "start": list(change.pes.start),
            "stop": list(change.pes.stop),
        },
        "refused": change.refused,
        "reason": change.reason,
        "redeploy": outcome and outcome.document(),
    }


def _table(change: WidthChange, outcome: Redeployment | None) -> RenderableType:
    """What a redeploy would do; of an application that compiles only, what Streams would."""
    if not change.widths:
        return Text("No width changes.")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for each in change.widths:
        table.add_row("width", each.region, f"{each.old} -> {each.new}")
    if outcome is None:
        return _plain_change(table, change)
    parts: list[RenderableType] = [table, "", outcome_table(outcome)]
    if change.refused:
        parts.append(Text(f"Streams refuses this while the application runs (A43): {change.reason}.", "dim"))
    return Group(*parts)


def _plain_change(table: Table, change: WidthChange) -> RenderableType:
    for what, names in (("changed", change.changed), ("added", change.added), ("removed", change.removed)):
        table.add_row("operators", what, f"{len(names)}" + (f"  {short_list(names, 72)}" if names else ""))
    if change.renamed:
        old, new = change.renamed[0]
        table.add_row("", "renamed", f"{len(change.renamed)}  {old} -> {new}" + (" ..." * (len(change.renamed) > 1)))
    pes = change.pes
    for what, ids in (("start", pes.start), ("stop", pes.stop), ("run on", pes.kept)):
        table.add_row("PEs", what, f"{len(ids)}" + (f"  {_ranges(ids)}" if ids else ""))
    table.add_row("PEs", "restart", f"{len(pes.restart)}")
    parts: list[RenderableType] = [table]
    if pes.restart:
        restarts = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
        for each in pes.restart:
            restarts.add_row(f"PE {each.pe}", "; ".join(each.why))
        parts.append(restarts)
    if change.refused:
        reasons = Text(f"Streams refuses this while the application runs (A43): {change.reason}.", "yellow")
        parts += ["", reasons]
    else:
        parts += ["", Text(f"{plural(len(pes.restart), 'PE')} would restart; the others run on.", "dim")]
    return Group(*parts)


def _ranges(numbers: tuple[int, ...]) -> str:
    """`0-2, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
