"""`streams diff`: show the effects of a width change on a running application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.compiling import as_it_runs, compile_and_report, compile_with_checked_parameters
from streams_orchestration.cli.invocation import write_json
from streams_orchestration.cli.redeploy_table import outcome_table
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.comparison import (
    Comparison,
    compare,
    plain_rows,
    restart_rows,
    width_rows,
)


def diff(spec: Path, options: Options, to: tuple[tuple[str, int], ...], format_: str, output: Path | None) -> None:
    """Show what changes when parallel regions get other widths.

    Raises:
        ApplicationError: the application has errors with the old widths or the new ones.
        ImplementationError: the class of an operator cannot be imported.
        BadParameter: the output cannot be written.
    """
    read = read_application(spec)
    old = compile_and_report(read, options)
    new = compile_with_checked_parameters(read, replace(options, widths=(*to, *options.widths)))
    comparison = compare(old, new, as_it_runs(old))
    if format_ == "json":
        write_json(comparison.document(), output)
    else:
        write_table(_table(comparison), output)


def _table(comparison: Comparison) -> RenderableType:
    """Return a table of a width change: its effects on a redeploy, or on a job of Streams if the spec only compiles.

    If no width changes, the result is a sentence.
    """
    change = comparison.change
    if not change.widths:
        return Text("No width is changed.")
    table = _rows(width_rows(change))
    if comparison.outcome is None:
        return _plain_change(table, comparison)
    parts: list[RenderableType] = [table, "", outcome_table(comparison.outcome)]
    if comparison.refusal:
        parts.append(Text(comparison.refusal, "dim"))
    return Group(*parts)


def _plain_change(table: Table, comparison: Comparison) -> RenderableType:
    for row in plain_rows(comparison):
        table.add_row(*row)
    parts: list[RenderableType] = [table]
    if restarts := restart_rows(comparison.change):
        parts.append(_rows(restarts, indent=2))
    refusal = comparison.refusal
    return Group(*parts, "", Text(refusal, "yellow") if refusal else Text(comparison.restarts, "dim"))


def _rows(rows: list[tuple[str, str]] | list[tuple[str, str, str]], indent: int = 0) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, indent))
    for row in rows:
        table.add_row(*row)
    return table
