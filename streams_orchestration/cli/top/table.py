"""The rows of `streams top` as a table, and the cells of a row."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.terminal import printable_text
from streams_orchestration.cli.top.rows import COLUMNS, Row, TableView, rows_of
from streams_orchestration.runtime import api


def once(snapshot: api.Snapshot) -> RenderableType:
    """Return all rows as a tree, the busiest first, with problems below; a sentence if nothing is deployed."""
    rows = TableView().of(rows_of(snapshot))
    if not rows:
        return Text("Nothing is deployed.")
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", expand=False)
    for column in COLUMNS:
        table.add_column(column.title, justify="left" if column.title in ("name", "state") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*cells(row, tree=True))
    wrong = [Text(f"{' / '.join(row.path)}: {row.problem.splitlines()[0]}", "red") for row in rows if row.problem]
    return Group(table, *wrong)


def indent(row: Row) -> str:
    """Return the blanks before the name of a row in the tree."""
    return "  " * (len(row.path) - 1)


def cells(row: Row, *, tree: bool) -> list[Text]:
    """Return the cells of a row, in red if something is wrong with it.

    The name is indented in a tree; in a list the application's name precedes it.
    """
    style = "bold red" if row.problem else "bold" if row.kind == "application" else ""
    texts = [printable_text(Text(column.text(row), style)) for column in COLUMNS]
    name = f"{indent(row)}{row.name}" if tree else "/".join((row.path[0], row.name))
    return [printable_text(Text(name, style, overflow="ellipsis")), *texts[1:]]
